"""A lock for the writer of a run, which the operating system releases when the process ends."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Self

from dartboard.errors import RunInUseError
from dartboard.utils.file_lock import try_lock, unlock
from dartboard.utils.safe_files import open_handle

LOCK = "lock"
_TRIES, _PAUSE = 5, 0.04  # `is_locked` holds the lock for a moment


class Lock:
    """An exclusive lock on the directory of a run, taken with `with` or `take`.

    It is held until it is released or the process ends. The file stays; only the flock on it counts.
    A forked process does not inherit it, so workers that outlive a killed run do not keep it.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self._handle: int | None = None

    def take(self) -> None:
        """Takes the lock.

        Raises:
            RunInUseError: If a process holds it, this one included.
        """
        handle = open_handle(self.run / LOCK, os.O_RDWR | os.O_CREAT, root=self.run)
        for _ in range(_TRIES):
            if try_lock(handle):
                break
            time.sleep(_PAUSE)
        else:
            holder = _read_holder(handle)
            os.close(handle)
            raise RunInUseError(f"{self.run} is in use by {holder}; wait for it or stop it")
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, f"{holder}\n".encode())
        self._handle = handle
        _close_in_forks()
        _held.add(self)

    def release(self) -> None:
        """Releases the lock, if it is held."""
        if self._handle is not None:
            unlock(self._handle)
            self._close()

    def _close(self) -> None:
        """Closes the file; the lock stays with the processes that still have it open."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
            _held.discard(self)

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_locked(run: Path) -> bool:
    """Whether a process holds the lock of a run."""
    try:
        handle = open_handle(run / LOCK, os.O_RDONLY, root=run)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(handle, shared=True)
    finally:
        os.close(handle)


_held: set[Lock] = set()


@cache  # once a process, and not before it holds a lock
def _close_in_forks() -> None:
    def close_all() -> None:
        for lock in list(_held):
            lock._close()

    if hasattr(os, "register_at_fork"):  # Windows does not fork
        os.register_at_fork(after_in_child=close_all)


def _read_holder(handle: int) -> str:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        holder = json.loads(os.read(handle, 4096))
        return f"process {holder['pid']} on host {holder['host']} since {holder['since']}"
    except (ValueError, KeyError, TypeError):  # not written yet, or edited
        return "another process"


@contextmanager
def lock_unless_failed(run: Path) -> Iterator[Lock]:
    """Takes the lock of a run; it is released only if the block fails."""
    lock = Lock(run)
    lock.take()
    try:
        yield lock
    except BaseException:
        lock.release()
        raise
