import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dartboard.cli.main import INTERRUPTED, main
from dartboard.cli.runs import tail
from dartboard.runs import Run
from helpers.report_runs import make_search

pytestmark = pytest.mark.usefixtures("own_folder")
Said = pytest.CaptureFixture[str]


@pytest.mark.parametrize(("words", "count"), [([], 10), (["-n", "3"], 3), (["--lines", "99"], 12)])
def test_so_many_epochs_are_printed(tmp_path: Path, capsys: Said, words: list[str], count: int) -> None:
    make_search(tmp_path / "s", epochs=12)
    assert main(["runs", "tail", *words, "s"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == count
    assert lines[-1].startswith("epoch 12 of 12  loss 0.800  train 85.0%  valid 70.0%  entropy ")


def test_a_run_without_epochs_says_so(tmp_path: Path, capsys: Said) -> None:
    make_search(tmp_path / "s", epochs=0, finish=False)
    assert main(["runs", "tail", "s"]) == 0
    assert capsys.readouterr().out == "s has no epoch yet; it is stopped\n"


def test_a_run_is_followed_to_its_end(tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.create(tmp_path / "s", {"epochs": 4})
    run.record(0, {"train_loss": 4.0}, {})

    def rewind() -> None:
        run.rewind(1)

    def end() -> None:
        run.record(2, {"train_loss": 2.0}, {})
        run.finish({})
        run.close()

    todo = [
        lambda: run.record(1, {"train_loss": 3.0}, {}),
        rewind,
        lambda: run.record(1, {"train_loss": 3.5}, {}),
        end,
    ]
    monkeypatch.setattr(tail.time, "sleep", lambda _: todo.pop(0)())
    assert main(["runs", "tail", "s", "--follow"]) == 0
    losses = ["4.000", "3.000", "3.500", "2.000"]
    places = [1, 2, 2, 3]
    expected = [f"epoch {place} of 4  loss {loss}" for place, loss in zip(places, losses, strict=True)]
    assert capsys.readouterr().out.splitlines() == [*expected, "s is finished"]


def test_ctrl_c_ends_it_in_one_line(tmp_path: Path, program: Path) -> None:
    with Run.create(tmp_path / "s", {"epochs": 4}) as run:
        run.record(0, {"train_loss": 4.0}, {})
        process = subprocess.Popen(
            [program, "runs", "tail", "s", "--follow"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "epoch 1 of 4  loss 4.000\n"
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGINT)
        out, error = process.communicate(timeout=30)
    assert (out, error) == ("", "dartboard: interrupted\n")
    assert process.returncode == INTERRUPTED
