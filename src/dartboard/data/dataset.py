"""Labeled images in memory, data sets of them, and the options with which they are loaded.

Images that stay in their files are in `dartboard.data.image_files`.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from dartboard.errors import DataError
from dartboard.utils.progress import Progress

Shape = tuple[int, int, int]
"""Channels, height and width of an image."""
Moments = tuple[tuple[float, float], ...]
"""Mean and standard deviation of each channel, in pixel units."""

GIGABYTE = 10**9
MOMENT_IMAGES = 10_000
"""Largest number of images in files that are read to compute their moments."""


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Raise unless `value` is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} must be a whole number >= {least}, got {value!r}")


@dataclass(frozen=True)
class LoadOptions:
    """How a data set is loaded.

    Args:
        size: Height and width that images are resized to; None keeps the size of the source.
        memory: Image files that would take more bytes than this in memory stay on disk and are read as they
            are needed.
        root: Folder that holds a folder for each named data set; None for the default (see `data_root`).
        progress: Called during steps that may take long.
        broken: Called with the name of each unreadable file and the reason.
    """

    size: int | None = None
    memory: int = 2 * GIGABYTE
    root: Path | None = None
    progress: Progress | None = None
    broken: Callable[[str, str], None] | None = None

    def __post_init__(self) -> None:
        if self.size is not None:
            check_count("size", self.size)
        check_count("memory", self.memory, least=0)

    def report_progress(self, what: str, done: int, total: int) -> None:
        """Call `progress`, if there is one."""
        if self.progress is not None:
            self.progress(what, done, total)


class Images(Protocol):
    """Labeled images of one shape, in memory or in files."""

    @property
    def labels(self) -> Tensor:
        """Class indices, int64 [N]."""

    @property
    def shape(self) -> Shape:
        """Channels, height and width of an image."""

    def __len__(self) -> int: ...

    def take(self, indices: Tensor) -> Self:
        """The examples at these indices, int64 [M], in that order."""

    def to(self, device: torch.device | str) -> Self:
        """The same examples, with the tensors on `device`."""

    def spread(self, most: int) -> Self:
        """At most `most` examples, evenly spaced, starting with the first."""

    def load(self) -> "ImageSet":
        """The examples in memory."""

    def fingerprint(self) -> str:
        """A text that changes with the examples, as far as that is quick to compute."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Labeled images of one size in memory, on one device.

    Args:
        images: Pixels, uint8 [N, C, H, W].
        labels: Class indices, int64 [N].
    """

    images: Tensor
    labels: Tensor

    def __post_init__(self) -> None:
        expected = (
            ("images", self.images, torch.uint8, "[N, C, H, W]", 4),
            ("labels", self.labels, torch.int64, "[N]", 1),
        )
        for name, tensor, dtype, axes, dims in expected:
            if tensor.dtype != dtype or tensor.dim() != dims:
                raise DataError(
                    f"{name} must be {dtype} {axes}, got {tensor.dtype} of shape {list(tensor.shape)}"
                )
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
        """Device of images and labels."""
        return self.images.device

    def take(self, indices: Tensor) -> "ImageSet":
        """A copy of the examples at these indices, int64 [M], in that order."""
        indices = indices.to(self.device)
        return ImageSet(self.images[indices], self.labels[indices])

    def to(self, device: torch.device | str) -> "ImageSet":
        """The same examples on `device`; shares memory if they are there already."""
        return ImageSet(self.images.to(device), self.labels.to(device))

    def spread(self, most: int) -> "ImageSet":
        """At most `most` examples, evenly spaced, starting with the first."""
        return self if most >= len(self) else self.take(torch.arange(most) * len(self) // most)

    def load(self) -> "ImageSet":
        """The set itself."""
        return self

    def fingerprint(self) -> str:
        """Checksum of all pixels and labels."""
        checksum = hashlib.sha256(repr((self.shape, len(self))).encode())
        for tensor in (self.images, self.labels):
            checksum.update(tensor.contiguous().cpu().numpy().data)
        return checksum.hexdigest()


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training images and, where the source has them, validation and test images.

    Args:
        name: Name used in reports.
        classes: Class names, by class index.
        train: Training images, at least one.
        test: Test images of the same classes and shape; None if the source has none.
        valid: Validation images of the source itself; None if it has none.
        known: Moments of the training images, where they are known; otherwise they are computed.
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
        for split, images in (("training", self.train), ("validation", self.valid), ("test", self.test)):
            if images is None:
                continue
            labels, classes = images.labels, len(self.classes)
            wrong = labels[(labels < 0) | (labels >= classes)]
            if len(wrong) > 0:
                raise DataError(
                    f"{split} label {int(wrong[0])} is out of range: {classes} classes are numbered 0 to "
                    f"{classes - 1}"
                )
            if images.shape != self.train.shape:
                expected, actual = ("x".join(map(str, shape)) for shape in (self.train.shape, images.shape))
                raise DataError(
                    f"training images are {expected} but {split} images {actual} "
                    "(channels x height x width); give both one size"
                )

    @property
    def shape(self) -> Shape:
        """Channels, height and width of an image."""
        return self.train.shape

    @property
    def mean(self) -> tuple[float, ...]:
        """Mean of each channel of the training images, from 0 to 255."""
        return tuple(mean for mean, _ in self.moments)

    @property
    def std(self) -> tuple[float, ...]:
        """Standard deviation of each channel of the training images; 1 where all pixels are equal."""
        return tuple(std for _, std in self.moments)

    @cached_property
    def moments(self) -> Moments:
        """Mean and standard deviation of each channel."""
        return moments(self.train) if self.known is None else self.known

    @cached_property
    def fingerprint(self) -> str:
        """A text that changes with the classes or the images, as far as that is quick to compute."""
        splits = (self.train, self.valid, self.test)
        parts = [None if images is None else images.fingerprint() for images in splits]
        return hashlib.sha256(repr((self.classes, parts)).encode()).hexdigest()

    def facts(self) -> dict[str, Any]:
        """Classes, counts, shape and statistics, ready for JSON."""
        channels, height, width = self.shape
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        counts = {
            split: images.labels.bincount(minlength=len(self.classes)).tolist()
            for split, images in splits.items()
            if images is not None
        }
        return {
            "name": self.name,
            "classes": {
                name: {split: numbers[label] for split, numbers in counts.items()}
                for label, name in enumerate(self.classes)
            },
            "images": {split: sum(numbers) for split, numbers in counts.items()},
            "channels": channels,
            "height": height,
            "width": width,
            "mean": self.mean,
            "deviation": self.std,
        }


def moments(images: Images) -> Moments:
    """Mean and standard deviation of each channel; of image files, those of an even subset."""
    loaded = images if isinstance(images, ImageSet) else images.spread(MOMENT_IMAGES).load()
    histograms = (pixels.flatten().bincount(minlength=256) for pixels in loaded.images.unbind(1))
    return tuple(histogram_moments(histogram) for histogram in histograms)


def histogram_moments(counts: Tensor) -> tuple[float, float]:
    """Mean and standard deviation of pixels from the count of each value from 0 to 255, int64 [256]."""
    counts = counts.cpu().double()
    values = torch.arange(256, dtype=torch.float64)
    mean = (counts @ values) / counts.sum()
    variance = (counts @ (values - mean).square()) / counts.sum()
    constant = int(counts.count_nonzero()) == 1
    return float(mean), 1.0 if constant else float(variance.sqrt())
