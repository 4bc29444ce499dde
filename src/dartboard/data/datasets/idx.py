"""MNIST and the sets that are published in its form, idx."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dartboard.data.dataset import Dataset, ImageSet
from dartboard.data.datasets.archive_files import about, naming, read_file
from dartboard.data.datasets.arrays import join, pair
from dartboard.data.datasets.downloads import DOWNLOADS
from dartboard.errors import DataError

IMAGES, LABELS = 0x803, 0x801
"""The first four bytes of a file: unsigned bytes in three axes or in one."""
PARTS = {"train": "train", "test": "t10k"}
NAMES = ("{}-images-idx3-ubyte", "{}-labels-idx1-ubyte")
INSIDE = (".", "raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw")
"""Folders in which other programs put the files."""
FIRST = {
    "mnist": (5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7, 2, 8, 6, 9),
    "fashion-mnist": (9, 0, 0, 3, 0, 2, 7, 2, 5, 5, 0, 9, 5, 5, 7, 9, 1, 0, 6, 4),
}
"""The first labels to train on, by which sets are told apart."""
WORDS = {"fashion": "fashion-mnist", "kmnist": "kmnist", "kuzushiji": "kmnist", "mnist": "mnist"}
"""What the path of a set has in it, the first that fits winning."""


def find_idx(folder: Path) -> Path | None:
    """The folder in which the files are, or nothing."""
    places = (folder / name for name in INSIDE)
    return next((place for place in places if _file(place, NAMES[0].format("train"))), None)


def which_idx(folder: Path) -> str | None:
    """The name of the set in a folder of idx files; None if nothing tells.

    That is told by the training labels: by the checksum of their file where it is packed as it is published,
    by the first of them where these are known, else by words in the folder's path.
    """
    file = _found(folder, NAMES[1].format("train"))
    with naming(file):
        md5 = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
    first = tuple(_read(file, LABELS)[: len(FIRST["mnist"])].tolist())
    same = (name for name in WORDS.values() if DOWNLOADS[name][1].md5 == md5 or FIRST.get(name) == first)
    path = str(folder.resolve()).lower()
    return next(same, None) or next((name for word, name in WORDS.items() if word in path), None)


def read_idx(folder: Path, name: str, classes: tuple[str, ...]) -> Dataset:
    """The set in a folder of idx files, plain or packed by gzip.

    Raises:
        DataError: If a file is missing, damaged or of another kind.
    """
    train, test = (_part(folder, part, len(classes)) for part in PARTS.values())
    return Dataset(name, classes, train, test)


def _part(folder: Path, part: str, classes: int) -> ImageSet:
    images, labels = (_found(folder, name.format(part)) for name in NAMES)
    pixels = _read(images, IMAGES)
    numbers = _read(labels, LABELS)
    with about(labels):
        return join([pair(pixels[:, None], numbers, classes)])


def _read(file: Path, magic: int) -> NDArray[np.uint8]:
    data = read_file(file)
    with about(file):
        return parse(data, magic)


def _file(folder: Path, name: str) -> Path | None:
    """A file of this name, or with a dot for its last dash as some have it, plain or packed."""
    names = (name, name.replace("-idx", ".idx"))
    candidates = (folder / f"{own}{end}" for own in names for end in ("", ".gz"))
    return next((file for file in candidates if file.is_file()), None)


def _found(folder: Path, name: str) -> Path:
    file = _file(folder, name)
    if file is None:
        raise DataError(f"{folder}: has no {name} or {name}.gz")
    return file


def parse(data: bytes, magic: int) -> NDArray[np.uint8]:
    """The array in an idx file: a number for its kind, one for each size, then its bytes."""
    axes = magic & 0xFF
    header = np.frombuffer(data[: 4 + 4 * axes], ">u4") if len(data) >= 4 + 4 * axes else np.zeros(1, ">u4")
    if header[0] != magic:
        raise DataError(
            f"is no idx file of bytes in {axes} axes: it begins with {data[:4].hex() or 'nothing'}, "
            f"not {magic:08x}"
        )
    sizes = [int(size) for size in header[1:]]
    needed, there = int(np.prod(sizes, dtype=object)), len(data) - 4 - 4 * axes
    if there != needed:
        raise DataError(
            f"has {there:,} bytes of the {needed:,} that its header says; it is cut short or damaged"
        )
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(sizes)
