"""Images to search and train on."""

from dartboard.data.augment import PLAIN, Augment, Augmentation
from dartboard.data.digits import BRIGHTEST, Digits, load_digits
from dartboard.data.files import ImageFiles
from dartboard.data.loading import Loading
from dartboard.data.sets import Dataset, Images, ImageSet, Shape
from dartboard.data.sources import DATASETS, READERS, load_dataset
from dartboard.data.split import split
from dartboard.data.stream import CENTRE, Batch, Stream, sweep

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
