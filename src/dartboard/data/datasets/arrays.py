"""Sets of images from arrays that files hold, checked as the files are read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dartboard.data.dataset import ImageSet
from dartboard.errors import DataError

Arrays = tuple[NDArray[np.uint8], NDArray[np.int64]]
"""Pixels [N, C, H, W] and labels [N]."""


def pair(pixels: NDArray[Any], labels: object, classes: int) -> Arrays:
    """Pixels [N, C, H, W] with their labels, whole numbers from 0.

    Raises:
        DataError: If they are of another type, not equally many, or a label is out of range.
    """
    if pixels.dtype != np.uint8:
        raise DataError(f"pixels are {pixels.dtype}, not uint8")
    numbers = whole_numbers(labels)
    if len(pixels) != len(numbers):
        raise DataError(f"there are {len(pixels):,} images but {len(numbers):,} labels")
    wrong = numbers[(numbers < 0) | (numbers >= classes)]
    if len(wrong):
        raise DataError(f"there is a label {wrong[0]}; {classes} classes are numbered 0 to {classes - 1}")
    return pixels, numbers


def whole_numbers(labels: object) -> NDArray[np.int64]:
    """Labels [N] from an array, or a list of nothing but whole numbers: one of lists of lists has no end."""
    if isinstance(labels, list) and not all(isinstance(label, int) for label in labels):
        raise DataError("labels are a list of something else than whole numbers")
    if not isinstance(labels, list | np.ndarray):
        raise DataError(f"labels are a {type(labels).__name__}, not whole numbers [N]")
    found = np.asarray(labels)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise DataError(f"labels are {found.dtype} of shape {list(found.shape)}, not whole numbers [N]")
    return found.astype(np.int64)


def join(pieces: Sequence[Arrays]) -> ImageSet:
    """One set of the pieces that several files hold."""
    pixels = np.concatenate([pixels for pixels, _ in pieces])
    labels = np.concatenate([labels for _, labels in pieces])
    return ImageSet(torch.from_numpy(pixels), torch.from_numpy(labels))
