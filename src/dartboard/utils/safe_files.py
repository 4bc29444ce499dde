"""Reading files that somebody else may have made: regular ones alone, of a limited size, inside a folder.

A named pipe in the place of a file would block its reader for ever, a link could show it any file of the
machine, and a sparse file of a terabyte would fill its memory. All three are refused before anything is read.
"""

import os
import stat
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import BinaryIO, NoReturn

from dartboard.errors import UnsafeFileError

TEXT_LIMIT = 64 * 2**20
"""Largest size in bytes of a text: settings, metrics, results."""
WEIGHTS_LIMIT = 4 * 2**30
"""Largest size in bytes of a file with weights."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
# Windows has no such flags, and no named pipes in folders.
_FLAGS = sum({getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")})


def open_file(path: str | Path, *, root: Path | None = None, limit: int = TEXT_LIMIT) -> BinaryIO:
    """An open file, ready to be read, which never blocks.

    Args:
        path: The file.
        root: Folder that it must be in once all links are followed; None for anywhere, as of a file that the
            user has named.
        limit: Largest size in bytes.

    Raises:
        FileNotFoundError: If there is none.
        UnsafeFileError: If it is no regular file, too large, or outside of `root`.
    """
    return os.fdopen(open_handle(path, os.O_RDONLY, root=root, limit=limit), "rb")


def open_handle(
    path: str | Path, flags: int, *, root: Path | None = None, limit: int | None = TEXT_LIMIT
) -> int:
    """The file descriptor of a regular file, opened with these flags; raises as `open_file`."""
    real = os.path.realpath(path)
    if root is not None:
        _check_inside(path, real, root)
    try:
        handle = os.open(real, flags | _FLAGS, 0o666)
    except FileNotFoundError as error:
        if os.path.lexists(path):  # a link to nothing
            raise UnsafeFileError(f"{path} is a link to {real}, which does not exist") from None
        error.filename = str(path)
        raise
    except OSError as error:
        if (kind := _kind(real)) is not None:  # sockets, and folders on some systems, cannot be opened
            raise UnsafeFileError(f"{path} is {kind}, not a file") from None
        error.filename = str(path)
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeFileError(
                f"{path} is {_KINDS.get(stat.S_IFMT(status.st_mode), 'special')}, not a file"
            )
        if limit is not None and status.st_size > limit:
            raise UnsafeFileError(
                f"{path} has {status.st_size:,} bytes, more than the {limit:,} that are read of such a file"
            )
    except BaseException:
        os.close(handle)
        raise
    return handle


def read_file(path: str | Path, *, root: Path | None = None, limit: int = TEXT_LIMIT) -> bytes:
    """The contents of a file; arguments and errors are those of `open_file`."""
    with open_file(path, root=root, limit=limit) as file:
        return file.read(limit)


class SourceLoader(SourceFileLoader):
    """Loads a Python module from a file that `open_file` takes, and never from bytecode beside it."""

    def get_data(self, path: str) -> bytes:
        return read_file(path)

    def path_stats(self, path: str) -> NoReturn:
        raise OSError(f"{path}: its bytecode is not cached")


def check_folder(path: Path, root: Path) -> None:
    """Refuses a folder that is a link out of `root`, or no folder; one that does not exist is fine.

    Raises:
        UnsafeFileError: If files in it would be elsewhere.
    """
    _check_inside(path, os.path.realpath(path), root)
    if os.path.lexists(path) and not path.is_dir():
        raise UnsafeFileError(f"{path} is not a folder; move it away")


def _check_inside(path: str | Path, real: str, root: Path) -> None:
    inside = os.path.realpath(root)
    if os.path.commonpath([real, inside]) != inside:
        raise UnsafeFileError(f"{path} is a link out of {root}, to {real}; it is not followed")


def _kind(path: str) -> str | None:
    """What a path is that is no regular file; None if it is one, or cannot be examined."""
    try:
        return _KINDS.get(stat.S_IFMT(Path(path).stat().st_mode))
    except OSError:
        return None
