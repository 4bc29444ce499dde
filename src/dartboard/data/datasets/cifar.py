"""CIFAR-10 and CIFAR-100 as their author publishes them, binary or pickled by Python; and CINIC-10 (Darlow et
al. 2018), images of CIFAR-10 and ImageNet in the classes of CIFAR-10.
"""

from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from dartboard.data.dataset import Dataset, LoadOptions
from dartboard.data.datasets.folder import read_folder
from dartboard.data.files import (
    TAR_EXTENSIONS,
    LabeledArrays,
    concatenate,
    content_errors,
    file_names,
    labeled_arrays,
    read_files,
)
from dartboard.data.registry import READERS, Download, PublishedDataset, find_paths, register_published
from dartboard.errors import DataError
from dartboard.utils.unpickler import read_arrays

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
SITE = "https://www.cs.toronto.edu/~kriz/"
CINIC10_URL = "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz"


@dataclass(frozen=True)
class FileLayout:
    """The files of one published version, binary or pickled.

    Args:
        train: Names of the files with training images.
        test: Name of the file with test images.
        names: Name of the file with the class names.
        header: Bytes before the pixels of a binary image, the last of which is its label; 0 if pickled.
        labels: Key of the labels in a pickle.
        meta: Key of the class names in a pickle.
    """

    train: tuple[str, ...]
    test: str
    names: str
    header: int = 0
    labels: str = ""
    meta: str = ""


@dataclass(frozen=True)
class Cifar:
    """CIFAR-10 or CIFAR-100: its number of classes, and the layouts of its two published versions, with the
    names of their archives and of the folders in these.
    """

    name: str
    classes: int
    layouts: tuple[FileLayout, FileLayout]
    archives: tuple[str, str]
    folders: tuple[str, str]


CIFAR10 = Cifar(
    "cifar10",
    10,
    (
        FileLayout(
            tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin", "batches.meta.txt", 1
        ),
        FileLayout(
            tuple(f"data_batch_{n}" for n in range(1, 6)),
            "test_batch",
            "batches.meta",
            labels="labels",
            meta="label_names",
        ),
    ),
    ("cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"),
    ("cifar-10-batches-bin", "cifar-10-batches-py"),
)
CIFAR100 = Cifar(
    "cifar100",
    100,
    (
        FileLayout(("train.bin",), "test.bin", "fine_label_names.txt", 2),
        FileLayout(("train",), "test", "meta", labels="fine_labels", meta="fine_label_names"),
    ),
    ("cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"),
    ("cifar-100-binary", "cifar-100-python"),
)


def find_cifar(cifar: Cifar, folder: Path) -> Path | None:
    """Where the files of a set are: the folder, the publisher's folder or archive in it, or nowhere."""
    for place in (folder, *(folder / name for name in cifar.folders)):
        if any(
            (place / files.train[0]).is_file() and (place / files.names).is_file() for files in cifar.layouts
        ):
            return place
    return next((folder / name for name in cifar.archives if (folder / name).is_file()), None)


def read_cifar(cifar: Cifar, path: Path, _: LoadOptions) -> Dataset:
    """The set in a folder or an archive."""
    names = file_names(path)
    layout = next((layout for layout in cifar.layouts if layout.names in names), cifar.layouts[0])
    contents = read_files(path, (*layout.train, layout.test, layout.names))
    read = _read_binary if layout.header else _read_pickle
    arrays = {}
    for file in (*layout.train, layout.test):
        with content_errors(path / file):
            arrays[file] = read(contents[file], layout, cifar.classes)
    with content_errors(path / layout.names):
        classes = _read_class_names(contents[layout.names], layout, cifar.classes)
    train = concatenate([arrays[file] for file in layout.train])
    return Dataset(cifar.name, classes, train, concatenate([arrays[layout.test]]))


