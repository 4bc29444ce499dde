"""Processes that are really killed, at random moments, and what is left of them."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from types import ModuleType

from dartboard.runs import Run, list_checkpoints

PATIENCE = 120
"""A process that takes so many seconds is stuck."""


@contextmanager
def running_process(command, **how):
    """A process that does not outlive the block, whatever happens in it."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, **how)
    watchdog = Timer(PATIENCE, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Kill:
    """A moment at which a process was killed.

    Args:
        place: The last place it said it was at.
        saved: The step of the newest checkpoint; 0 if there was none.
    """

    place: str
    saved: int


@dataclass(frozen=True)
class Victim:
    """A script whose processes are there to be killed.

    Args:
        module: The script, which takes a run's directory, a kind, and the places after which it holds.
        words: More that it takes.
    """

    module: ModuleType
    words: tuple[str, ...] = ()

    def start(self, path, kind, places=0):
        """A process that holds after so many places, or never."""
        return running_process([sys.executable, self.module.__file__, path, kind, places, *self.words])

    def kill(self, path, kind, rng, most):
        """Kills a process at a random moment after a random place, well before its end.

        Args:
            path: Its run.
            kind: What it does.
            rng: Says when.
            most: The last place after which it is killed.
        """
        places, pause = rng.randint(1, most), rng.uniform(0, 0.1)
        with self.start(path, kind, places + 2 if most > 1 else 1) as process:
            said = [process.stdout.readline().strip() for _ in range(places)]
            time.sleep(pause)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        assert all(said)
        run = Run.read(path)
        assert run.state == "stopped"
        assert run.result() is None
        saved = [int(own.name[5:15]) for own in list_checkpoints(path / "checkpoints")]
        return Kill(said[-1], max(saved, default=0))

    def finish(self, path, kind):
        """Lets a process go to its end; returns the places it came to."""
        with self.start(path, kind) as process:
            said, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
        return said.splitlines()


def run_record(path):
    """All that a finished run says, but for the time it took."""
    run = Run.read(path)
    assert run.state == "finished"
    rows = [{**row, "seconds": 0} for row in run.metrics()]
    return {
        "result": {**run.result(), "seconds": 0},
        "metrics": rows,
        "epochs": [run.epoch(row["epoch"]) for row in rows],
    }


def undisturbed_record(make, record=run_record):
    """The record of a run that nobody kills.

    Args:
        make: The loop of a run.
        record: Reads all that is to be the same.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with Run.create(path, {}) as run:
            make(run).fit()
        return record(path)
