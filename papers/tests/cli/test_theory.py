import json
from pathlib import Path

import pytest

from dartboard.cli.main import main
from dartboard.runs import Run
from dartboard.search import Searcher
from dartboard.search.config import build, merge, resolved
from dartboard_papers.theory.forecasters import race
from dartboard_papers.theory.linear_problems import survey
from dartboard_papers.theory.mirror_descent import survey_dimensions
from dartboard_papers.theory.stationarity import stationarity
from helpers.json_page import check_keys
from helpers.protocol_cases import few_digits
from helpers.search_cases import SHORT

CELLS = ["linear-cells", "--problems", "2", "--nodes", "2", "--size", "2", "--examples", "3"]
EXPERTS = ["experts", "--runs", "5", "--steps", "20"]
MIRROR = ["mirror-descent", "--runs", "2"]


def theory(*words: str) -> int:
    return main(["analyse", "theory", *words])


def test_linear_cells_are_compared(capsys, tmp_path):
    assert theory(*CELLS, "--norms", "2", "--json", "--out", str(tmp_path / "out")) == 0
    facts = json.loads(capsys.readouterr().out)
    check_keys("analyse theory linear-cells", facts)
    expected = survey([2.0], problems=2, nodes=2, size=2, examples=3)
    assert facts["smooth_narrowest"] == expected.stacked("smooth_narrowest").tolist()
    assert facts["variance_bound"] == expected.stacked("variance_bound").tolist()
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"linear-cells.json", "smoothness.png", "smoothness.svg", "variance.png"} <= written


def test_linear_cells_for_people(capsys):
    assert theory(*CELLS, "--norms", "1", "3", "--loss", "logistic", "--seed", "2") == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 1 + 2 * 2
    assert table[1].startswith("1     smoothness")


def test_forecasters_race(capsys):
    options = ["--experts", "2", "4", "--noise", "2", "--lr", "0.1", "--seed", "3"]
    assert theory(*EXPERTS, *options, "--json", "--device", "cpu") == 0
    facts = json.loads(capsys.readouterr().out)
    check_keys("analyse theory experts", facts)
    expected = race("gaussian", [2, 4], runs=5, horizon=20, noise=2.0, lr=0.1, seed=3)
    assert [own["regret"] for own in facts["standings"]] == [own.regret for own in expected.standings]
    assert theory(*EXPERTS, "--problem", "coins", "--experts", "2") == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in table[1:]] == ["XNAS", "EG", "GD"]
    assert " -  " in table[1]  # of fair coins none is correct
    assert "%" not in "".join(table)


def no_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def test_one_run_has_no_error_in_json_and_in_the_picture(capsys, tmp_path):
    words = ["--runs", "1", "--experts", "2", "--problem", "adversary", "--json", "--out", str(tmp_path)]
    assert theory(*EXPERTS, *words) == 0
    for text in (capsys.readouterr().out, (tmp_path / "experts.json").read_text()):
        (first, *_) = json.loads(text, parse_constant=no_constant)["standings"]
        assert (first["error"], first["correct"]) == (None, None)
    assert theory(*EXPERTS, "--runs", "1", "--experts", "2") == 0
    assert "+-" not in capsys.readouterr().out


def test_iterations_are_counted(capsys, tmp_path):
    options = [
        "--dimensions",
        "4",
        "8",
        "--accuracy",
        "0.2",
        "--gap",
        "0.4",
        "--noise",
        "0.5",
        "--most",
        "500",
    ]
    assert theory(*MIRROR, *options, "--json", "--out", str(tmp_path)) == 0
    facts = json.loads(capsys.readouterr().out)
    check_keys("analyse theory mirror-descent", facts)
    expected = survey_dimensions([4, 8], accuracy=0.2, gap=0.4, noise=0.5, runs=2, most=500)
    assert [own["steps"] for own in facts["iterations"]] == [own.steps for own in expected]
    assert (tmp_path / "iterations.png").is_file()
    assert theory(*MIRROR, "--dimensions", "64", "--most", "1") == 0
    assert "not in time" in capsys.readouterr().out


def search(folder: Path) -> Path:
    """A short search that is done."""
    config = merge([SHORT, {"space": "nano", "data": few_digits(folder / "few.npz"), "method": "gaea-darts"}])
    parts = build(config)
    searcher = Searcher(parts.space, parts.method, parts.data, parts.options)
    with Run.create(folder / "run", resolved(config), space=searcher.space) as run:
        searcher.run = run
        searcher.fit()
    return folder / "run"


@pytest.mark.usefixtures("one_thread")
def test_the_stationarity_of_a_run(capsys, tmp_path):
    run, out = search(tmp_path), tmp_path / "out"
    options = ["--scale", "0.5", "--iterations", "2", "--device", "cpu", "--fall-back"]
    assert theory("stationarity", str(run), *options, "--json", "--out", str(out)) == 0
    facts = json.loads(capsys.readouterr().out)
    check_keys("analyse theory stationarity", facts)
    expected = stationarity(Run.read(run), scale=0.5, iterations=2)
    assert facts["proximal"] == expected.proximal
    assert facts["movement"] == expected.movement
    assert (out / "stationarity.png").is_file()
    assert theory("stationarity", str(run), "--iterations", "1") == 0
    assert "stationarity of the ops' weights" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*CELLS, "--loss", "cubed"], "no loss called 'cubed'"),
        ([*CELLS, "--norms", "0"], "expected a number above 0, got '0'"),
        ([*EXPERTS, "--problem", "coin"], "did you mean 'coins'?"),
        ([*EXPERTS, "--problem", "coins", "--noise", "1"], "rewards of 'coins' have no noise to set"),
        ([*EXPERTS, "--experts", "1"], "expected a whole number from 2 on, got '1'"),
        (["stationarity", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_one_line(capsys, words, message):
    try:
        code = theory(*words)
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
