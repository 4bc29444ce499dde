"""ImageNet16-120: 120 classes of ImageNet in 16x16 pixels (Chrabaszcz et al. 2017; NAS-Bench-201)."""

from io import BytesIO
from pathlib import Path

import numpy as np

from dartboard.data.dataset import Dataset
from dartboard.data.datasets.archive_files import about, read_file
from dartboard.data.datasets.arrays import Arrays, join, pair, whole_numbers
from dartboard.data.load_options import LoadOptions
from dartboard.errors import DataError
from dartboard.utils.unpickler import read_arrays

TRAIN = tuple(f"train_data_batch_{number}" for number in range(1, 11))
TEST = "val_data"
SHAPE = (3, 16, 16)
ALL = 1000
KEPT = 120


def find_imagenet16(folder: Path) -> Path | None:
    """The folder in which the batches are, or nothing."""
    places = (folder, folder / "ImageNet16")
    return next((place for place in places if (place / TRAIN[0]).is_file()), None)


def read_imagenet16(folder: Path, loading: LoadOptions, name: str = "imagenet16-120") -> Dataset:
    """The set in a folder; its classes are called by their numbers in the files, 1 to 120.

    Raises:
        DataError: If a file is missing, damaged or of another kind.
    """
    pieces = []
    for done, file in enumerate((*TRAIN, TEST), 1):
        pieces.append(_piece(folder / file))
        loading.tell("reading batches", done, len(TRAIN) + 1)
    classes = tuple(str(number) for number in range(1, KEPT + 1))
    return Dataset(name, classes, join(pieces[:-1]), join(pieces[-1:]))


def _piece(file: Path) -> Arrays:
    data = read_file(file)
    with about(file):
        found = read_arrays(BytesIO(data), DataError)
        pixels, labels = found.get("data"), whole_numbers(found.get("labels", []))
        width = int(np.prod(SHAPE))
        if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != width:
            raise DataError(f"its data is no array of shape [N, {width}]")
        images, numbers = pair(pixels.reshape(-1, *SHAPE), labels - 1, ALL)
        return images[numbers < KEPT], numbers[numbers < KEPT]
