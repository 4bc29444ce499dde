"""Images in memory, with what they show."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from dartboard.errors import DataError


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


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images to train on and, where there are any, to test with.

    Args:
        name: What reports call it.
        classes: The names of the classes, in the order of their numbers.
        train: At least one example.
        test: Of the same classes and size; None if the source has none.
    """

    name: str
    classes: tuple[str, ...]
    train: ImageSet
    test: ImageSet | None = None

    def __post_init__(self) -> None:
        if len(self.train) == 0:
            raise DataError(f"data set {self.name!r} has no training images")
        _check_labels("training", self.train.labels, len(self.classes))
        if self.test is None:
            return
        _check_labels("test", self.test.labels, len(self.classes))
        if self.test.images.shape[1:] != self.train.images.shape[1:]:
            raise DataError(
                f"training images are {_size(self.train)} but test images {_size(self.test)} "
                "(channels x height x width); give both one size"
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of an image."""
        channels, height, width = self.train.images.shape[1:]
        return channels, height, width

    @property
    def mean(self) -> tuple[float, ...]:
        """The mean pixel of each channel of the training images, from 0 to 255."""
        return tuple(mean for mean, _ in self._moments)

    @property
    def deviation(self) -> tuple[float, ...]:
        """The standard deviation of each channel of the training images; 1 where all pixels are equal."""
        return tuple(deviation for _, deviation in self._moments)

    @cached_property
    def _moments(self) -> tuple[tuple[float, float], ...]:
        return tuple(_moments(channel) for channel in self.train.images.unbind(1))


def _moments(pixels: Tensor) -> tuple[float, float]:
    """Mean and deviation of uint8 pixels, from how often each value occurs."""
    counts = pixels.flatten().bincount(minlength=256).cpu().double()
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


def _size(images: ImageSet) -> str:
    return "x".join(map(str, images.images.shape[1:]))
