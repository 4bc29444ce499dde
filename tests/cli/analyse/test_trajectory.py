import json
from pathlib import Path

import pytest

from dartboard.analysis.trajectory import read_trajectories
from dartboard.cli.main import main
from dartboard.runs import Run
from helpers.search_runs import search_runs

pytestmark = pytest.mark.usefixtures("one_thread")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return search_runs(tmp_path_factory.mktemp("runs"), "gaea-darts", "darts", seeds=2)


def words(runs: dict[str, Run]) -> list[str]:
    return ["analyse", "trajectory", *(str(run.path) for run in runs.values())]


def test_the_first_and_the_last_epoch_in_words(runs: dict[str, Run], capsys: Capture) -> None:
    assert main(words(runs)) == 0
    out = capsys.readouterr().out
    own = read_trajectories(*runs.values()).band("darts", "normalised entropy")
    assert own is not None
    assert "darts  seeds 0, 1" in out
    assert f"after epoch 1: {own.mean[0]:.4f}, after 2: {own.mean[1]:.4f} +- {own.std[1]:.4f}" in out


def test_json_and_files(runs: dict[str, Run], tmp_path: Path, capsys: Capture) -> None:
    assert main([*words(runs), "--json", "--out", str(tmp_path / "new" / "out")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(json.dumps(read_trajectories(*runs.values()).facts()))
    pictures = [f"{name}.{end}" for name in ("margins", "ops", "trajectory") for end in ("png", "svg")]
    names = sorted(path.name for path in (tmp_path / "new" / "out").iterdir())
    assert names == sorted([*pictures, "trajectory.json"])
    assert json.loads((tmp_path / "new" / "out" / "trajectory.json").read_text()) == told


@pytest.mark.parametrize("name", ["nowhere", "runs"])
def test_no_run(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["analyse", "trajectory", str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dartboard: error: ")
    assert err.count("\n") == 1
