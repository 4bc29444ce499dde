"""The tool `analyse hessian`, through the program's own front door."""

import json
from pathlib import Path

import pytest

from dartboard.analysis.hessian import weight_spectrum
from dartboard.cli.main import main
from dartboard.data import load_dataset
from dartboard.nn import load_model
from helpers.landscape_cases import differ_at_the_end
from helpers.protocol_cases import few_digits

Capture = pytest.CaptureFixture[str]
CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"
NET = ("batch=16", "net.channels=2", "data.pad=0", "epochs=1")


@pytest.fixture(autouse=True)
def _own_folder(own_folder: None) -> None:
    """Every test has a folder of its own to write to."""


def facts(capsys: Capture, *words: object) -> dict:
    capsys.readouterr()
    assert main(["analyse", "hessian", *map(str, words), "--json", "--threads", "1"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Capture, *words: object) -> str:
    capsys.readouterr()
    assert main(["analyse", "hessian", *map(str, words)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.fixture
def trained(tmp_path: Path) -> str:
    """A training of a few steps."""
    words = ("--data", few_digits(tmp_path / "few.npz"), "--out", "run", "--quiet", "--threads", "1")
    more = ("net.cells=1", "net.auxiliary=0", "net.drop_path=0", "data.flip=false")
    assert main(["train", CELL, *NET, *more, *words]) == 0
    return "run"


@pytest.mark.usefixtures("trained")
def test_the_weights_of_a_training(capsys: Capture) -> None:
    found = facts(capsys, "run", "--count", 2, "--examples", 12)
    test = load_dataset("few.npz").test
    assert test is not None
    expected = weight_spectrum(load_model("run/best.safetensors"), test.spread(12), count=2)
    assert found["largest"] == pytest.approx(expected.largest, rel=1e-2)
    assert found["smallest"] == pytest.approx(expected.smallest, rel=1e-1)
    assert (found["in"], found["examples"], found["parameters"]) == ("weights", 12, expected.size)
    other = facts(capsys, "run", "--count", 1, "--examples", 12, "--statistics", "batch")
    assert len(other["largest"]) == 1
    assert other["largest"][0] != pytest.approx(found["largest"][0], rel=0.01)
    assert "chooses among the checkpoints of a search" in refused(capsys, "run", "--fall-back")
    assert "is trained already; leave out epochs=3" in refused(capsys, "run", "epochs=3")
    assert "--out is for a cell's training and for --density" in refused(capsys, "run", "--out", "other")
    words = ("run", "--count", 1, "--examples", 12)
    few, many = (facts(capsys, *words, "--trace", "--probes", number)["trace"] for number in (3, 6))
    assert (few["probes"], many["probes"]) == (3, 6)
    assert few["mean"] != many["mean"]
    density = facts(capsys, *words, "--density", "--probes", 3, "--degree", 4, "--out", "other")
    assert density["trace"]["mean"] == pytest.approx(few["mean"], rel=1e-5)
    assert [len(row) for row in density["density"]["weights"]] == [4, 4, 4]
    assert json.loads(Path("other/hessian.json").read_text()) == density
    assert Path("other/density.png").exists()
    assert main(["analyse", "hessian", "run", "--trace", "--examples", "12", "--quiet"]) == 0
    assert "(standard error, 10 probes)" in capsys.readouterr().out
    assert "--probes is of --trace or --density" in refused(capsys, "run", "--probes", 3)
    assert "--degree is of --density" in refused(capsys, "run", "--trace", "--degree", 3)


def test_every_flag_matters(trained: str, tmp_path: Path, capsys: Capture) -> None:
    differ_at_the_end(trained)
    other = few_digits(tmp_path / "other.npz", test=30)
    usual = (trained, "--count", 1, "--examples", 12)

    def largest(*words: object) -> float:
        return float(facts(capsys, *usual, *words)["largest"][0])

    before, batches = largest(), largest("--statistics", "batch")
    for words in (("--part", "train"), ("--which", "last"), ("--data", other), ("--examples", 6)):
        assert largest(*words) != pytest.approx(before, rel=1e-3), words
    assert largest("--statistics", "batch", "--batch", 4) != pytest.approx(batches, rel=1e-3)
    assert largest("--batch", 4) == pytest.approx(before, rel=1e-3)  # of kept statistics it is the same


def test_a_cell_is_trained_first(tmp_path: Path, capsys: Capture) -> None:
    words = ("--data", few_digits(tmp_path / "few.npz"), "--count", 1, "--examples", 12)
    found = facts(capsys, CELL, *NET, "net.cells=1", *words, "--out", "out")
    [run] = Path("out/runs").iterdir()
    assert found["in"] == "weights"
    assert facts(capsys, run, *words)["largest"] == pytest.approx(found["largest"], rel=1e-3)
    assert facts(capsys, CELL, *NET, "net.cells=1", *words)["largest"] == found["largest"]
    assert len(list(Path("runs/hessian-cell/runs").iterdir())) == 1


def test_the_architecture_of_a_search(tmp_path: Path, capsys: Capture) -> None:
    words = ("--data", few_digits(tmp_path / "few.npz"), "--out", "run", "--quiet", "--threads", "1")
    assert main(["search", "--method", "darts", "--space", "nano", *NET[:2], "epochs=1", *words]) == 0
    found = facts(capsys, "run", "--count", 3, "--examples", 8)
    assert found["in"] == "architecture parameters"
    assert found["parameters"] == 18
    assert found["examples"] == 8
    assert found["largest"] == sorted(found["largest"], reverse=True)
    assert facts(capsys, "run", "--examples", 8, "--trace")["trace"]["probes"] == 10
    assert "--which is of trained networks" in refused(capsys, "run", "--which", "best")
    assert "leave out epochs=3" in refused(capsys, "run", "epochs=3")
    more = facts(capsys, "run", "--examples", 24)  # more than a batch of the search
    assert more["examples"] == 24
    assert more["largest"][0] != pytest.approx(found["largest"][0], rel=1e-3)
    assert main(["analyse", "hessian", "run"]) == 0
    assert "Hessian in 18 architecture parameters" in capsys.readouterr().out


def test_what_is_no_run(capsys: Capture) -> None:
    assert "nowhere" in refused(capsys, "nowhere")
