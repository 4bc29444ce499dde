"""What the tests of executors share: jobs that are begun, waited for, watched and disturbed."""

import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread

from dartboard.jobs.executors import Executor
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.runner import run_job
from dartboard.plugins import load_plugin
from dartboard.runs import Run, is_run, list_checkpoints
from sweeps import digest, search_job, train_job

PATIENCE = 300
"""Something that takes so many seconds is stuck."""
METHOD = """
import os
from dataclasses import replace
from dartboard.search.hooks import Hook
from dartboard.search import METHODS

class Own(Hook):
    def on_epoch_end(self, searcher, record):
        {body}

@METHODS.register('{name}')
def own():
    return replace(METHODS['darts'](), hooks=(Own(),))
"""
FAILS = "raise ZeroDivisionError('one\\nline')"
ENDLESS = ("epochs=1000", "batch=1", "checkpoint.steps=2")
"""Settings of a search that is there until somebody ends it."""


def until(done: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def outcomes(executor: Executor, jobs: Sequence[Job]) -> dict[str, JobResult]:
    """What comes of jobs that are all begun now, by name."""
    for job in jobs:
        executor.submit(job)
    return gather(executor, len(jobs))


def gather(executor: Executor, count: int) -> dict[str, JobResult]:
    """What comes of so many jobs that were begun before, by name."""
    found: dict[str, JobResult] = {}

    def hear() -> bool:
        found.update({own.job.name: own for own in executor.completed(0.1)})
        return len(found) == count

    until(hear)
    return found


def holder(path: Path) -> int:
    """The process that writes to a run."""
    return int(json.loads((path / "lock").read_text())["pid"])


def is_ripe(path: Path) -> bool:
    """Whether a run has saved something and is not done."""
    return is_run(path) and Run.read(path).state == "running" and bool(list_checkpoints(path / "checkpoints"))


def hit(path: Path, number: signal.Signals = signal.SIGKILL) -> None:
    """Sends a signal to the process that writes to a run, as soon as that has saved something."""
    until(lambda: is_ripe(path))
    os.kill(holder(path), number)


def own_method(folder: Path, body: str = FAILS) -> tuple[str, str]:
    """The file, which is loaded, and the name of a method that does something at the end of each epoch."""
    path, name = folder / "own.py", f"own-{secrets.token_hex(4)}"
    path.write_text(METHOD.format(body=body, name=name))
    return load_plugin(path), name


def good_beside_bad(executor: Executor, folder: Path, data: str) -> tuple[list[Job], dict[str, JobResult]]:
    """A search and the first epoch of a training, and what comes of them and of a search that fails."""
    own, name = own_method(folder)
    good = [search_job(folder, data), replace(train_job(folder, data), until=1)]
    bad = search_job(folder, data, f"method={name}", name="bad", plugins=(own,))
    found = outcomes(executor, [*good, bad])
    assert [found[job.name].state for job in good] == ["finished", "paused"]
    words = f"ZeroDivisionError: one line; see {bad.path}/log.txt"
    assert (found["bad"].state, found["bad"].error) == ("failed", words)
    return good, found


def assert_as_done_here(jobs: Sequence[Job], found: Mapping[str, JobResult]) -> None:
    """Fails where a run is not the one that this process makes of its job, with one thread."""
    for job in jobs:
        assert Run.read(job.path).environment()[0]["threads"] == 1
        other = replace(job, name=f"other/{job.name}", threads=1)
        assert run_job(other).state == found[job.name].state
        assert [row | {"seconds": 0} for row in Run.read(job.path).metrics()] == [
            row | {"seconds": 0} for row in Run.read(other.path).metrics()
        ]
        if found[job.name].state == "finished":
            assert digest(job.path) == digest(other.path)


def when_saved(path: Path, act: Callable[[], None]) -> Thread:
    """Does something as soon as a running search has a checkpoint."""

    def is_saved() -> bool:
        running = is_run(path) and Run.read(path).state == "running"
        return running and bool(list_checkpoints(path / "checkpoints"))

    def watch() -> None:
        until = time.monotonic() + PATIENCE
        while not is_saved() and time.monotonic() < until:
            time.sleep(0.02)
        act()

    thread = Thread(target=watch)
    thread.start()
    return thread
