"""The tool `analyse landscape`, through the program's own front door."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dartboard.analysis.grid import GridOptions
from dartboard.analysis.landscape import landscape
from dartboard.cli.main import main
from dartboard.data import load_dataset
from dartboard.nn import load_model
from dartboard.utils.processes import parallel_map
from helpers.landscape_cases import differ_at_the_end
from helpers.protocol_cases import few_digits

Capture = pytest.CaptureFixture[str]
SMALL = ("--grid", "3", "--examples", "20")
TINY = ("epochs=1", "batch=16", "net.channels=2", "net.cells=1", "data.pad=0")
CELL = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"


@pytest.fixture(autouse=True)
def _own_folder(own_folder: None) -> None:
    """Every test has a folder of its own to write to."""


@pytest.fixture
def trained(tmp_path: Path) -> str:
    """A training of a few steps."""
    words = (
        "--data",
        few_digits(tmp_path / "few.npz"),
        "--out",
        str(tmp_path / "run"),
        "--quiet",
        "--threads",
        "1",
    )
    assert main(["train", CELL, *TINY, "net.auxiliary=0", "net.drop_path=0", "data.flip=false", *words]) == 0
    return str(tmp_path / "run")


def facts(capsys: Capture, *words: object) -> dict:
    capsys.readouterr()
    assert main(["analyse", "landscape", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: Capture, *words: object) -> str:
    capsys.readouterr()
    assert main(["analyse", "landscape", *map(str, words)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_a_trained_network_and_its_own_images(trained: str, capsys: Capture) -> None:
    found = facts(capsys, trained, *SMALL, "--radius", 0.5, "--seed", 3)
    assert found["out"] == "runs/landscape-run"
    assert found["images"] == "20 of 40 test images of few"
    test = load_dataset("few.npz").test
    assert test is not None
    own = GridOptions(grid=3, examples=20, radius=0.5, seed=3)
    model = load_model(Path(trained) / "best.safetensors")
    expected = landscape(model, test.spread(20), own).values
    assert np.allclose(found["values"], expected, rtol=1e-5)
    assert found["shape"]["centre"] == found["values"][1][1]
    kept = sorted(path.name for path in Path(found["out"]).iterdir())
    endings = ("flat.png", "flat.svg", "numbers.json", "surface.png", "surface.svg")
    assert kept == sorted(["loss.json", *(f"loss-{ending}" for ending in endings)])


def test_every_flag_matters(trained: str, capsys: Capture) -> None:
    usual = facts(capsys, trained, *SMALL, "--out", "usual")["values"]
    others = (
        ("--radius", 0.3),
        ("--directions", "gaussian"),
        ("--vectors", "drawn"),
        ("--statistics", "fresh"),
        ("--statistics", "batch"),
        ("--examples", 10),
        ("--seed", 1),
        ("--of", "variance"),
        ("--of", "gradient"),
        ("--of", "smoothness"),
        ("--part", "train"),
        ("--which", "last"),
    )
    differ_at_the_end(trained)
    seen = [usual]
    for place, flags in enumerate(others):
        seen.append(facts(capsys, trained, *SMALL, "--out", f"other-{place}", *flags)["values"])
    assert all(not np.allclose(one, usual) for one in seen[1:])
    fresh = (*SMALL, "--statistics", "fresh", "--fresh", 8)
    assert not np.allclose(facts(capsys, trained, *fresh, "--out", "few")["values"], seen[4])
    batches = (*SMALL, "--statistics", "batch", "--batch", 10)
    assert not np.allclose(facts(capsys, trained, *batches, "--out", "ten")["values"], seen[5])


def test_a_file_and_the_same_again(trained: str, capsys: Capture) -> None:
    file = Path(trained) / "last.safetensors"
    first = facts(capsys, file, *SMALL, "--out", "out")
    before = (Path("out") / "loss.json").stat().st_mtime_ns
    assert facts(capsys, file, *SMALL, "--out", "out") == first
    assert (Path("out") / "loss.json").stat().st_mtime_ns == before
    said = refused(capsys, file, *SMALL, "--out", "out", "--seed", 1)
    assert "was made with seed=0; name another folder" in said


def test_several_processes_give_the_same(
    trained: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def spy(work: Any, things: Any, jobs: int) -> Any:
        asked.append(jobs)
        return parallel_map(work, things, jobs)

    monkeypatch.setattr("dartboard.analysis.landscape.parallel_map", spy)
    alone = facts(capsys, trained, *SMALL, "--out", "alone")
    assert facts(capsys, trained, *SMALL, "--out", "both", "--jobs", 2)["values"] == alone["values"]
    assert asked == [1, 2]


def test_a_cell_is_trained_first(tmp_path: Path, capsys: Capture) -> None:
    images = few_digits(tmp_path / "few.npz")
    found = facts(capsys, CELL, *TINY, *SMALL, "--data", images, "--out", "out")
    [run] = Path("out/runs").iterdir()
    assert np.allclose(facts(capsys, run, *SMALL, "--out", "again")["values"], found["values"])


def test_a_training_that_breaks_off_is_named(tmp_path: Path, capsys: Capture) -> None:
    images = few_digits(tmp_path / "few.npz")
    said = refused(capsys, CELL, *TINY, "weights.lr=1e30", *SMALL, "--data", images, "--quiet")
    assert "the training of the cell broke off: " in said
    assert "a smaller weights.lr" in said


@pytest.mark.parametrize("flags", [("--radius", "1e-30"), ("--radius", "1e38"), ("--of", "variance")])
def test_values_without_a_range_are_drawn_as_well(
    trained: str, flags: tuple[str, str], capsys: Capture
) -> None:
    found = facts(capsys, trained, *SMALL[:2], "--examples", 1, *flags)
    assert found["shape"]["centre"] is not None
    assert len(list(Path(found["out"]).glob("*.png"))) == 2


def test_people_are_told_the_shape(trained: str, capsys: Capture) -> None:
    capsys.readouterr()
    assert main(["analyse", "landscape", trained, *SMALL]) == 0
    said = capsys.readouterr().out
    assert "3x3 points, radius 1" in said
    assert "share of the grid in the basin" in said
    assert "written to runs/landscape-run" in said


def test_mistakes_are_one_line(trained: str, capsys: Capture) -> None:
    assert "is trained already; leave out epochs=3" in refused(capsys, trained, "epochs=3")
    assert "landscape needs a WHAT" in refused(capsys, "epochs=3")
    assert "leave out --grid and --radius" in refused(capsys, trained, "--full", "--grid", "5")
    assert "did you mean 'darts-v2'" in refused(capsys, "darts-v3")
    assert "is a file" in refused(capsys, Path(trained) / "best.safetensors", "--which", "last")
    assert "radius" in refused(capsys, trained, "--radius", "1e300")
    for flags in (("--grid", "4"), ("--grid", "1"), ("--radius", "0"), ("--radius", "x")):
        assert f"got '{flags[1]}'" in refused(capsys, trained, *flags)
