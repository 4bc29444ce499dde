"""Digits in disorder: a task that small networks find hard, made of the digits that ship with the package.

Each image is 12x12 pixels: a digit at any place, over pieces of other digits. A network must find the digit
before it can tell which one it is, so depth, width and the choice of ops make a difference that the digits
themselves do not show. (Mnih et al. 2014 made such images of MNIST.)
"""

import numpy as np
import torch
from numpy.typing import NDArray

from dartboard.data.dataset import Dataset, ImageSet
from dartboard.data.datasets.digits import Digits, load_digits

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
SIDE, DIGIT, PIECE = 12, 8, 4
"""Pixels along an image, a digit and a piece of one."""
PIECES = 2
"""How many pieces of other digits lie in an image."""
PARTS = {"train": (0, 1200, 2048), "valid": (1200, 1500, 1024), "test": (1500, 1797, 2048)}
"""By part: the first digit that its images are made of, the one after the last, and how many images."""


def cluttered_digits() -> Dataset:
    """The data set; its three parts have no digit in common."""
    digits = load_digits()
    train, valid, test = (_make(digits, *part, seed) for seed, part in enumerate(PARTS.values()))
    return Dataset("cluttered-digits", tuple("0123456789"), train, test, valid)


def _make(digits: Digits, first: int, last: int, count: int, seed: int) -> ImageSet:
    # RandomState's numbers are the same in every version of numpy.
    rng = np.random.RandomState(seed)
    sources = digits.images[first:last, 0].numpy()
    images = np.zeros((count, SIDE, SIDE), dtype=np.uint8)
    for _ in range(PIECES):
        other, corner = rng.randint(len(sources), size=count), rng.randint(DIGIT - PIECE + 1, size=(count, 2))
        _lay(images, _cut(sources[other], corner, PIECE), rng.randint(SIDE - PIECE + 1, size=(count, 2)))
    shown = rng.randint(len(sources), size=count)
    _lay(images, sources[shown], rng.randint(SIDE - DIGIT + 1, size=(count, 2)))
    labels = digits.labels[first:last][torch.from_numpy(shown)]
    return ImageSet(torch.from_numpy(images).unsqueeze(1), labels)


def _cut(images: Bytes, corners: Ints, side: int) -> Bytes:
    """A square of each image [N, side, side], by its upper left corner [N, 2]."""
    return images[_square(corners, side)]


def _lay(images: Bytes, pieces: Bytes, corners: Ints) -> None:
    """Lays a piece [N, side, side] over each image [N, H, W]; the brighter pixel is seen."""
    square = _square(corners, pieces.shape[-1])
    images[square] = np.maximum(images[square], pieces)


def _square(corners: Ints, side: int) -> tuple[Ints, Ints, Ints]:
    along = np.arange(side)
    rows, columns = corners[:, :1] + along, corners[:, 1:] + along
    return np.arange(len(corners))[:, None, None], rows[:, :, None], columns[:, None, :]
