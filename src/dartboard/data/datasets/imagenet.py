"""ImageNet, ILSVRC 2012 (Russakovsky et al. 2015); its validation images are the test."""

from pathlib import Path

from dartboard.data.dataset import Dataset, LoadOptions
from dartboard.data.datasets.folder import read_folder
from dartboard.data.datasets.folder_listing import subfolders
from dartboard.data.registry import PublishedDataset, find_paths, register_published
from dartboard.errors import DataError


def read_imagenet(folder: Path, options: LoadOptions) -> Dataset:
    """ImageNet, whose validation images must have been moved into a folder for each class."""
    if not subfolders(folder / "val"):
        raise DataError(
            f"{folder / 'val'}: its images are not in folders; move each into val/WNID/ by the list "
            "ILSVRC2012_validation_ground_truth.txt of the development kit, or with the script valprep.sh"
        )
    return read_folder(folder, options, "imagenet")


register_published(
    PublishedDataset(
        "imagenet",
        "1.3 million photographs of many sizes in 1,000 classes, ILSVRC 2012 (Russakovsky et al. 2015).",
        find_paths("train/", "val/"),
        read_imagenet,
        files="train/WNID/*.JPEG and val/WNID/*.JPEG of ILSVRC 2012",
        homepage="https://image-net.org/download-images.php",
        recognizable=False,  # any folder of images with train and val looks like it
    )
)
