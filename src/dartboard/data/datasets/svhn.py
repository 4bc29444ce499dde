"""Street View House Numbers, cropped digits (Netzer et al. 2011), as published: MATLAB files."""

from pathlib import Path

import numpy as np

from dartboard.data.dataset import Dataset, ImageSet, LoadOptions
from dartboard.data.datasets.matlab import read_matlab
from dartboard.data.files import concatenate, content_errors, label_array, labeled_arrays, read_file
from dartboard.data.registry import Download, PublishedDataset, find_paths, register_published
from dartboard.errors import DataError

FILES = ("train_32x32.mat", "test_32x32.mat")
CLASSES = tuple("0123456789")
SITE = "http://ufldl.stanford.edu/housenumbers/"


def read_svhn(folder: Path, _: LoadOptions) -> Dataset:
    """The training and test images in a folder; the additional, easier ones are not read."""
    train, test = (_read_split(folder / file) for file in FILES)
    return Dataset("svhn", CLASSES, train, test)


def _read_split(file: Path) -> ImageSet:
    data = read_file(file)
    with content_errors(file):
        arrays = read_matlab(data, ("X", "y"))
        for name in ("X", "y"):
            if name not in arrays:
                raise DataError(f"has no array {name}")
        pixels, labels = arrays["X"], label_array(arrays["y"].reshape(-1))
        if pixels.ndim != 4 or pixels.shape[2] != 3:
            raise DataError(f"its X has the shape {list(pixels.shape)}, not [height, width, 3, N]")
        if len(labels) and not (labels.min() >= 1 and labels.max() <= 10):
            raise DataError(f"its labels go from {labels.min()} to {labels.max()}, not from 1 to 10")
        images = np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))
        return concatenate([labeled_arrays(images, labels % 10, len(CLASSES))])  # 10 stands for the digit 0


register_published(
    PublishedDataset(
        "svhn",
        "99,289 digits of house numbers in colour, of 32x32 pixels (Netzer et al. 2011).",
        find_paths(FILES[0]),
        read_svhn,
        files="train_32x32.mat and test_32x32.mat",
        homepage=SITE,
        downloads=(
            Download(FILES[0], (SITE + FILES[0],), 182_040_794, "e26dedcc434d2e4c54c9b2d4a06d8373"),
            Download(FILES[1], (SITE + FILES[1],), 64_275_384, "eb5a983be6a315427106f1b164d9cef3"),
        ),
    )
)
