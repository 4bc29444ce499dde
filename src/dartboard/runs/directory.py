"""Which directories are runs, which can become one, and taking one for oneself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from dartboard.errors import RunError
from dartboard.runs.lock import NAME as LOCK
from dartboard.runs.lock import Lock, is_locked
from dartboard.utils import atomic

CONFIG, ENVIRONMENT, SPACE = "config.yaml", "environment.json", "space.json"
METRICS, EPOCHS, CHECKPOINTS = "metrics.jsonl", "epochs", "checkpoints"
RESULT, LOG = "result.json", "log.txt"
SWEEP = "sweep.yaml"
"""The file that makes a directory a sweep's, whose runs are in folders inside it."""

State = Literal["finished", "running", "stopped"]

_SHOWN = 6  # runs that an error names


def is_run(path: Path) -> bool:
    """Whether a directory is a run: config.yaml is the last thing written when one is made."""
    return (path / CONFIG).is_file()


def state_of(path: Path) -> State:
    """`finished` with a result; without one `running` if somebody holds the lock, else `stopped`."""
    if (path / RESULT).exists():
        return "finished"
    return "running" if is_locked(path) else "stopped"


def check_run(path: Path) -> None:
    """Raises RunError, with the runs nearby, if a directory is no run."""
    if is_run(path):
        return
    if not path.is_dir():
        raise RunError(f"{path} is no run: there is no such directory")
    near = [str(other) for other in sorted(path.iterdir()) if is_run(other)]
    near += [str(path.absolute().parent)] if is_run(path.absolute().parent) else []
    rest = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    hint = f"; did you mean {', '.join(near[:_SHOWN])}{rest}?" if near else ""
    raise RunError(f"{path} is no run: it has no {CONFIG}{hint}")


def check_free(path: Path) -> None:
    """Raises RunError if no run can be made at `path`."""
    if is_run(path):
        raise RunError(
            f"{path} already holds a run; continue it with --resume {path} or choose another directory"
        )
    if path.exists() and not path.is_dir():
        raise RunError(f"{path} is a file; choose another directory")
    if path.is_dir() and (foreign := _foreign(path)):
        raise RunError(f"{path} is not empty: it holds {foreign[0]}; choose another directory")


def _foreign(path: Path) -> list[str]:
    """What is in a directory, except for what is left of a run whose maker was killed."""
    names = sorted(inner.name for inner in path.iterdir() if not atomic.is_leftover(inner))
    return [] if LOCK in names and {*names} <= {LOCK, SPACE, ENVIRONMENT} else names


@contextmanager
def taking(path: Path) -> Iterator[Lock]:
    """Takes the lock of a run; it is released only if the block fails."""
    lock = Lock(path)
    lock.take()
    try:
        yield lock
    except BaseException:
        lock.release()
        raise
