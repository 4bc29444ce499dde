import logging
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dartboard.errors import OptionError, RunError
from dartboard.integrations import TRACKERS, tracker
from dartboard.integrations.tracker import (
    EpochLog,
    RunFile,
    RunStart,
    Session,
    TrackerHook,
    histograms,
    scalars,
)
from dartboard.relax.base import Strength
from dartboard.runs import Run
from dartboard.space import get_space
from helpers.search_cases import search
from helpers.train_cases import train


class ListHook(TrackerHook):
    """A tracker that keeps what it is given in a list, and raises an error when told to."""

    title, package = "List", "json"

    def __init__(self, run: Path | None = None, *, epochs: int = 0, fails: str = "") -> None:
        super().__init__(run)
        self.epochs, self.fails = epochs, fails
        self.calls: list[tuple[str, Any]] = []
        self.may_continue = threading.Event()
        self.may_continue.set()

    @classmethod
    def of_command(cls, place: str, run: Path) -> "ListHook":  # noqa: ARG003
        return cls(run)

    def open_session(self, start: RunStart) -> Session:
        session = ListSession(self)
        session.epochs = self.epochs
        session.call("open", start)
        return session

    def steps(self) -> list[int]:
        return [value.step for name, value in self.calls if name == "epoch"]


class ListSession(Session):
    def __init__(self, hook: ListHook) -> None:
        self.hook = hook

    def call(self, name: str, value: Any) -> None:
        self.hook.may_continue.wait(60)
        if name == self.hook.fails:
            raise ConnectionError("no network\nat all")
        self.hook.calls.append((name, value))

    def log_epoch(self, epoch: EpochLog) -> None:
        self.call("epoch", epoch)

    def log_result(self, result: EpochLog) -> None:
        self.call("result", result)

    def log_files(self, files: tuple[Path, ...]) -> None:
        self.call("files", files)

    def close(self, *, finished: bool) -> None:
        self.call("close", finished)


@pytest.fixture(scope="module")
def digest() -> str:
    """Of the search that the tests below record."""
    return search(epochs=2).fit().digest


def test_a_search_is_recorded_from_its_settings_to_its_files(tmp_path: Path, digest: str) -> None:
    with ListHook() as hook, Run.create(tmp_path / "run", {"batch": 16, "net": {"channels": 4}}) as run:
        result = search(epochs=2, run=run, hooks=[hook]).fit()
        (tmp_path / "run" / "report.html").touch()
    assert result.digest == digest
    assert [name for name, _ in hook.calls] == ["open", "epoch", "epoch", "result", "files", "close"]
    start, first, _, end, files, finished = [value for _, value in hook.calls]
    assert (start.name, start.group, start.kind) == ("run", None, "search")
    assert start.settings == {"batch": 16, "net.channels": 4}
    assert {"train_loss", "entropy", "cell/entropy"} <= first.scalars.keys()
    assert '"cell"' in first.texts["genotype"]
    assert first.drawings["cell"].shape[2] == 3
    assert end.texts["digest"] == digest
    assert end.scalars["entropy"] == result.entropy
    assert [path.name for path in files] == ["config.yaml", "result.json", "report.html"]
    assert finished


def test_a_training_is_recorded_with_its_cell() -> None:
    hook = ListHook()
    train(epochs=1, hooks=[hook]).fit()
    assert [name for name, _ in hook.calls] == ["open", "epoch", "result", "files", "close"]
    assert hook.calls[0][1].drawing is not None
    assert "test_accuracy" in hook.calls[1][1].scalars
    assert "best/test/top1" in hook.calls[2][1].scalars


@pytest.mark.parametrize("place", ["open", "epoch", "result", "files", "close"])
def test_a_tracker_that_fails_is_one_warning(
    place: str, digest: str, caplog: pytest.LogCaptureFixture
) -> None:
    hook = ListHook(fails=place)
    assert search(epochs=2, hooks=[hook]).fit().digest == digest
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warning == "List records no more: no network at all"
    assert search(epochs=1, hooks=[hook]).fit().epochs == 1  # a protocol has more than one loop
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 1


def test_a_tracker_that_does_not_answer_is_not_waited_for(
    digest: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tracker, "CLOSE_SECONDS", 0.01)
    hook = ListHook()
    hook.may_continue.clear()
    assert search(epochs=2, hooks=[hook]).fit().digest == digest
    assert hook.calls == []
    assert "List records no more: no answer within 0 seconds" in caplog.text
    hook.may_continue.set()


