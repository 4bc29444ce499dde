"""Locks on open files, by the means of the operating system, which releases them when a process ends."""

import os
import sys

_PLACE = 1 << 30
"""The byte that stands for the whole file on Windows, where what is locked cannot be read."""


def try_lock(handle: int, *, shared: bool = False) -> bool:
    """Locks an open file unless another process or handle has a lock that excludes it; does not wait.

    Args:
        handle: Descriptor of the file.
        shared: Admit others that ask for a shared lock; on Windows every lock is exclusive.

    Returns:
        Whether the lock was taken.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, _PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(handle: int) -> None:
    """Releases a lock of `try_lock`."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, _PLACE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)
