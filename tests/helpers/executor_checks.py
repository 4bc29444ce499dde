"""Helpers of the tests of executors: jobs that are submitted, waited for, watched and disturbed."""

import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from dartboard.jobs.executors import Executor
from dartboard.jobs.job import Job, JobResult
from dartboard.plugins import load_plugin
from dartboard.runs import Run, is_run, list_checkpoints
from helpers.sweep_cases import digest, run_job, search_job, train_job

PATIENCE = 300
"""Seconds after which something is taken to be stuck."""
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
"""Settings of a search that runs until it is ended."""
PROCESS_EXECUTORS = [
    ("pool", {"jobs": 2, "threads": 1}),
    pytest.param("ray", {"jobs": 2, "threads": 1}, marks=pytest.mark.slow),
    pytest.param("slurm", {"cluster": "local", "jobs": 2, "poll": 0.1}, marks=pytest.mark.slow),
]
"""Name and options of every executor whose workers are processes that can be killed."""


def wait_until(done: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def submit_and_wait(executor: Executor, jobs: Sequence[Job]) -> dict[str, JobResult]:
    """Results of jobs that are all submitted now, by name."""
    for job in jobs:
        executor.submit(job)
    return wait_for_results(executor, len(jobs))


def wait_for_results(executor: Executor, count: int) -> dict[str, JobResult]:
    """Results of so many jobs that were submitted before, by name."""
    results: dict[str, JobResult] = {}

    def poll() -> bool:
        results.update({result.job.name: result for result in executor.completed(0.1)})
        return len(results) == count

    wait_until(poll)
    return results


def writer_pid(path: Path) -> int:
    """The process that writes to a run."""
    return int(json.loads((path / "lock").read_text())["pid"])


def is_resumable(path: Path) -> bool:
    """True if a run has a checkpoint and is not finished."""
    return is_run(path) and Run.read(path).state == "running" and bool(list_checkpoints(path / "checkpoints"))


def signal_writer(path: Path, number: signal.Signals = signal.SIGKILL) -> None:
    """Sends a signal to the process that writes to a run, as soon as the run has a checkpoint."""
    wait_until(lambda: is_resumable(path))
    os.kill(writer_pid(path), number)


def method_plugin(folder: Path, body: str = FAILS) -> tuple[str, str]:
    """The file, which is loaded, and the name of a method that does something at the end of each epoch."""
    path, name = folder / "own.py", f"own-{secrets.token_hex(4)}"
    path.write_text(METHOD.format(body=body, name=name))
    return load_plugin(path), name


def submit_good_and_bad(
    executor: Executor, folder: Path, data: str
) -> tuple[list[Job], dict[str, JobResult]]:
    """A search, the first epoch of a training and a search that fails; the good jobs and all results."""
    plugin, name = method_plugin(folder)
    good = [search_job(folder, data), replace(train_job(folder, data), until=1)]
    bad = search_job(folder, data, f"method={name}", name="bad", plugins=(plugin,))
    found = submit_and_wait(executor, [*good, bad])
    assert [found[job.name].state for job in good] == ["finished", "paused"]
    words = f"ZeroDivisionError: one line; see {bad.path}/log.txt"
    assert (found["bad"].state, found["bad"].error) == ("failed", words)
    return good, found


def assert_equals_inline(jobs: Sequence[Job], found: Mapping[str, JobResult]) -> None:
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
    """Calls a function, in a thread, as soon as a run has a checkpoint and is not finished."""

    def watch() -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_resumable(path) and time.monotonic() < deadline:
            time.sleep(0.02)
        act()

    thread = Thread(target=watch)
    thread.start()
    return thread
