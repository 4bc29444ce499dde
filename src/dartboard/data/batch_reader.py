"""From the names of files, or from pixels, to a batch of pixels as the device is given them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

from dartboard.data.crops import random_boxes
from dartboard.data.dataset import Shape
from dartboard.data.image_files import decode, read_image, to_tensor
from dartboard.data.rng import generator
from dartboard.data.transforms import Augment

Pixels = NDArray[np.uint8]


class Part(NamedTuple):
    """Examples that are prepared together.

    Args:
        step: The number of their batch.
        what: Full names of files, or pixels [N, C, H, W].
    """

    step: int
    what: tuple[str, ...] | Pixels


@dataclass(frozen=True)
class Vary:
    """Reads examples and varies them, up to where the device goes on; chance is settled by the step.

    Args:
        shape: Channels, height and width of the images.
        augment: What is done.
        key: Settles all chance, together with the step.
        batch: How many examples there are in a step, for whom chance is drawn.
        rows: Which of them are prepared here.
    """

    shape: Shape
    augment: Augment
    key: tuple[int, str]
    batch: int
    rows: slice

    def __call__(self, part: Part) -> Tensor:
        """Pixels, uint8 [N, C, H, W]."""
        draws = self.augment.draw(self.batch, self.shape[1:], chance(self.key, part.step)).of(self.rows)
        if isinstance(part.what, tuple):
            x = torch.stack([self._read(*each) for each in zip(part.what, draws.boxes, strict=True)])
        else:
            x = self.augment.frame(torch.from_numpy(part.what), draws)
        return self.augment.vary(x, draws)

    def _read(self, file: str, draw: Tensor) -> Tensor:
        area = self.augment.area
        return read_part(file, self.shape, area, draw) if area else read_image(file, self.shape)


@dataclass(frozen=True)
class Read:
    """Reads examples from files as they are.

    Args:
        shape: Channels, height and width of the images.
        crop_pct: The fraction of the sides of the images that is shown.
    """

    shape: Shape
    crop_pct: float = 1.0

    def __call__(self, part: Part) -> Tensor:
        """Pixels, uint8 [N, C, H, W]."""
        return torch.stack([read_centre(str(file), self.shape, self.crop_pct) for file in part.what])


def chance(key: tuple[int, str], step: int) -> torch.Generator:
    """What settles how the examples of a step are varied."""
    return generator(*key, "augment", step)


def read_part(file: str, shape: Shape, area: float, draw: Tensor) -> Tensor:
    """A random part of the image in a file, brought to the shape; uint8 [C, H, W].

    Args:
        file: Its name.
        shape: Channels, height and width.
        area: The smallest share of the image's area.
        draw: Even between 0 and 1, [4].
    """
    channels, height, width = shape
    image = decode(file, channels)
    top, left, high, wide = random_boxes(draw[None], area, image.height, image.width)[0].tolist()
    box = (left, top, min(left + wide, image.width), min(top + high, image.height))
    return to_tensor(image.resize((width, height), Image.Resampling.BILINEAR, box))


def read_centre(file: str, shape: Shape, side: float) -> Tensor:
    """The middle of the image in a file, brought to the shape; uint8 [C, H, W].

    Args:
        file: Its name.
        shape: Channels, height and width.
        side: The share of the sides of what `read_image` shows.
    """
    if side == 1:
        return read_image(file, shape)
    channels, height, width = shape
    image = decode(file, channels)
    return to_tensor(ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR, bleed=(1 - side) / 2))
