"""Data sets brought to another size."""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.data.dataset import Dataset, Images, ImageSet
from dartboard.data.image_files import ImageFiles

AT_ONCE = 4096


def resized(data: Dataset, size: int | None) -> Dataset:
    """A data set whose images are squares of a size; None leaves them as they are."""
    if size is None or data.shape[1:] == (size, size):
        return data
    test = None if data.test is None else _fit(data.test, size)
    valid = None if data.valid is None else _fit(data.valid, size)
    return replace(data, train=_fit(data.train, size), test=test, valid=valid, known=None)


def _fit(images: Images, size: int) -> Images:
    if isinstance(images, ImageFiles):
        return ImageFiles(images.files, images.labels, (images.shape[0], size, size))
    pieces = [fit(piece, size) for piece in images.load().images.split(AT_ONCE)]
    return ImageSet(torch.cat(pieces), images.labels)


def fit(images: Tensor, size: int) -> Tensor:
    """Images [N, C, H, W] scaled until they cover a square, and cut around their centre."""
    height, width = images.shape[2:]
    shorter = min(height, width)
    scaled = (max(height * size // shorter, size), max(width * size // shorter, size))
    images = F.interpolate(images, size=scaled, mode="bilinear", antialias=True)
    top, left = (scaled[0] - size) // 2, (scaled[1] - size) // 2
    return images[:, :, top : top + size, left : left + size].contiguous()
