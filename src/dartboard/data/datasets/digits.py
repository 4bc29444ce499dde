"""The handwritten digits that ship with the package, small enough to try everything on, and cluttered digits.

Cluttered digits are a task that small networks find hard. Each image is 12x12 pixels: a digit at any
position, over patches of other digits. A network must find the digit before it can classify it, so depth,
width and the choice of ops make a difference that the digits themselves do not show. (Mnih et al. 2014 made
such images of MNIST.)
"""

from dataclasses import dataclass
from importlib import resources

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dartboard.data.dataset import Dataset, ImageSet, LoadOptions
from dartboard.data.registry import DATASETS

BRIGHTEST = 16
"""The largest pixel value; the smallest is 0."""
TEST_DIGITS = 297
CLASSES = tuple("0123456789")

SIDE, DIGIT, PATCH = 12, 8, 4
"""Sides of a cluttered image, a digit and a patch of one, in pixels."""
PATCHES = 2
"""Patches of other digits in a cluttered image."""
SPLITS = {"train": (0, 1200, 2048), "valid": (1200, 1500, 1024), "test": (1500, 1797, 2048)}
"""By split of the cluttered digits: the first digit that images are made of, the one after the last, and the
number of images."""


@dataclass(frozen=True)
class Digits:
    """Images of handwritten digits and their labels.

    Args:
        images: Pixels from 0 to `BRIGHTEST`, uint8 [N, 1, 8, 8].
        labels: Digits from 0 to 9, int64 [N].
    """

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


def load_digits() -> Digits:
    """All 1,797 embedded digits, in the order of their source (Alpaydin & Kaynak 1998; see digits.md)."""
    with (
        resources.files(__package__).joinpath("digits.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as arrays,
    ):
        images, labels = arrays["images"], arrays["labels"]
    return Digits(torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64)))


@DATASETS.register("digits")
def digits(_: LoadOptions) -> Dataset:
    """1,797 handwritten digits of 8x8 pixels that ship with the package; the last 297 are the test."""
    data = load_digits()
    train = ImageSet(data.images[:-TEST_DIGITS], data.labels[:-TEST_DIGITS])
    test = ImageSet(data.images[-TEST_DIGITS:], data.labels[-TEST_DIGITS:])
    return Dataset("digits", CLASSES, train, test)


@DATASETS.register("cluttered-digits")
def cluttered_digits(_: LoadOptions) -> Dataset:
    """5,120 images of 12x12 pixels, a digit anywhere over pieces of others; made of the digits, harder."""
    digits = load_digits()  # the three splits have no digit in common
    train, valid, test = (_make_split(digits, *split, seed) for seed, split in enumerate(SPLITS.values()))
    return Dataset("cluttered-digits", CLASSES, train, test, valid)


def _make_split(digits: Digits, first: int, last: int, count: int, seed: int) -> ImageSet:
    # RandomState's numbers are the same in every version of numpy.
    rng = np.random.RandomState(seed)
    sources = digits.images[first:last, 0].numpy()
    images = np.zeros((count, SIDE, SIDE), dtype=np.uint8)
    for _ in range(PATCHES):
        index, corner = rng.randint(len(sources), size=count), rng.randint(DIGIT - PATCH + 1, size=(count, 2))
        patches = sources[index][_square(corner, PATCH)]
        _paste(images, patches, rng.randint(SIDE - PATCH + 1, size=(count, 2)))
    index = rng.randint(len(sources), size=count)
    _paste(images, sources[index], rng.randint(SIDE - DIGIT + 1, size=(count, 2)))
    labels = digits.labels[first:last][torch.from_numpy(index)]
    return ImageSet(torch.from_numpy(images).unsqueeze(1), labels)


def _paste(images: NDArray[np.uint8], patches: NDArray[np.uint8], corners: NDArray[np.int64]) -> None:
    """Paste a patch [N, side, side] into each image [N, H, W]; the brighter pixel is kept."""
    square = _square(corners, patches.shape[-1])
    images[square] = np.maximum(images[square], patches)


def _square(corners: NDArray[np.int64], side: int) -> tuple[NDArray[np.int64], ...]:
    """Index of a square in each of N images, by its upper left corner [N, 2]."""
    offsets = np.arange(side)
    rows, columns = corners[:, :1] + offsets, corners[:, 1:] + offsets
    return np.arange(len(corners))[:, None, None], rows[:, :, None], columns[:, None, :]
