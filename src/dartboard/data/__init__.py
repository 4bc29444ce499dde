"""Images to search and train on."""

from dartboard.data.catalog import DATASETS, READERS, load_dataset
from dartboard.data.dataset import Dataset, Images, ImageSet, Shape
from dartboard.data.datasets.digits import BRIGHTEST, Digits, load_digits
from dartboard.data.image_files import ImageFiles
from dartboard.data.load_options import Loading
from dartboard.data.loader import CENTRE, Batch, Stream, sweep
from dartboard.data.split import split
from dartboard.data.transforms import PLAIN, Augment, Augmentation

__all__ = [
    "BRIGHTEST",
    "CENTRE",
    "DATASETS",
    "PLAIN",
    "READERS",
    "Augment",
    "Augmentation",
    "Batch",
    "Dataset",
    "Digits",
    "ImageFiles",
    "ImageSet",
    "Images",
    "Loading",
    "Shape",
    "Stream",
    "load_dataset",
    "load_digits",
    "split",
    "sweep",
]
