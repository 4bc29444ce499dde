"""ImageNet16-120: 120 classes of ImageNet in 16x16 pixels (Chrabaszcz et al. 2017; NAS-Bench-201)."""

from io import BytesIO
from pathlib import Path

import numpy as np

from dartboard.data.dataset import Dataset, LoadOptions
from dartboard.data.files import (
    LabeledArrays,
    concatenate,
    content_errors,
    label_array,
    labeled_arrays,
    read_file,
)
from dartboard.data.registry import PublishedDataset, find_paths, register_published
from dartboard.errors import DataError
from dartboard.utils.unpickler import read_arrays

TRAIN = tuple(f"train_data_batch_{number}" for number in range(1, 11))
TEST = "val_data"
SHAPE = (3, 16, 16)
ALL_CLASSES = 1000
CLASSES = 120


def read_imagenet16(folder: Path, options: LoadOptions) -> Dataset:
    """The set in a folder; its classes are named by their numbers in the files, 1 to 120."""
    batches = []
    for done, file in enumerate((*TRAIN, TEST), 1):
        batches.append(_read_batch(folder / file))
        options.report_progress("reading batches", done, len(TRAIN) + 1)
    classes = tuple(str(number) for number in range(1, CLASSES + 1))
    return Dataset("imagenet16-120", classes, concatenate(batches[:-1]), concatenate(batches[-1:]))


def _read_batch(file: Path) -> LabeledArrays:
    data = read_file(file)
    with content_errors(file):
        values = read_arrays(BytesIO(data), DataError)
        pixels, labels = values.get("data"), label_array(values.get("labels", []))
        width = int(np.prod(SHAPE))
        if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != width:
            raise DataError(f"its data is no array of shape [N, {width}]")
        images, numbers = labeled_arrays(pixels.reshape(-1, *SHAPE), labels - 1, ALL_CLASSES)
        return images[numbers < CLASSES], numbers[numbers < CLASSES]


register_published(
    PublishedDataset(
        "imagenet16-120",
        "157,700 colour images of 16x16 pixels in 120 classes of ImageNet (Chrabaszcz et al. 2017).",
        find_paths(TRAIN[0], subfolders=("ImageNet16",)),
        read_imagenet16,
        files="train_data_batch_1 to train_data_batch_10 and val_data, of 16x16 pixels",
        homepage="https://image-net.org/download-images.php",
    )
)
