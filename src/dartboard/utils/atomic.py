"""Atomic writes: files and directories that are complete or absent, whenever the writer is killed.

Everything is written under a temporary name in the same folder, synced to disk and then renamed. A killed
writer leaves a file or directory with a temporary name behind, which `remove_leftovers` removes.
"""

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OLD = ".old"
"""Suffix of a directory that is being replaced; it is valid as long as there is none without the suffix."""

SHARED = 3600.0
"""Seconds after which a temporary file in a folder that several processes write to is a leftover."""

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp")


def write_text(path: Path, text: str) -> None:
    """Writes a text in UTF-8, replacing the file if there is one."""
    write_bytes(path, text.encode())


def write_changed(path: Path, text: str) -> None:
    """As `write_text`, unless the file has that text already."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)


def write_first(path: Path, text: str) -> None:
    """Writes a text in UTF-8 unless the file exists: the first of several writers wins."""
    temporary = _temporary(path)
    try:
        _write(temporary, path, text.encode())
        try:
            os.link(temporary, path)  # unlike a rename it never replaces a file
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            temporary.replace(path)
    finally:
        _remove(temporary)
    _sync(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Writes bytes, replacing the file if there is one; if that fails the file is unchanged."""
    temporary = _temporary(path)
    try:
        _write(temporary, path, data)
        temporary.replace(path)
    except BaseException:
        _remove(temporary)
        raise
    _sync(path.parent)


@contextmanager
def atomic_directory(path: Path) -> Iterator[Path]:
    """An empty temporary directory that becomes `path` when the block ends, and is removed if it fails.

    An existing directory is first renamed to its name with `.old`, and removed once the new one is in
    place.
    """
    temporary = _temporary(path)
    temporary.mkdir()
    try:
        with name_in_errors(path):
            yield temporary
            for inner in temporary.rglob("*"):
                _sync(inner)
            _sync(temporary)
        old = path.with_name(path.name + OLD)
        if path.exists():
            if old.exists():
                discard(old)
            path.rename(old)
        temporary.rename(path)
        _sync(path.parent)
        if old.exists():
            discard(old)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def discard(path: Path) -> None:
    """Removes a directory, after renaming it, so that it is never there in part."""
    temporary = _temporary(path)
    path.rename(temporary)
    shutil.rmtree(temporary)


def remove_leftovers(folder: Path, *, older_than: float = 0.0) -> None:
    """Removes what killed writers left in a folder, if there is one.

    Args:
        folder: The folder.
        older_than: Age in seconds below which they stay. At 0 no other process may be writing there; `SHARED`
            is more than a living one takes for a file.
    """
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if is_leftover(path) and (not older_than or time.time() - path.lstat().st_mtime > older_than):
            is_folder = path.is_dir() and not path.is_symlink()
            shutil.rmtree(path) if is_folder else path.unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Whether a path has a temporary name."""
    return _TEMPORARY.fullmatch(path.name) is not None


def _write(temporary: Path, path: Path, data: bytes) -> None:
    """Writes bytes under a temporary name and syncs them; errors name the final file."""
    with name_in_errors(path), temporary.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _remove(temporary: Path) -> None:
    """Removes a temporary file, if there is one; a disk that refuses that has refused the write before."""
    with suppress(OSError):
        temporary.unlink()


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        with name_in_errors(path):
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def name_in_errors(path: Path) -> Iterator[None]:
    """Sets the file name of system errors, which would be missing or temporary."""
    try:
        yield
    except OSError as error:
        if error.filename is None or is_leftover(Path(error.filename)):
            error.filename = str(path)
        raise
