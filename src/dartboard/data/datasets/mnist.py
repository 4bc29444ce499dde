"""MNIST and the data sets that are published in its format, idx."""

import hashlib
import logging
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dartboard.data.dataset import Dataset, ImageSet, LoadOptions
from dartboard.data.files import concatenate, content_errors, labeled_arrays, read_errors, read_file
from dartboard.data.registry import (
    FOLDER_READERS,
    Download,
    PublishedDataset,
    published_datasets,
    register_published,
)
from dartboard.errors import DataError
from dartboard.utils.text import printable

LOG = logging.getLogger(__name__)

IMAGES_MAGIC, LABELS_MAGIC = 0x803, 0x801
"""First four bytes of a file: unsigned bytes in three axes or in one."""
SPLITS = ("train", "t10k")
FILES = ("{}-images-idx3-ubyte", "{}-labels-idx1-ubyte")
SUBFOLDERS = (".", "raw", "MNIST/raw", "FashionMNIST/raw", "KMNIST/raw")
"""Where other programs put the files."""
FIRST_LABELS = {
    "mnist": (5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7, 2, 8, 6, 9),
    "fashion-mnist": (9, 0, 0, 3, 0, 2, 7, 2, 5, 5, 0, 9, 5, 5, 7, 9, 1, 0, 6, 4),
}
"""The first training labels, by which data sets are told apart."""
PATH_WORDS = {"fashion": "fashion-mnist", "kmnist": "kmnist", "kuzushiji": "kmnist", "mnist": "mnist"}
"""Words in the path of a data set; the first that is there decides."""
DEBIAN = Path("/usr/share/datasets")
"""Where Debian's packages put data sets."""
DIGITS = tuple("0123456789")
CLOTHES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
KANA = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")


def find_idx(folder: Path) -> Path | None:
    """The folder that holds the files, if there is one."""
    places = (folder / name for name in SUBFOLDERS)
    return next((place for place in places if _find_file(place, FILES[0].format("train"))), None)


def read_idx(name: str, classes: tuple[str, ...], folder: Path, _: LoadOptions) -> Dataset:
    """The data set in a folder of idx files, plain or gzipped."""
    train, test = (_read_split(folder, split, len(classes)) for split in SPLITS)
    return Dataset(name, classes, train, test)


@FOLDER_READERS.register("idx")
def read_idx_folder(folder: Path, options: LoadOptions) -> Dataset | None:
    """MNIST or a data set in its format; the classes of an unknown one are named by their numbers."""
    place = find_idx(folder)
    if place is None:
        return None
    name = identify_idx(place)
    if name is not None:
        return published_datasets()[name].read(place, options)
    LOG.warning(
        "%s: has files in the form of MNIST, but of which set is not known: the classes are called 0 to 9",
        printable(str(folder)),
    )
    return read_idx(folder.resolve().name, DIGITS, place, options)


def identify_idx(folder: Path) -> str | None:
    """Name of the data set in a folder of idx files; None if it is unknown.

    The training labels decide: the checksum of their file where it is gzipped as published, the first labels
    where these are known; otherwise words in the path of the folder.
    """
    file = _require_file(folder, FILES[1].format("train"))
    with read_errors(file):
        md5 = hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest()
    first = tuple(_read_array(file, LABELS_MAGIC)[: len(FIRST_LABELS["mnist"])].tolist())
    datasets = published_datasets()
    for name in PATH_WORDS.values():
        if datasets[name].downloads[1].md5 == md5 or FIRST_LABELS.get(name) == first:
            return name
    path = str(folder.resolve()).lower()
    return next((name for word, name in PATH_WORDS.items() if word in path), None)


def _read_split(folder: Path, split: str, classes: int) -> ImageSet:
    images, labels = (_require_file(folder, name.format(split)) for name in FILES)
    pixels = _read_array(images, IMAGES_MAGIC)
    numbers = _read_array(labels, LABELS_MAGIC)
    with content_errors(labels):
        return concatenate([labeled_arrays(pixels[:, None], numbers, classes)])


def _find_file(folder: Path, name: str) -> Path | None:
    """The file of this name, or with a dot for its last dash as some have it, plain or gzipped."""
    names = (name, name.replace("-idx", ".idx"))
    candidates = (folder / f"{candidate}{end}" for candidate in names for end in ("", ".gz"))
    return next((file for file in candidates if file.is_file()), None)


def _require_file(folder: Path, name: str) -> Path:
    file = _find_file(folder, name)
    if file is None:
        raise DataError(f"{folder}: has no {name} or {name}.gz")
    return file


def _read_array(file: Path, magic: int) -> NDArray[np.uint8]:
    """The array in an idx file: a magic number, the size of each axis, then the bytes."""
    data, axes = read_file(file), magic & 0xFF
    start = 4 + 4 * axes
    with content_errors(file):
        header = np.frombuffer(data[:start], ">u4") if len(data) >= start else np.zeros(1, ">u4")
        if header[0] != magic:
            raise DataError(
                f"is not an idx file of bytes in {axes} axes: it begins with {data[:4].hex() or 'nothing'}, "
                f"not {magic:08x}"
            )
        sizes = [int(size) for size in header[1:]]
        expected, actual = int(np.prod(sizes, dtype=object)), len(data) - start
        if actual != expected:
            raise DataError(
                f"has {actual:,} bytes of the {expected:,} that its header says; it is cut short or damaged"
            )
        return np.frombuffer(data, np.uint8, offset=start).reshape(sizes)


def _register(
    name: str,
    description: str,
    classes: tuple[str, ...],
    homepage: str,
    mirrors: tuple[str, ...],
    checksums: tuple[tuple[int, str], ...],
    extra_folders: tuple[Path, ...] = (),
) -> None:
    """Register a data set in the format of MNIST; `checksums` are size and md5 of its four files."""
    files = [f"{file.format(split)}.gz" for split in SPLITS for file in FILES]
    register_published(
        PublishedDataset(
            name,
            description,
            find_idx,
            partial(read_idx, name, classes),
            files="train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
            "t10k-labels-idx1-ubyte, plain or .gz",
            homepage=homepage,
            downloads=tuple(
                Download(file, tuple(mirror + file for mirror in mirrors), size, md5)
                for file, (size, md5) in zip(files, checksums, strict=True)
            ),
            recognizable=False,
            extra_folders=extra_folders,
        )
    )


_register(
    "mnist",
    "70,000 handwritten digits of 28x28 pixels (LeCun et al. 1998).",
    DIGITS,
    "https://yann.lecun.com/exdb/mnist/",
    ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"),
    (
        (9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        (28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
        (1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
        (4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
)
_register(
    "fashion-mnist",
    "70,000 gray images of clothes of 28x28 pixels in 10 classes (Xiao et al. 2017).",
    CLOTHES,
    "https://github.com/zalandoresearch/fashion-mnist",
    ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    (
        (26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        (29_515, "25c81989df183df01b3e8a0aad5dffbe"),
        (4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
        (5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
    ),
    extra_folders=(DEBIAN / "fashion-mnist",),
)
_register(
    "kmnist",
    "70,000 cursive Japanese characters of 28x28 pixels in 10 classes (Clanuwat et al. 2018).",
    KANA,
    "http://codh.rois.ac.jp/kmnist/",
    ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
    (
        (18_165_135, "bdb82020997e1d708af4cf47b453dcf7"),
        (29_497, "e144d726b3acfaa3e44228e80efcd344"),
        (3_041_136, "5c965bf0a639b31b8f53240b1b52f4d7"),
        (5_120, "7320c461ea6c1c855c0b718fb2a4b134"),
    ),
)
