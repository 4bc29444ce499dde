"""Processes that are really killed, at random moments, and what is left of them."""

import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer

from dartboard.runs import Run, list_checkpoints

PATIENCE = 120
"""A process that takes so many seconds is stuck."""


@contextmanager
def started(command, **how):
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


def kill(path, victim, rng, most):
    """Kills a process at a random moment after a random place, well before its end.

    Args:
        path: Its run.
        victim: Starts it, so that it holds after so many places.
        rng: Says when.
        most: The last place after which it is killed.
    """
    places, pause = rng.randint(1, most), rng.uniform(0, 0.1)
    with victim(places + 2 if most > 1 else 1) as process:
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


def story(path):
    """All that a finished run says, but for the time it took."""
    run = Run.read(path)
    assert run.state == "finished"
    rows = [{**row, "seconds": 0} for row in run.metrics()]
    return {
        "result": {**run.result(), "seconds": 0},
        "metrics": rows,
        "epochs": [run.epoch(row["epoch"]) for row in rows],
    }
