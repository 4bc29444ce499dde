"""The part of batch preparation that worker processes do: from files or pixels to augmented uint8 batches."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

from dartboard.data.dataset import ImageSet, Shape
from dartboard.data.image_files import MODES, ImageFiles, decode, read_image, to_tensor
from dartboard.data.rng import generator
from dartboard.data.transforms import Augment, random_boxes


class BatchTask(NamedTuple):
    """The examples of a batch, as they are sent to a worker.

    Args:
        step: Index of the batch.
        examples: Absolute names of files, or pixels [N, C, H, W].
    """

    step: int
    examples: tuple[str, ...] | NDArray[np.uint8]


class BatchTasks:
    """The task of each batch of a set.

    Args:
        images: The set, on the CPU.
        indices: Indices of the examples of batch number `step`, int64 [B].
    """

    def __init__(self, images: ImageSet | ImageFiles, indices: Callable[[int], Tensor]) -> None:
        self._images, self._indices = images, indices

    def __call__(self, step: int) -> BatchTask:
        """The task of batch `step`."""
        batch = self._images.take(self._indices(step))
        if isinstance(batch, ImageSet):
            return BatchTask(step, batch.images.numpy())
        return BatchTask(step, tuple(str(Path(file).absolute()) for file in batch.files))


@dataclass(frozen=True)
class AugmentedReader:
    """Reads examples and augments them up to normalization; random draws depend on key and step alone.

    Args:
        shape: Channels, height and width of the images.
        augment: Augmentation.
        key: Seed of the draws, together with the step.
        batch: Number of examples in a step, for all of which draws are made.
        rows: Which of them are prepared.
    """

    shape: Shape
    augment: Augment
    key: tuple[int, str]
    batch: int
    rows: slice

    def __call__(self, task: BatchTask) -> Tensor:
        """Pixels, uint8 [N, C, H, W]."""
        rng = step_generator(self.key, task.step)
        draws = self.augment.draw(self.batch, self.shape[1:], rng).rows(self.rows)
        if not isinstance(task.examples, tuple):
            x = self.augment.random_resized_crop(torch.from_numpy(task.examples), draws)
        elif area := self.augment.area:
            pairs = zip(task.examples, draws.boxes, strict=True)
            x = torch.stack([read_random_crop(file, self.shape, area, draw) for file, draw in pairs])
        else:
            x = torch.stack([read_image(file, self.shape) for file in task.examples])
        return self.augment.transform_pixels(x, draws)


@dataclass(frozen=True)
class CenterCropReader:
    """Reads examples from files without augmentation.

    Args:
        shape: Channels, height and width of the images.
        crop_pct: Fraction of the sides of the images that is shown.
    """

    shape: Shape
    crop_pct: float = 1.0

    def __call__(self, task: BatchTask) -> Tensor:
        """Pixels, uint8 [N, C, H, W]."""
        return torch.stack([read_center_crop(str(file), self.shape, self.crop_pct) for file in task.examples])


def step_generator(key: tuple[int, str], step: int) -> torch.Generator:
    """Generator of the augmentation of a step."""
    return generator(*key, "augment", step)


def read_random_crop(file: str, shape: Shape, area: float, draw: Tensor) -> Tensor:
    """A random crop of the image in a file, resized to the shape; uint8 [C, H, W].

    Args:
        file: File name.
        shape: Channels, height and width.
        area: The smallest fraction of the image's area.
        draw: Uniform in [0, 1), [4].
    """
    channels, height, width = shape
    image = decode(file, MODES[channels])
    top, left, box_height, box_width = random_boxes(draw[None], area, image.height, image.width)[0].tolist()
    box = (left, top, min(left + box_width, image.width), min(top + box_height, image.height))
    return to_tensor(image.resize((width, height), Image.Resampling.BILINEAR, box))


def read_center_crop(file: str, shape: Shape, crop_pct: float) -> Tensor:
    """The center of the image in a file, resized to the shape; uint8 [C, H, W].

    Args:
        file: File name.
        shape: Channels, height and width.
        crop_pct: Fraction of the sides of what `read_image` shows.
    """
    if crop_pct == 1:
        return read_image(file, shape)
    channels, height, width = shape
    image, bleed = decode(file, MODES[channels]), (1 - crop_pct) / 2
    return to_tensor(ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR, bleed=bleed))