def test_a_drawing_that_fails_is_one_warning(
    digest: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Any) -> None:
        raise ValueError("no ink")

    monkeypatch.setattr(tracker, "draw", fail)
    assert search(epochs=2, hooks=[ListHook()]).fit().digest == digest
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
        "List records no more: no ink"
    ]


def test_other_ranks_record_nothing() -> None:
    hook = ListHook()
    hook.on_start(SimpleNamespace(group=SimpleNamespace(rank=1)))
    hook.on_epoch_end(None, None)
    hook.on_end(None, None)
    assert hook.calls == []


def test_a_run_that_was_begun_without_the_tracker_is_caught_up(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {}) as run:
        search(epochs=3, run=run).fit()
        rows = run.metrics()
    for known, steps in ((0, [1, 2, 3]), (2, [3])):
        hook = ListHook(epochs=known)
        with Run.resume(tmp_path / "run") as run:
            search(epochs=3, run=run, hooks=[hook]).fit()
        assert hook.steps() == steps
    assert hook.calls[1][1].scalars == scalars(rows[2])


def test_a_search_that_is_stopped_is_not_finished(tmp_path: Path) -> None:
    with ListHook() as hook, Run.create(tmp_path / "run", {}) as run:
        hook.on_start(search(run=run))
    assert hook.calls[-1] == ("close", False)


def test_runs_inside_another_are_named_after_both(tmp_path: Path) -> None:
    hook = ListHook(tmp_path / "protocol")
    with Run.create(tmp_path / "protocol" / "search" / "s0", {}) as run:
        search(epochs=1, run=run, hooks=[hook]).fit()
    start = hook.calls[0][1]
    assert (start.name, start.group, start.inside) == ("protocol/search/s0", "protocol", Path("search/s0"))


def test_the_file_of_a_tracker_is_read_as_it_was_written(tmp_path: Path) -> None:
    RunFile.read(tmp_path, "x").write(id="a", epochs=3)
    assert RunFile.read(tmp_path, "x") == RunFile(tmp_path / "x.json", "a", 3, None)
    assert RunFile.read(None, "x") == RunFile(None)
    (tmp_path / "x.json").write_text('{"id": 3}')
    with pytest.raises(RunError, match=r"x\.json is damaged; remove it to record a new run"):
        RunFile.read(tmp_path, "x")


@pytest.mark.parametrize("name", TRACKERS)
def test_without_the_package_the_command_that_helps_is_said(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracker, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=rf"is not installed; .* pip install 'dartboard\[{name}\]'"):
        TRACKERS[name].hook().of_command("place", Path("run"))


def test_packages_are_imported_only_for_a_search() -> None:
    program = (
        "import sys; from pathlib import Path; from dartboard.integrations import TRACKERS\n"
        "assert 'torch' not in sys.modules\n"
        "for flag in TRACKERS.values():\n"
        "    hook = flag.hook(); hook.check_installed(); hook.of_command('place', Path('run'))\n"
        "print({'wandb', 'mlflow', 'tensorboard'} & {*sys.modules})"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout == "set()\n"


def test_scalars_are_numbers_alone() -> None:
    cells = {"normal": {"entropy": 1, "ops": {"none": 2}, "all": True}}
    metrics = {"epoch": 3, "step": 4, "lr": 0.5, "warnings": ["x"], "words": "y", "cells": cells}
    assert scalars(metrics) == {"lr": 0.5, "normal/entropy": 1.0, "normal/ops/none": 2.0}


def test_histograms_leave_out_what_is_no_candidate() -> None:
    space = get_space("s1")
    strengths = {
        arch: Strength(torch.full(cell.shape, 0.5), torch.ones(len(cell.edges)))
        for arch, cell in space.groups
    }
    for arch, cell in space.groups:
        for row, edge in zip(strengths[arch].ops, cell.edges, strict=True):
            row[len(edge.ops) :] = 0
    found = histograms(space, strengths)
    assert all(values.min() == 0.5 for values in found.values())
    counts = {arch: sum(len(edge.ops) for edge in cell.edges) for arch, cell in space.groups}
    assert {arch: len(values) for arch, values in found.items()} == counts
