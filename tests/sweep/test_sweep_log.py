"""log.txt in the directory of a sweep."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from dartboard.cli import sweep as command
from dartboard.cli.main import main
from dartboard.errors import DartboardError, RunError, RunInUseError, Stopped
from dartboard.jobs.job import Job, JobResult, Monitor
from dartboard.runs import Lock
from dartboard.sweep.sweep_log import SweepLog
from helpers.sweep_cases import TRAINING, sweep, tiny

pytestmark = pytest.mark.usefixtures("one_thread")

TRAINED = {key: yaml.safe_load(value) for key, value in (word.split("=") for word in TRAINING)}
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING|ERROR) dartboard\.sweep: (.+)")


def lines(folder: Path) -> list[str]:
    """Levels and texts of the log, without the lines of starts, which name processes."""
    matches = [LINE.fullmatch(line) for line in (folder / "log.txt").read_text().splitlines()]
    assert None not in matches
    found = [f"{match[1]} {match[2]}" for match in matches if match is not None]
    return [re.sub(r"epochs in .*", "epochs", line) for line in found if " (dartboard " not in line]


def test_a_finished_sweep(data: str, tmp_path: Path) -> None:
    sweep(tmp_path, tiny(data)).run()
    first = (tmp_path / "log.txt").read_text().splitlines()
    start = rf"INFO dartboard\.sweep: started: .+ \(dartboard \S+, process {os.getpid()} on \S+\)"
    assert re.search(start, first[0])
    assert lines(tmp_path) == [
        "INFO runs: 2; executor: InlineExecutor, 1 at a time",
        "INFO stage search: 2 runs",
        "INFO search/darts-s0 finished: 2 epochs",
        "INFO search/darts-s1 finished: 2 epochs",
        "INFO finished; runs: 2 finished",
    ]
    sweep(tmp_path, tiny(data)).run()
    again = (tmp_path / "log.txt").read_text().splitlines()
    assert again[: len(first)] == first
    assert " INFO dartboard.sweep: resumed: " in again[len(first)]
    assert lines(tmp_path)[5:] == [  # runs that ended before are counted, not listed again
        "INFO runs: 2; ended before: 2 finished; executor: InlineExecutor, 1 at a time",
        "INFO stage search: 2 runs",
        "INFO finished; runs: 2 finished",
    ]


def test_a_run_that_fails(data: str, tmp_path: Path, plugins: tuple[str, ...]) -> None:
    rows = [{"method": {"name": "failing-darts", "times": 9}}, {"method": "darts"}]
    values = tiny(data, settings={"epochs": 1}, runs=rows, grid={"seed": 0}, tries=2)
    sweep(tmp_path, values, plugins=plugins).run()
    name = "search/failing-darts-method.times9-s0"
    reason = (
        f"RuntimeError: attempt {{}} of failing-darts-method.times9-s0 fails; see {tmp_path / name}/log.txt"
    )
    assert lines(tmp_path)[2:] == [
        f"WARNING {name} failed, retried: {reason.format(0)}",
        f"ERROR {name} failed: {reason.format(1)}",
        "INFO search/darts-s0 finished: 1 epochs",
        "INFO finished; runs: 1 finished, 1 failed",
    ]


def test_an_interrupted_sweep(data: str, tmp_path: Path) -> None:
    own = sweep(tmp_path, tiny(data))
    pass_on = own.log.on_start

    def interrupt(job: Job) -> None:
        pass_on(job)
        if job.name.endswith("s1"):
            own.signals.append(signal.SIGTERM)
            own.stop()

    own.log.on_start = interrupt  # type: ignore[method-assign]
    with pytest.raises(Stopped) as raised:
        own.run()
    assert lines(tmp_path)[-2:] == [
        "INFO search/darts-s1 interrupted; its state is saved",
        f"WARNING interrupted by SIGTERM: {raised.value}; runs: 1 finished",
    ]
    assert str(raised.value) == "stopped; runs not begun: 0; saved: search/darts-s1"
    sweep(tmp_path, tiny(data)).run()
    assert lines(tmp_path)[-2:] == [
        "INFO search/darts-s1 finished: 2 epochs",
        "INFO finished; runs: 2 finished",
    ]


def test_a_signal_names_the_log_which_names_the_signal(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Signalling(Monitor):
        def on_start(self, job: Job) -> None:  # noqa: ARG002
            os.kill(os.getpid(), signal.SIGTERM)

    @contextmanager
    def choose_monitor(*_: object, **__: object) -> Iterator[Monitor]:
        yield Signalling()

    (tmp_path / "own.yaml").write_text(yaml.safe_dump(tiny(data)))
    folder = tmp_path / "sweep"
    words = [
        "sweep",
        str(tmp_path / "own.yaml"),
        "--out",
        str(folder),
        "--executor",
        "here",
        "--threads",
        "1",
    ]
    with monkeypatch.context() as patch:
        patch.setattr(command, "choose_monitor", choose_monitor)
        assert main(words) == 128 + signal.SIGTERM
    err = capsys.readouterr().err
    assert err.endswith(f"; see {folder}/log.txt; run the same command to resume\n")
    assert lines(folder)[-1].startswith("WARNING interrupted by SIGTERM: stopped; runs not begun: 1; saved: ")
    assert main(["sweep", str(folder), "--show"]) == 0
    assert f"log            {folder}/log.txt" in capsys.readouterr().out
    (folder / "results.jsonl").unlink()
    assert main(["sweep", str(folder), "--show"]) == 2
    assert capsys.readouterr().err.endswith(f"none of its runs has ended yet; see {folder}/log.txt\n")


def test_decisions_and_runs_that_are_pruned(data: str, tmp_path: Path) -> None:
    searches = {"do": "search", "settings": {**tiny(data)["settings"], "epochs": 2}, "grid": {"seed": "0..1"}}
    values: dict[str, Any] = {
        "stages": {
            "search": {**searches, "stop": {"after": 1, "keep": 1}},
            "final": {"do": "train", "cells": "best of search", "settings": {**TRAINED, "epochs": 1}},
        }
    }
    rows = sweep(tmp_path, values).run()
    [pruned] = [row for row in rows if row["state"] == "dropped"]
    [kept] = [row for row in rows if row["stage"] == "search" and row["state"] == "finished"]
    assert lines(tmp_path) == [
        "INFO runs: 2, and those of cells that are not found yet; executor: InlineExecutor, 1 at a time",
        "INFO stage search: 2 runs",
        "INFO search/darts-s0 paused after epoch 1, to be compared",
        "INFO search/darts-s1 paused after epoch 1, to be compared",
        "INFO search after 1 epochs: continuing 1 of 2 runs, pruned 1, failed 0",
        f"INFO {pruned['name']} pruned: {pruned['reason']}",
        f"INFO {kept['name']} finished: 2 epochs",
        "INFO final takes its cells from 1 finished of 2 runs: found-0",
        "INFO stage final: 1 run",
        "INFO final/found-0-s0 finished: 1 epochs",
        "INFO finished; runs: 2 finished, 1 pruned",
    ]


def test_an_error_that_ends_a_sweep(data: str, tmp_path: Path, plugins: tuple[str, ...]) -> None:
    settings = {**tiny(data)["settings"], "epochs": 1, "method": {"name": "failing-darts", "times": 9}}
    values = {
        "tries": 1,
        "stages": {
            "search": {"settings": settings},
            "final": {"do": "train", "cells": "search", "settings": TRAINED},
        },
    }
    with pytest.raises(RunError) as raised:
        sweep(tmp_path, values, plugins=plugins).run()
    assert lines(tmp_path)[-1] == f"ERROR ended by an error: RunError: {raised.value}; runs: 1 failed"


def test_what_is_lost_or_waits(tmp_path: Path) -> None:
    log, job = SweepLog(tmp_path, Monitor()), Job("search/a", str(tmp_path), "search", {})
    log.on_end(JobResult(job, "lost", "its process\nended"), again=True)
    log.on_end(JobResult(job, "lost"), again=False)
    for _ in range(2):
        log.on_end(JobResult(job, "busy", "in use by process 7"), again=True)
    log.end([], KeyboardInterrupt(), [signal.SIGINT, signal.SIGINT])
    assert lines(tmp_path) == [
        "WARNING search/a lost, retried: its process\\nended",
        "WARNING search/a lost: no reason given",
        "INFO search/a waits: in use by process 7",
        "WARNING interrupted by SIGINT, SIGINT: ended at once; runs: none ended",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_no_reason_to_fail(data: str, tmp_path: Path) -> None:
    (tmp_path / "log.txt").symlink_to("/dev/full")
    rows = sweep(tmp_path, tiny(data, settings={"epochs": 1}, grid={"seed": 0})).run()
    assert [row["state"] for row in rows] == ["finished"]


def test_another_driver_writes_no_log(data: str, tmp_path: Path) -> None:
    own = sweep(tmp_path, tiny(data))
    with Lock(tmp_path), pytest.raises(RunInUseError):
        own.run()
    assert not (tmp_path / "log.txt").exists()
    with pytest.raises(DartboardError):
        sweep(tmp_path, tiny(data, settings={"epoch": 1}))
    assert not (tmp_path / "log.txt").exists()
