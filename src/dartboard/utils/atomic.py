"""Files and directories that are there whole or not at all, whenever the writer is killed.

Everything is written under a temporary name in the same folder, forced to disk and then renamed. What a
killed writer leaves is a thing with a temporary name, which `remove_leftovers` removes.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OLD = ".old"
"""Ending of a directory that is about to be replaced; it counts as long as there is none without it."""

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")


def write_text(path: Path, text: str) -> None:
    """Puts a text, in UTF-8, in the place of the file, if there is one."""
    write_bytes(path, text.encode())


def write_changed(path: Path, text: str) -> None:
    """As `write_text`, unless that is what the file says already."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def write_first(path: Path, text: str) -> None:
    """Writes a text, in UTF-8, unless there is such a file already: the first of several writers counts."""
    temporary = _temporary(path)
    try:
        _write(temporary, path, text.encode())
        try:
            os.link(temporary, path)  # unlike a move it never takes the place of another's
        except FileExistsError:
            pass
        except OSError:  # there are file systems without links
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Puts bytes in the place of the file, if there is one; if that fails the file is as it was."""
    temporary = _temporary(path)
    try:
        _write(temporary, path, data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """Lends an empty directory that becomes `path` when the block ends, and is removed if it fails.

    A directory that is there already is first renamed to its name with `.old`, and removed once the new
    one is in its place.
    """
    temporary = _temporary(path)
    temporary.mkdir()
    try:
        with _naming(path):
            yield temporary
            _sync_all(temporary)
        _swap_in(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def discard(path: Path) -> None:
    """Removes a directory; it is gone under its own name before the first of its files is."""
    temporary = _temporary(path)
    path.rename(temporary)
    shutil.rmtree(temporary)


def remove_leftovers(folder: Path) -> None:
    """Removes what killed writers left in a folder; nobody else may be writing there."""
    for path in folder.iterdir():
        if is_leftover(path):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def is_leftover(path: Path) -> bool:
    """Whether a thing has a temporary name."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _write(temporary: Path, path: Path, data: bytes) -> None:
    """Forces bytes to disk under a temporary name; errors name the file that is meant."""
    with _naming(path), temporary.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def _swap_in(new: Path, path: Path) -> None:
    old = path.with_name(path.name + OLD)
    if path.exists():
        if old.exists():
            discard(old)
        path.rename(old)
    new.rename(path)
    _sync(path.parent)
    if old.exists():
        discard(old)


def _sync_all(folder: Path) -> None:
    """Forces a directory and everything in it to disk."""
    for inner in folder.rglob("*"):
        _sync(inner)
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        with _naming(path):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of the system name the file they are about; a full disk would not, others a temporary name."""
    try:
        yield
    except OSError as error:
        if error.filename is None or is_leftover(Path(error.filename)):
            error.filename = str(path)
        raise
