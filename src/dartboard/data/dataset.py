"""Images with what they show: in memory here, or in files (`dartboard.data.image_files`)."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import torch
from torch import Tensor

from dartboard.errors import DataError

Shape = tuple[int, int, int]
"""Channels, height and width of an image."""


class Images(Protocol):
    """Examples of one shape with their labels, wherever the pixels are."""

    @property
    def labels(self) -> Tensor:
        """Numbers of the classes, int64 [N]."""

    @property
    def shape(self) -> Shape:
        """Channels, height and width of an image."""

    def __len__(self) -> int: ...

    def take(self, indices: Tensor) -> Self:
        """The examples with these numbers, int64 [M], in their order."""

    def to(self, device: torch.device | str) -> Self:
        """The same examples, on `device` as far as they are in memory."""

    def spread(self, most: int) -> Self:
        """At most so many of the examples, at even distances, the first among them."""

    def load(self) -> "ImageSet":
        """The examples in memory."""

    def fingerprint(self) -> str:
        """A text that differs where the examples do, as far as that is quick to tell."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images of one size and their labels, on one device.

    Args:
        images: Pixels, uint8 [N, C, H, W].
        labels: Numbers of the classes, int64 [N].
    """

    images: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        _check_tensor("images", self.images, torch.uint8, "[N, C, H, W]", 4)
        _check_tensor("labels", self.labels, torch.int64, "[N]", 1)
        if len(self.images) != len(self.labels):
            raise DataError(
                f"there are {len(self.images):,} images but {len(self.labels):,} labels; "
                "give each image one label"
            )
        if 0 in self.images.shape[1:]:
            raise DataError(f"images must have pixels, got the shape {list(self.images.shape)}")
        if self.images.device != self.labels.device:
            raise DataError(
                f"images are on {self.images.device} but labels on {self.labels.device}; move one with .to"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shape(self) -> Shape:
        """Channels, height and width of an image."""
        channels, height, width = self.images.shape[1:]
        return channels, height, width

    @property
    def device(self) -> torch.device:
        """Where the images and labels are."""
        return self.images.device

    def take(self, indices: Tensor) -> "ImageSet":
        """The examples with these numbers, int64 [M], in their order; a copy."""
        indices = indices.to(self.device)
        return ImageSet(self.images[indices], self.labels[indices])

    def to(self, device: torch.device | str) -> "ImageSet":
        """The same examples on `device`; shares the memory if they are there already."""
        return ImageSet(self.images.to(device), self.labels.to(device))

    def spread(self, most: int) -> "ImageSet":
        """At most so many of the examples, at even distances, the first among them."""
        return self if most >= len(self) else self.take(even(len(self), most))

    def load(self) -> "ImageSet":
        """The set itself."""
        return self

    def fingerprint(self) -> str:
        """The checksum of every pixel and label."""
        found = hashlib.sha256(repr((self.shape, len(self))).encode())
        for tensor in (self.images, self.labels):
            found.update(tensor.contiguous().cpu().numpy().data)
        return found.hexdigest()


def even(count: int, most: int) -> Tensor:
    """`most` of `count` numbers from 0, at even distances; int64 [most]."""
    return torch.arange(most) * count // most


Moments = tuple[tuple[float, float], ...]
"""Mean and standard deviation of each channel, in pixel units."""

MOMENT_IMAGES = 10_000
"""Moments of images in files are those of so many of them."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images to train on and, where there are any, to choose and to test with.

    Args:
        name: What reports call it.
        classes: The names of the classes, in the order of their numbers.
        train: At least one example.
        test: Of the same classes and shape; None if the source has none.
        valid: Images that the source itself sets apart to choose with; None if it has none.
        known: The moments of the training images where they are known already; else they are measured.
    """

    name: str
    classes: tuple[str, ...]
    train: Images
    test: Images | None = None
    valid: Images | None = None
    known: Moments | None = None

    def __post_init__(self) -> None:
        if len(self.train) == 0:
            raise DataError(f"data set {self.name!r} has no training images")
        for kind, part in (("training", self.train), ("validation", self.valid), ("test", self.test)):
            if part is not None:
                _check_labels(kind, part.labels, len(self.classes))
                _check_shape(kind, part, self.train)

    @property
    def shape(self) -> Shape:
        """Channels, height and width of an image."""
        return self.train.shape

    @property
    def mean(self) -> tuple[float, ...]:
        """The mean pixel of each channel of the training images, from 0 to 255."""
        return tuple(mean for mean, _ in self.moments)

    @property
    def std(self) -> tuple[float, ...]:
        """The standard deviation of each channel of the training images; 1 where all pixels are equal."""
        return tuple(std for _, std in self.moments)

    @cached_property
    def moments(self) -> Moments:
        """Mean and standard deviation of each channel."""
        return moments(self.train) if self.known is None else self.known

    @cached_property
    def fingerprint(self) -> str:
        """A text that differs where the classes or the images do, as far as that is quick to tell."""
        parts = [None if part is None else part.fingerprint() for part in (self.train, self.valid, self.test)]
        return hashlib.sha256(repr((self.classes, parts)).encode()).hexdigest()


def moments(images: Images) -> Moments:
    """Mean and deviation of each channel; of files, of some at even distances."""
    pixels = images if isinstance(images, ImageSet) else images.spread(MOMENT_IMAGES).load()
    return tuple(_moments(channel) for channel in pixels.images.unbind(1))


def _moments(pixels: Tensor) -> tuple[float, float]:
    """Mean and deviation of uint8 pixels."""
    return counted_moments(pixels.flatten().bincount(minlength=256))


def counted_moments(counts: Tensor) -> tuple[float, float]:
    """Mean and deviation of pixels, from how often each value from 0 to 255 occurs, int64 [256]."""
    counts = counts.cpu().double()
    values = torch.arange(256, dtype=torch.float64)
    mean = (counts @ values) / counts.sum()
    variance = (counts @ (values - mean).square()) / counts.sum()
    constant = int(counts.count_nonzero()) == 1
    return float(mean), 1.0 if constant else float(variance.sqrt())


def _check_tensor(name: str, tensor: Tensor, dtype: torch.dtype, axes: str, dims: int) -> None:
    if tensor.dtype != dtype or tensor.dim() != dims:
        raise DataError(f"{name} must be {dtype} {axes}, got {tensor.dtype} of shape {list(tensor.shape)}")


def _check_labels(kind: str, labels: Tensor, classes: int) -> None:
    wrong = labels[(labels < 0) | (labels >= classes)]
    if len(wrong) > 0:
        raise DataError(
            f"{kind} label {int(wrong[0])} is out of range: {classes} classes are numbered 0 to {classes - 1}"
        )


def _check_shape(kind: str, part: Images, train: Images) -> None:
    if part.shape != train.shape:
        raise DataError(
            f"training images are {_size(train)} but {kind} images {_size(part)} "
            "(channels x height x width); give both one size"
        )


def _size(images: Images) -> str:
    return "x".join(map(str, images.shape))