def _read_binary(data: bytes, layout: FileLayout, classes: int) -> LabeledArrays:
    """Images and labels of a file of records: labels, then pixels channel by channel."""
    record = layout.header + PIXELS
    if not data or len(data) % record:
        raise DataError(
            f"{len(data):,} bytes are not a whole number of records of {record:,}; the file is cut short or "
            "another one"
        )
    rows = np.frombuffer(data, np.uint8).reshape(-1, record)
    return labeled_arrays(rows[:, layout.header :].reshape(-1, *SHAPE), rows[:, layout.header - 1], classes)


def _read_pickle(data: bytes, layout: FileLayout, classes: int) -> LabeledArrays:
    """Images and labels of a pickled dictionary."""
    values = read_arrays(BytesIO(data), DataError)
    pixels = _value(values, "data")
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != PIXELS:
        raise DataError(f"its data is not an array of shape [N, {PIXELS}]")
    return labeled_arrays(pixels.reshape(-1, *SHAPE), _value(values, layout.labels), classes)


def _value(values: dict[str, Any], key: str) -> Any:
    if key not in values:
        raise DataError(f"has no {key!r}; it has {', '.join(values) or 'nothing'}")
    return values[key]


def _read_class_names(data: bytes, layout: FileLayout, classes: int) -> tuple[str, ...]:
    """Class names from lines of text, or from a pickled list."""
    values: Any = data.splitlines() if layout.header else None
    if values is None:
        values = _value(read_arrays(BytesIO(data), DataError), layout.meta)
    names = []
    for value in values if isinstance(values, list) else [values]:
        name = value.decode(errors="replace") if isinstance(value, bytes) else value
        if not isinstance(name, str) or "\ufffd" in name:
            raise DataError("the names of the classes are not texts")
        if name.strip():
            names.append(name.strip())
    if len(names) != classes:
        raise DataError(f"has the names of {len(names)} classes, not of {classes}")
    return tuple(names)


@READERS.register(".tar")
@READERS.register(".tgz")
@READERS.register(".gz")
def read_archive(path: Path, options: LoadOptions) -> Dataset:
    """CIFAR-10 or CIFAR-100 in the archive that its author publishes."""
    names = file_names(path) if path.name.lower().endswith(TAR_EXTENSIONS) else set()
    for cifar in (CIFAR10, CIFAR100):
        if any({layout.train[0], layout.names} <= names for layout in cifar.layouts):
            return read_cifar(cifar, path, options)
    raise DataError(f"{path}: is not an archive of CIFAR-10 or CIFAR-100; unpack it and give the folder")


for _cifar, _size, _md5 in (
    (CIFAR10, 170_052_171, "c32a1d4ab5d03f1284b67883e8d87530"),
    (CIFAR100, 168_513_733, "03b5dce01913d631647c71ecec9e9cb8"),
):
    _archive, _folder = _cifar.archives[0], _cifar.folders[0]
    register_published(
        PublishedDataset(
            _cifar.name,
            f"60,000 color images of 32x32 pixels in {_cifar.classes} classes (Krizhevsky 2009).",
            partial(find_cifar, _cifar),
            partial(read_cifar, _cifar),
            files=f"{' or '.join(_cifar.archives)}, or what is in one of them",
            homepage=f"{SITE}cifar.html",
            downloads=(Download(_archive, (SITE + _archive,), _size, _md5, folder=_folder, top=_folder),),
        )
    )

register_published(
    PublishedDataset(
        "cinic10",
        "270,000 color images of 32x32 pixels in the classes of CIFAR-10 (Darlow et al. 2018).",
        find_paths("train/airplane/", "valid/airplane/", "test/airplane/", subfolders=("CINIC-10",)),
        lambda path, options: read_folder(path, options, "cinic10"),
        files="train/CLASS/, valid/CLASS/ and test/CLASS/ out of CINIC-10.tar.gz",
        homepage="https://datashare.ed.ac.uk/handle/10283/3192",
        downloads=(
            Download(
                "CINIC-10.tar.gz", (CINIC10_URL,), 687_544_992, "6ee4d0c996905fe93221de577967a372", "CINIC-10"
            ),
        ),
    )
)
