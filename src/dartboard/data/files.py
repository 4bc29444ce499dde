"""Reading the files of data sets: archives, gzip, labeled arrays."""

import gzip
import lzma
import tarfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dartboard.data.dataset import ImageSet
from dartboard.errors import DataError

LabeledArrays = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Pixels [N, C, H, W] and labels [N]."""

LARGEST_MEMBER = 10**9
"""Larger files in an archive belong to no data set that is read at once."""
TAR_EXTENSIONS = (".tar.gz", ".tgz", ".tar")
"""File name endings of archives that `read_files` reads, in lower case."""


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
