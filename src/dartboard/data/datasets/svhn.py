"""Street View House Numbers, cropped digits (Netzer et al. 2011), as published: MATLAB files."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.data.dataset import Dataset, ImageSet
from dartboard.data.datasets.archive_files import about, read_file
from dartboard.data.datasets.arrays import join, pair, whole_numbers
from dartboard.data.datasets.matlab import read_matlab
from dartboard.errors import DataError

FILES = ("train_32x32.mat", "test_32x32.mat")
CLASSES = tuple("0123456789")


def find_svhn(folder: Path) -> Path | None:
    """The folder, if the files are in it."""
    return folder if (folder / FILES[0]).is_file() else None


def read_svhn(folder: Path, name: str = "svhn") -> Dataset:
    """The training and test images in a folder; the additional, easier ones are left alone.

    Raises:
        DataError: If a file is missing, damaged or of another kind.
    """
    train, test = (_part(folder / file) for file in FILES)
    return Dataset(name, CLASSES, train, test)


def _part(file: Path) -> ImageSet:
    data = read_file(file)
    with about(file):
        found = read_matlab(data, ("X", "y"))
        pixels, labels = _entry(found, "X"), _entry(found, "y")
        if pixels.ndim != 4 or pixels.shape[2] != 3:
            raise DataError(f"its X has the shape {list(pixels.shape)}, not [height, width, 3, N]")
        numbers = whole_numbers(labels.reshape(-1))
        if len(numbers) and not (numbers.min() >= 1 and numbers.max() <= 10):
            raise DataError(f"its labels go from {numbers.min()} to {numbers.max()}, not from 1 to 10")
        upright = np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))
        return join([pair(upright, numbers % 10, len(CLASSES))])  # 10 stands for the digit 0


def _entry(found: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in found:
        raise DataError(f"has no array {name}")
    return found[name]
