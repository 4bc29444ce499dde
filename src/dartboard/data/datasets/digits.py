"""The handwritten digits that ship with the package: small enough to try everything on."""

from dataclasses import dataclass
from importlib import resources

import numpy as np
import torch
from torch import Tensor

from dartboard.data.dataset import Dataset, ImageSet, LoadOptions
from dartboard.data.registry import DATASETS

BRIGHTEST = 16
"""The largest pixel value; the smallest is 0."""
TEST_DIGITS = 297


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
    return Dataset("digits", tuple("0123456789"), train, test)
