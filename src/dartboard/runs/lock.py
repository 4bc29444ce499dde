"""One writer a run: a lock that the system itself releases when its holder dies."""

import fcntl
import json
import os
import socket
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

from dartboard.errors import RunInUseError

NAME = "lock"
_TRIES, _PAUSE = 5, 0.04  # a look at the lock by `is_locked` holds it for a moment


class Lock:
    """The right to write to a run, taken with `with` or `take`.

    It is held until it is released or the process ends. The file stays; what counts is the system's lock
    on it. A forked process does not inherit it, so workers that outlive a killed run do not keep it.

    Args:
        run: Directory of the run.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self._handle: int | None = None

    def take(self) -> None:
        """Takes the lock.

        Raises:
            RunInUseError: If somebody holds it, this process included.
        """
        handle = os.open(self.run / NAME, os.O_RDWR | os.O_CREAT, 0o666)
        if not _try_lock(handle):
            holder = _holder(handle)
            os.close(handle)
            raise RunInUseError(f"{self.run} is in use by {holder}; wait for it or stop it")
        os.ftruncate(handle, 0)
        os.pwrite(handle, _signature().encode(), 0)
        self._handle = handle
        _forget_in_forks()
        _taken.add(self)

    def release(self) -> None:
        """Releases the lock, if it is held."""
        if self._handle is not None:
            fcntl.flock(self._handle, fcntl.LOCK_UN)
            self._forget()

    def _forget(self) -> None:
        """Closes the file; the lock stays with the processes that have it open still."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
            _taken.discard(self)

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_locked(run: Path) -> bool:
    """Whether somebody holds the lock of a run."""
    try:
        handle = os.open(run / NAME, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


_taken: set[Lock] = set()


@cache
def _forget_in_forks() -> None:
    os.register_at_fork(after_in_child=_forget_all)


def _forget_all() -> None:
    for lock in list(_taken):
        lock._forget()


def _try_lock(handle: int) -> bool:
    for _ in range(_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        else:
            return True
    return False


def _signature() -> str:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}) + "\n"


def _holder(handle: int) -> str:
    try:
        said = json.loads(os.pread(handle, 4096, 0))
        return f"process {said['pid']} on host {said['host']} since {said['since']}"
    except (ValueError, KeyError, TypeError):  # it has only just been taken, or was edited
        return "another process"
