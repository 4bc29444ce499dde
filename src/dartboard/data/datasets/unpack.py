"""Archives as folders that are there whole or not at all."""

import gzip
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from dartboard.errors import DataError
from dartboard.utils.progress import Progress

DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,
    ValueError,
)


def unpack(archive: Path, folder: Path, top: str | None, tell: Progress) -> None:
    """Makes a folder of the files in a .tar.gz or .zip, in the place of the one that is there.

    Args:
        archive: The file to unpack.
        folder: What it becomes.
        top: Only what is in a folder of this name in the archive is kept; None for everything.
        tell: Is told how much of the archive has been read.

    Raises:
        DataError: If the archive is damaged, would write outside of the folder, or finds no room there.
    """
    fresh = folder.with_name(f".{folder.name}.unpacking")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        _write_all(archive, fresh, top, tell)
        if not any(fresh.iterdir()):
            raise DataError(f"{archive}: has no files{f' in a folder {top!r}' if top else ''}")
        os.sync()
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    except DataError:
        raise
    except DAMAGED as error:
        raise DataError(f"{archive}: is damaged or cut short ({error}); remove it and get it again") from None
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error.strerror or error})") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write_all(archive: Path, fresh: Path, top: str | None, tell: Progress) -> None:
    total = archive.stat().st_size
    with archive.open("rb") as raw:
        members = _from_zip(raw) if archive.suffix.lower() == ".zip" else _from_tar(raw)
        for name, content in members:
            tell(f"unpacking {archive.name}", min(raw.tell(), total), total)
            place = _place(archive, name, top)
            if place is not None:
                _write(fresh / place, content)


def _place(archive: Path, name: str, top: str | None) -> PurePosixPath | None:
    """Where a member goes in the folder; None if it is left out."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{archive}: refused: it would write {name!r} outside of its folder")
    if top is None:
        return path
    if top not in path.parts[:-1]:
        return None
    return PurePosixPath(*path.parts[path.parts.index(top) + 1 :])


def _write(path: Path, content: IO[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(content, file)


def _from_tar(raw: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each file; links, which could lead anywhere, are left out."""
    with tarfile.open(fileobj=raw) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content


def _from_zip(raw: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(raw) as archive:
        for member in archive.infolist():
            if member.flag_bits & 1:
                raise zipfile.BadZipFile("it needs a password")
            if not member.is_dir():
                with archive.open(member) as content:
                    yield member.filename, content
