"""Command lines that make no sense end in one line and leave nothing behind."""

from pathlib import Path

import numpy as np
import pytest

from dartboard.cli.main import main
from helpers import console

TINY = ("batch=256", "net.channels=4", "health.examples=64", "epochs=2", "--threads", "1")
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("own_folder")


def complaint(capsys: Capture, command: str) -> str:
    """The one line that a search ends in."""
    return console.error_line(capsys, "search", *TINY, *command.split())


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("seed=99999999999999999999999", "seed=99999999999999999999999: input should be less than"),
        ("--seed 99999999999999999999999", "seed=99999999999999999999999: input should be less than"),
        ("data.seed=99999999999999999999999", "data.seed=99999999999999999999999: input should be less than"),
        ("weights.nesterov=true weights.momentum=0", "weights: nesterov is a form of momentum"),
        ("weights.lr=.inf", "weights.lr=inf: input should be a finite number"),
        ("weights.lr=nan", "weights.lr='nan': input should be a finite number"),
        ("net.auxiliary=.nan", "net.auxiliary=nan: input should be a finite number"),
        ("epochs=100000000000000000000", "input should be less than or equal to 100000"),
        ("batch=100000000000000000000", "input should be less than or equal to 100000"),
        ("pieces=100000000000000000000", "input should be less than or equal to 100000"),
        ("net.channels=100000000000000000000", "input should be less than or equal to 100000"),
        ("space.cells=100000000000000000000", "input should be less than or equal to 100000"),
        ("epochs=2020-13-45", "epochs=2020-13-45: not a value in YAML"),
        ("method=3", "method=3: expected a name, or a group such as {name: darts, lr: 0.1}"),
        ("weights=3", "weights=3: expected a group such as {lr: 0.025}"),
        ("method.lr=-1", "lr must be a number >= 0, got -1.0"),
        ("method.lr=nan", "method.lr='nan' of darts: input should be a finite number"),
        ("method.weight_decay=-1", "weight_decay must be a number >= 0, got -1.0"),
        ("--method gaea-darts method.lr=-1", "lr must be a number >= 0, got -1.0"),
        ("--method gaea-darts method.floor=0.9", "floor must be a number >= 0 and below 1 / N"),
        ("--method gaea-darts method.floor=2", "floor must be a number >= 0 and < 1, got 2.0"),
        ("--method xnas method.bound=0", "bound must be a number > 0, got 0.0"),
        ("--method xnas method.zeta=2", "zeta must be a number > 0 and <= 1, got 2.0"),
        ("--method random-ws method.samples=0", "at least 1 sample, got 0"),
        ("--method random-ws method.epoch_samples=0", "at least 1 sample, got 0"),
        ("--method gdas method.start=-1", "the temperature at the start must be a number > 0, got -1.0"),
        ("--method gdas method.end=-1", "the temperature at the end must be a number > 0, got -1.0"),
        (
            "--method pc-darts method.warmup=-1",
            "warmup must be a whole number >= 0 or a fraction below 1, got -1",
        ),
        (
            "--method pc-darts method.partial=0 method.warmup=1",
            "partial must be a whole number >= 1, or auto, got 0",
        ),
        ("--method evolution", "with --plugin a file that registers a method with a score"),
        ("--method random-ws data.valid=0.0001", "training images of 'digits' holds out none"),
        ("batch=1 net.auxiliary=0.4", "the auxiliary classifier sees one pixel"),
    ],
)
def test_nonsense_is_one_line_and_leaves_nothing(command: str, words: str, capsys: Capture) -> None:
    assert words in complaint(capsys, command)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("side", "classes", "words"),
    [
        (2, 3, "images of 2x2 come down to one pixel, of which batch-norms need two examples at a time"),
        (8, 1, "all training images of 'some' are of one class, '0'"),
    ],
)
def test_images_that_make_no_sense(side: int, classes: int, words: str, capsys: Capture) -> None:
    np.savez("some.npz", x_train=np.zeros((30, side, side), np.uint8), y_train=np.arange(30) % classes)
    assert words in complaint(capsys, "--data some.npz batch=1")
    assert [path.name for path in Path().iterdir()] == ["some.npz"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny search."""
    path = tmp_path_factory.mktemp("finished") / "run"
    assert main(["search", *TINY, "--out", str(path), "--quiet"]) == 0
    return path


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("environment.json", "{}", "environment.json should hold a list of entries, not {}"),
        ("metrics.jsonl", '{"loss": 1}\n', "metrics.jsonl, line 1 has no epoch with a whole number"),
        ("config.yaml", "method: 3\n", "method=3: expected a name, or a group"),
    ],
)
@pytest.mark.usefixtures("without_checksums")
def test_a_run_with_a_damaged_file(
    name: str, text: str, words: str, finished: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = finished / name
    before = path.read_bytes()
    monkeypatch.chdir(finished)
    path.write_text(text)
    try:
        assert main(["search", "--resume", "."]) == 2
    finally:
        path.write_bytes(before)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err


def test_a_run_with_a_foreign_file(finished: Path, capsys: Capture) -> None:
    (finished / "epochs" / "notes.json").write_text("mine")
    assert main(["search", "--resume", str(finished), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert (finished / "epochs" / "notes.json").read_text() == "mine"
