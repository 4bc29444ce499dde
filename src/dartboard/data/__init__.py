"""Images to search and train on."""

from dartboard.data.catalog import load_dataset
from dartboard.data.dataset import GIGABYTE, Dataset, Images, ImageSet, LoadOptions, Shape
from dartboard.data.datasets.digits import BRIGHTEST, Digits, load_digits
from dartboard.data.image_files import ImageFiles
from dartboard.data.loader import CENTER_CROP, Batch, BatchLoader, evaluation_batches
from dartboard.data.registry import (
    DATASETS,
    FOLDER_READERS,
    READERS,
    Download,
    PublishedDataset,
    data_root,
    published_datasets,
    register_dataset,
    register_published,
)
from dartboard.data.sampler import generator, send, split
from dartboard.data.transforms import PLAIN, Augment, Augmentation, Policy

__all__ = [
    "BRIGHTEST",
    "CENTER_CROP",
    "DATASETS",
    "FOLDER_READERS",
    "GIGABYTE",
    "PLAIN",
    "READERS",
    "Augment",
    "Augmentation",
    "Batch",
    "BatchLoader",
    "Dataset",
    "Digits",
    "Download",
    "ImageFiles",
    "ImageSet",
    "Images",
    "LoadOptions",
    "Policy",
    "PublishedDataset",
    "Shape",
    "data_root",
    "evaluation_batches",
    "generator",
    "load_dataset",
    "load_digits",
    "published_datasets",
    "register_dataset",
    "register_published",
    "send",
    "split",
]
