"""The handwritten digits that ship with the package: small enough to try everything on."""

from dataclasses import dataclass
from importlib import resources

import numpy as np
import torch
from torch import Tensor

BRIGHTEST = 16
"""The largest pixel value; the smallest is 0."""


@dataclass(frozen=True)
class Digits:
    """Images of handwritten digits and what they show.

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
