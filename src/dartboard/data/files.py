"""RunReader the files of data sets: archives, gzip, labeled arrays; and unpacking archives to folders."""

import gzip
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray

from dartboard.data.dataset import ImageSet
from dartboard.errors import DataError
from dartboard.utils.progress import Progress

LabeledArrays = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Pixels [N, C, H, W] and labels [N]."""

LARGEST_MEMBER = 10**9
"""Larger files in an archive belong to no data set that is read at once."""
TAR_EXTENSIONS = (".tar.gz", ".tgz", ".tar")
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
"""What unpacking a damaged archive raises."""


@contextmanager
def read_errors(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into a DataError that names the file."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path}: is damaged or cut short ({error})") from None


@contextmanager
def content_errors(path: Path) -> Iterator[None]:
    """Prefix the message of a DataError about a file's content with the name of the file."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def is_tar(path: Path) -> bool:
    """Whether a file is named like an archive that `read_files` reads."""
    return path.name.lower().endswith(TAR_EXTENSIONS)


def file_names(path: Path) -> set[str]:
    """Names of the files in a folder, or, without their folders, in a tar archive."""
    with read_errors(path):
        if path.is_dir():
            return {file.name for file in path.iterdir()}
        with tarfile.open(path) as archive:
            return {Path(member.name).name for member in archive if member.isfile()}


def read_files(path: Path, names: Collection[str]) -> dict[str, bytes]:
    """Contents of the named files in a folder or a tar archive, which is read once from start to end.

    Raises:
        DataError: If one is missing or cannot be read.
    """
    contents = {}
    with read_errors(path):
        if path.is_dir():
            contents = {name: read_file(path / name) for name in names}
        else:
            with tarfile.open(path) as archive:
                for member in archive:
                    name = Path(member.name).name
                    if member.isfile() and name in names:
                        if member.size > LARGEST_MEMBER:
                            raise DataError(f"{path}: {name} has {member.size:,} bytes, far too many")
                        file = archive.extractfile(member)
                        contents[name] = file.read() if file else b""
    if missing := sorted(set(names) - set(contents)):
        raise DataError(f"{path}: has no {', '.join(missing)}")
    return contents


def read_file(path: Path) -> bytes:
    """Content of a file, decompressed if it is a .gz.

    Raises:
        DataError: If the file is missing, cannot be read, or is cut short.
    """
    with read_errors(path):
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix.lower() == ".gz" else data


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not empty."""
    text = read_file(path).decode(errors="replace")
    return [line for line in text.splitlines() if line.strip()]


def is_relative_inside(path: str) -> bool:
    """Whether a path from a text file stays within its folder."""
    return not path.startswith("/") and ".." not in path.split("/")


def labeled_arrays(pixels: NDArray[Any], labels: object, classes: int) -> LabeledArrays:
    """Checked pixels [N, C, H, W] and labels, whole numbers from 0.

    Raises:
        DataError: If they are of another type, not equally many, or a label is out of range.
    """
    if pixels.dtype != np.uint8:
        raise DataError(f"pixels are {pixels.dtype}, not uint8")
    numbers = label_array(labels)
    if len(pixels) != len(numbers):
        raise DataError(f"there are {len(pixels):,} images but {len(numbers):,} labels")
    wrong = numbers[(numbers < 0) | (numbers >= classes)]
    if len(wrong):
        raise DataError(f"there is a label {wrong[0]}; {classes} classes are numbered 0 to {classes - 1}")
    return pixels, numbers


def label_array(labels: object) -> NDArray[np.int64]:
    """Labels [N] from an array or a list of whole numbers; nested lists, possibly endless, are refused."""
    if isinstance(labels, list) and not all(isinstance(label, int) for label in labels):
        raise DataError("labels are a list of something else than whole numbers")
    if not isinstance(labels, list | np.ndarray):
        raise DataError(f"labels are a {type(labels).__name__}, not whole numbers [N]")
    array = np.asarray(labels)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise DataError(f"labels are {array.dtype} of shape {list(array.shape)}, not whole numbers [N]")
    return array.astype(np.int64)


def concatenate(pieces: Sequence[LabeledArrays]) -> ImageSet:
    """One set from the arrays of several files."""
    pixels = np.concatenate([pixels for pixels, _ in pieces])
    labels = np.concatenate([labels for _, labels in pieces])
    return ImageSet(torch.from_numpy(pixels), torch.from_numpy(labels))


def unpack(archive: Path, folder: Path, top: str | None, progress: Progress) -> None:
    """Replace a folder by the files in a .tar.gz or .zip, completely or not at all.

    Args:
        archive: The file to unpack.
        folder: The folder to create.
        top: Keep only the content of a folder of this name in the archive; None keeps everything.
        progress: Called with how much of the archive has been read.

    Raises:
        DataError: If the archive is damaged, would write outside of the folder, or the disk is full.
    """
    temporary = folder.with_name(f".{folder.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _extract(archive, temporary, top, progress)
        if not any(temporary.iterdir()):
            raise DataError(f"{archive}: has no files{f' in a folder {top!r}' if top else ''}")
        os.sync()
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except DataError:
        raise
    except DAMAGED as error:
        raise DataError(f"{archive}: is damaged or cut short ({error}); remove it and get it again") from None
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error.strerror or error})") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _extract(archive: Path, folder: Path, top: str | None, progress: Progress) -> None:
    total = archive.stat().st_size
    with archive.open("rb") as raw:
        members = _zip_members(raw) if archive.suffix.lower() == ".zip" else _tar_members(raw)
        for name, content in members:
            progress(f"unpacking {archive.name}", min(raw.tell(), total), total)
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise DataError(f"{archive}: refused: it would write {name!r} outside of its folder")
            if top is not None:
                if top not in path.parts[:-1]:
                    continue
                path = PurePosixPath(*path.parts[path.parts.index(top) + 1 :])
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                shutil.copyfileobj(content, file)


def _tar_members(raw: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each file; links, which could lead anywhere, are left out."""
    with tarfile.open(fileobj=raw) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content


def _zip_members(raw: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each file."""
    with zipfile.ZipFile(raw) as archive:
        for member in archive.infolist():
            if member.flag_bits & 1:
                raise zipfile.BadZipFile("it needs a password")
            if not member.is_dir():
                with archive.open(member) as content:
                    yield member.filename, content
