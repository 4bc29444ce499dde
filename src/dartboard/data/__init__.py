"""Images to search and train on."""

from dartboard.data.catalog import DATASETS, READERS, load_dataset
from dartboard.data.dataset import Dataset, Images, ImageSet, Shape
from dartboard.data.datasets.digits import BRIGHTEST, Digits, load_digits
from dartboard.data.image_files import ImageFiles
from dartboard.data.load_options import LoadOptions
from dartboard.data.loader import CENTER_CROP, Batch, BatchLoader, evaluation_batches
from dartboard.data.split import split
from dartboard.data.transforms import PLAIN, Augment, Augmentation

__all__ = [
    "BRIGHTEST",
    "CENTER_CROP",
    "DATASETS",
    "PLAIN",
    "READERS",
    "Augment",
    "Augmentation",
    "Batch",
    "BatchLoader",
    "Dataset",
    "Digits",
    "ImageFiles",
    "ImageSet",
    "Images",
    "LoadOptions",
    "Shape",
    "evaluation_batches",
    "load_dataset",
    "load_digits",
    "split",
]
