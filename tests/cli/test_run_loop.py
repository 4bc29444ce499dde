import shlex
from pathlib import Path
from typing import Any

import pytest

from dartboard.cli.main import MISTAKE, main
from dartboard.cli.run_loop import claim_directory, search_name
from dartboard.integrations import tracker
from dartboard.integrations.tensorboard import TensorBoardHook
from dartboard.search.config import load_config
from helpers.protocol_cases import TINY as PROTOCOL
from helpers.protocol_cases import few_digits


def test_a_given_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    assert claim_directory(str(tmp_path / "x"), search_name(load_config())) == tmp_path / "x"
    assert not (tmp_path / "x").exists()


def test_a_directory_is_named_after_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = {"space": "spaces/mine.yaml", "method": "gdas", "data": "/images/cifar.npz", "seed": 3}
    config = load_config(flags=flags)
    assert [claim_directory(None, search_name(config)) for _ in range(3)] == [
        Path("runs/gdas-mine-cifar-s3"),
        Path("runs/gdas-mine-cifar-s3-2"),
        Path("runs/gdas-mine-cifar-s3-3"),
    ]
    assert claim_directory(None, search_name(load_config())) == Path("runs/darts-nano-digits-s0")


events = pytest.importorskip(
    "tensorboard.backend.event_processing.event_accumulator", reason="TensorBoard is not installed"
)
pytestmark = pytest.mark.usefixtures("own_folder")
TINY = shlex.split(
    "net.channels=2 data.workers=0 health.examples=16 --threads 1 --quiet --no-report --epochs 1"
)


def steps(folder: Path, name: str) -> list[int]:
    return [own.step for own in events.EventAccumulator(str(folder)).Reload().Scalars(name)]


def test_the_flag_writes_to_a_folder_called_like_the_run(tmp_path: Path) -> None:
    assert main(["search", "--out", "a", "--tensorboard", "tb", *TINY]) == 0
    assert steps(tmp_path / "tb" / "a", "train_loss") == [1]
    assert main(["search", "--resume", "a", "--tensorboard", "tb", "--threads", "1", "--no-report"]) == 0
    assert steps(tmp_path / "tb" / "a", "train_loss") == [1]
    assert main(["search", "--out", "b", *TINY]) == 0
    assert not (tmp_path / "tb" / "b").exists()


def test_each_run_inside_a_protocol_has_a_folder_of_its_own(tmp_path: Path) -> None:
    data = few_digits(tmp_path / "few.npz")
    words = [*PROTOCOL, "--data", data, "--out", "p", "--threads", "1", "--quiet", "--no-report"]
    assert main(["protocol", *words, "--tensorboard", "tb"]) == 0
    assert steps(tmp_path / "tb" / "p" / "search" / "s0", "train_loss") == [1]
    assert steps(tmp_path / "tb" / "p" / "final" / "found-s1", "train_loss") == [1, 2]
    written = {path.parent.relative_to(tmp_path / "tb" / "p") for path in tmp_path.rglob("events.*")}
    inside = {path.parent.relative_to(tmp_path / "p") for path in (tmp_path / "p").rglob("metrics.jsonl")}
    assert written == inside


def test_what_cannot_be_written_is_said_before_anything_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    assert main(["search", "--out", "a", "--tensorboard", "file", *TINY]) == MISTAKE
    assert "--tensorboard file is a file; name a folder" in capsys.readouterr().err
    monkeypatch.setattr(tracker, "find_spec", lambda _: None)
    assert main(["search", "--out", "a", "--tensorboard", "tb", *TINY]) == MISTAKE
    error = capsys.readouterr().err
    assert "get it with: pip install 'dartboard[tensorboard]'" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "a").exists()


def test_the_command_that_goes_on_has_the_flag(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: TensorBoardHook, loop: Any, record: Any) -> None:  # noqa: ARG001
        loop.stop()

    monkeypatch.setattr(TensorBoardHook, "on_epoch_end", stop)
    assert main(["search", "--out", "a", "--tensorboard", "tb", *TINY, "--epochs", "2"]) == 0
    assert "dartboard search --resume a --tensorboard tb\n" in capsys.readouterr().err
