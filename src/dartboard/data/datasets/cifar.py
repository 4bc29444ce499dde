"""CIFAR-10 and CIFAR-100 as their author publishes them: binary, or pickled by Python."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dartboard.data.dataset import Dataset
from dartboard.data.datasets.archive_files import about, is_archive, names_in, read_bundle
from dartboard.data.datasets.arrays import Arrays, join, pair
from dartboard.errors import DataError
from dartboard.utils.unpickler import read_arrays

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Version:
    """How one of the sets is laid out in files.

    Args:
        train: Names of the files with training images.
        test: Name of the file with test images.
        names: Name of the file with the names of the classes.
        classes: How many there are.
        before: Bytes before the pixels of an image, of which the last is its label; 0 if pickled.
        labels: Name of the labels in a pickle.
        meta: Name of the classes' names in a pickle.
    """

    train: tuple[str, ...]
    test: str
    names: str
    classes: int
    before: int = 0
    labels: str = ""
    meta: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """All names."""
        return (*self.train, self.test, self.names)


CIFAR10 = (
    Version(tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin", "batches.meta.txt", 10, 1),
    Version(
        tuple(f"data_batch_{n}" for n in range(1, 6)),
        "test_batch",
        "batches.meta",
        10,
        labels="labels",
        meta="label_names",
    ),
)
CIFAR100 = (
    Version(("train.bin",), "test.bin", "fine_label_names.txt", 100, 2),
    Version(("train",), "test", "meta", 100, labels="fine_labels", meta="fine_label_names"),
)
ARCHIVES = {
    CIFAR10: ("cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"),
    CIFAR100: ("cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"),
}
FOLDERS = {
    CIFAR10: ("cifar-10-batches-bin", "cifar-10-batches-py"),
    CIFAR100: ("cifar-100-binary", "cifar-100-python"),
}


def find_cifar(folder: Path, versions: tuple[Version, Version]) -> Path | None:
    """Where the files of a set are: the folder, the publisher's folder or archive in it, or nowhere."""
    for place in (folder, *(folder / name for name in FOLDERS[versions])):
        if any(
            (place / version.train[0]).is_file() and (place / version.names).is_file() for version in versions
        ):
            return place
    return next((folder / name for name in ARCHIVES[versions] if (folder / name).is_file()), None)


def read_cifar(path: Path, versions: tuple[Version, Version], name: str) -> Dataset:
    """The set in a folder or an archive.

    Raises:
        DataError: If a file is missing, damaged or of another kind.
    """
    names = names_in(path)
    version = next((version for version in versions if version.names in names), versions[0])
    found = read_bundle(path, version.files)
    pieces = {}
    for file in (*version.train, version.test):
        with about(path / file):
            pieces[file] = _binary(found[file], version) if version.before else _pickled(found[file], version)
    with about(path / version.names):
        classes = _classes(found[version.names], version)
    train = join([pieces[file] for file in version.train])
    return Dataset(name, classes, train, join([pieces[version.test]]))


def _binary(data: bytes, version: Version) -> Arrays:
    """Images and labels of a file of records: labels, then pixels channel by channel."""
    record = version.before + PIXELS
    if not data or len(data) % record:
        raise DataError(
            f"{len(data):,} bytes are no whole number of records of {record:,}; the file is cut short or "
            "another one"
        )
    rows = np.frombuffer(data, np.uint8).reshape(-1, record)
    return pair(rows[:, version.before :].reshape(-1, *SHAPE), rows[:, version.before - 1], version.classes)


def _pickled(data: bytes, version: Version) -> Arrays:
    found = read_arrays(BytesIO(data), DataError)
    pixels = _entry(found, "data")
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != PIXELS:
        raise DataError(f"its data is no array of shape [N, {PIXELS}]")
    return pair(pixels.reshape(-1, *SHAPE), _entry(found, version.labels), version.classes)


def _entry(found: dict[str, Any], name: str) -> Any:
    if name not in found:
        raise DataError(f"has no {name!r}; it has {', '.join(found) or 'nothing'}")
    return found[name]


def _classes(data: bytes, version: Version) -> tuple[str, ...]:
    """The names of the classes: lines of text, or a pickled list."""
    lines = (
        data.splitlines() if version.before else _entry(read_arrays(BytesIO(data), DataError), version.meta)
    )
    names = tuple(name for name in map(_text, lines if isinstance(lines, list) else [lines]) if name)
    if len(names) != version.classes:
        raise DataError(f"has the names of {len(names)} classes, not of {version.classes}")
    return names


def _text(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if not isinstance(value, str) or "\ufffd" in value:
        raise DataError("the names of the classes are no texts")
    return value.strip()


def which_cifar(path: Path) -> tuple[Version, Version]:
    """The set that an archive has.

    Raises:
        DataError: If it has neither.
    """
    names = names_in(path) if is_archive(path) else set()
    for versions in (CIFAR10, CIFAR100):
        if any({version.train[0], version.names} <= names for version in versions):
            return versions
    raise DataError(f"{path}: is no archive of CIFAR-10 or CIFAR-100; unpack it and give the folder")
