"""ImageNet, ILSVRC 2012 (Russakovsky et al. 2015), whose validation images are the test, and ImageNet16-120:
120 of its classes in 16x16 pixels (Chrabaszcz et al. 2017; NAS-Bench-201).
"""

from io import BytesIO
from pathlib import Path

import numpy as np

from dartboard.data.dataset import Dataset, LoadOptions
from dartboard.data.datasets.folder import read_folder
from dartboard.data.datasets.folder_listing import subfolders
from dartboard.data.files import concatenate, content_errors, label_array, labeled_arrays, read_file
from dartboard.data.registry import PublishedDataset, find_paths, register_published
from dartboard.errors import DataError
from dartboard.utils.unpickler import read_arrays

SITE = "https://image-net.org/download-images.php"
ALL_CLASSES = 1000

BATCHES = (*(f"train_data_batch_{number}" for number in range(1, 11)), "val_data")
"""Files of ImageNet16-120, that of the test last."""
SHAPE = (3, 16, 16)
CLASSES = 120


def read_imagenet(folder: Path, options: LoadOptions) -> Dataset:
    """ImageNet, whose validation images must have been moved into a folder for each class."""
    if not subfolders(folder / "val"):
        raise DataError(
            f"{folder / 'val'}: its images are not in folders; move each into val/WNID/ by the list "
            "ILSVRC2012_validation_ground_truth.txt of the development kit, or with the script valprep.sh"
        )
    return read_folder(folder, options, "imagenet")


def read_imagenet16(folder: Path, options: LoadOptions) -> Dataset:
    """The set in a folder; its classes are named by their numbers in the files, 1 to 120."""
    batches, width = [], int(np.prod(SHAPE))
    for done, name in enumerate(BATCHES, 1):
        file = folder / name
        data = read_file(file)
        with content_errors(file):
            values = read_arrays(BytesIO(data), DataError)
            pixels, labels = values.get("data"), label_array(values.get("labels", []))
            if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != width:
                raise DataError(f"its data is not an array of shape [N, {width}]")
            images, numbers = labeled_arrays(pixels.reshape(-1, *SHAPE), labels - 1, ALL_CLASSES)
        batches.append((images[numbers < CLASSES], numbers[numbers < CLASSES]))
        options.report_progress("reading batches", done, len(BATCHES))
    classes = tuple(str(number) for number in range(1, CLASSES + 1))
    return Dataset("imagenet16-120", classes, concatenate(batches[:-1]), concatenate(batches[-1:]))


register_published(
    PublishedDataset(
        "imagenet",
        "1.3 million photographs of many sizes in 1,000 classes, ILSVRC 2012 (Russakovsky et al. 2015).",
        find_paths("train/", "val/"),
        read_imagenet,
        files="train/WNID/*.JPEG and val/WNID/*.JPEG of ILSVRC 2012",
        homepage=SITE,
        recognizable=False,  # any folder of images with train and val looks like it
    )
)
register_published(
    PublishedDataset(
        "imagenet16-120",
        "157,700 color images of 16x16 pixels in 120 classes of ImageNet (Chrabaszcz et al. 2017).",
        find_paths(BATCHES[0], subfolders=("ImageNet16",)),
        read_imagenet16,
        files="train_data_batch_1 to train_data_batch_10 and val_data, of 16x16 pixels",
        homepage=SITE,
    )
)
