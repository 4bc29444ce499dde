"""Images in files, of any size and kind, read when they are needed."""

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from dartboard.data.sets import ImageSet, Shape, even
from dartboard.errors import DataError

KINDS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
"""Endings of the files that are images, in small letters."""
MODES = {1: "L", 3: "RGB"}
"""What Pillow calls grey and colour."""
READERS = 8  # threads; Pillow decodes outside of Python's lock


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images in files and their labels.

    Args:
        files: Paths of readable images.
        labels: Numbers of the classes, int64 [N], on the CPU.
        shape: Channels, height and width that every image is brought to.
    """

    files: tuple[str, ...]
    labels: Tensor
    shape: Shape

    def __post_init__(self) -> None:
        if len(self.files) != len(self.labels):
            raise DataError(f"there are {len(self.files):,} files but {len(self.labels):,} labels")
        if self.shape[0] not in MODES:
            raise DataError(f"images in files have 1 or 3 channels, not {self.shape[0]}")

    def __len__(self) -> int:
        return len(self.files)

    def take(self, indices: Tensor) -> "ImageFiles":
        """The examples with these numbers, int64 [M], in their order."""
        chosen = indices.cpu()
        return ImageFiles(tuple(self.files[i] for i in chosen.tolist()), self.labels[chosen], self.shape)

    def to(self, device: torch.device | str) -> "ImageFiles":  # noqa: ARG002
        """The same examples: what is in files is on no device."""
        return self

    def spread(self, most: int) -> "ImageFiles":
        """At most so many of the examples, at even distances, the first among them."""
        return self if most >= len(self) else self.take(even(len(self), most))

    def load(self) -> ImageSet:
        """All examples in memory."""
        images = torch.empty(len(self), *self.shape, dtype=torch.uint8)
        for place, image in enumerate(read_images(self.files, self.shape)):
            images[place] = image
        return ImageSet(images, self.labels)

    def fingerprint(self) -> str:
        """The checksum of names, labels and shape; files are not opened."""
        found = hashlib.sha256(repr(self.shape).encode())
        found.update("\0".join(self.files).encode(errors="surrogateescape"))
        found.update(self.labels.numpy().data)
        return found.hexdigest()


def read_images(files: Iterable[str], shape: Shape) -> Iterable[Tensor]:
    """The images in files, in their order, read by several threads; uint8 [C, H, W] each."""
    with ThreadPoolExecutor(READERS) as pool:
        yield from pool.map(lambda file: read_image(file, shape), files)


def read_image(file: str, shape: Shape) -> Tensor:
    """The image in a file, uint8 [C, H, W].

    It is turned as its camera says, made grey or coloured, scaled until it covers the shape, and cut around
    its centre.

    Raises:
        DataError: If the file cannot be read, or is no image.
    """
    channels, height, width = shape
    image = decode(file, channels)
    if image.size != (width, height):
        image = ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR)
    return to_tensor(image)


def decode(file: str, channels: int) -> Image.Image:
    """The image in a file, upright, grey for one channel and RGB for three.

    Raises:
        DataError: If the file cannot be read, or is no image.
    """
    try:
        with Image.open(file) as image:
            return ImageOps.exif_transpose(image).convert(MODES[channels])
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{file}: cannot be read as an image ({error})") from None


def to_tensor(image: Image.Image) -> Tensor:
    """Pixels, uint8 [C, H, W]."""
    pixels = np.array(image, dtype=np.uint8)
    return torch.from_numpy(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1).copy())
