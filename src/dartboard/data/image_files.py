"""Image files of any size and kind, decoded when they are needed."""

import hashlib
import os
import struct
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from dartboard.data.dataset import MOMENT_IMAGES, ImageSet, Moments, Shape, histogram_moments
from dartboard.errors import DataError
from dartboard.utils.processes import cpu_count

T = TypeVar("T")

EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
"""File name endings of images, in lower case."""
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")
"""Formats that Pillow may decode; others, such as PostScript, run external programs."""
MODES = {1: "L", 3: "RGB"}
"""Pillow's mode for each number of channels."""
GRAY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")
"""Pillow's modes of images without color."""
UNREADABLE = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
"""What Pillow raises on damaged files."""

SMALL_FILE = 16_000
"""Files smaller than this many bytes on average are read by a single thread."""
THREAD_QUEUE = 1024  # files queued for the threads at a time; millions would fill the memory
WARNINGS_LOCK = threading.Lock()
"""Held while warning filters, which all threads share, are changed."""


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Labeled images in files.

    Args:
        files: Paths of readable images.
        labels: Class indices, int64 [N], on the CPU.
        shape: Channels, height and width that every image is converted to.
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
        """The examples at these indices, int64 [M], in that order."""
        indices = indices.cpu()
        return ImageFiles(tuple(self.files[i] for i in indices.tolist()), self.labels[indices], self.shape)

    def to(self, device: torch.device | str) -> "ImageFiles":  # noqa: ARG002
        """The same examples: files are on no device."""
        return self

    def spread(self, most: int) -> "ImageFiles":
        """At most `most` examples, evenly spaced, starting with the first."""
        return self if most >= len(self) else self.take(torch.arange(most) * len(self) // most)

    def load(self, progress: Callable[[int], None] | None = None) -> ImageSet:
        """All examples in memory; `progress` is called with the number of images read so far."""
        images = torch.empty(len(self), *self.shape, dtype=torch.uint8)
        for index, image in enumerate(read_images(self.files, self.shape)):
            images[index] = image
            if progress is not None:
                progress(index + 1)
        return ImageSet(images, self.labels)

    def moments(self, progress: Callable[[int, int], None] | None = None) -> Moments:
        """Mean and standard deviation of each channel over an even subset, one image in memory at a time.

        `progress` is called with the number of images read so far and in total.
        """
        subset = self.spread(MOMENT_IMAGES)
        histograms = torch.zeros(self.shape[0], 256, dtype=torch.int64)
        for done, image in enumerate(read_images(subset.files, self.shape), 1):
            histograms += torch.stack([channel.flatten().bincount(minlength=256) for channel in image])
            if progress is not None:
                progress(done, len(subset))
        return tuple(histogram_moments(histogram) for histogram in histograms)

    def fingerprint(self) -> str:
        """Checksum of the file names below their common folder, sizes in bytes, labels and shape.

        Files are not opened: getting the sizes of a million takes seconds, reading them takes minutes.
        """
        checksum = hashlib.sha256(repr(self.shape).encode())
        folders = {os.path.dirname(file) for file in self.files}  # noqa: PTH120 - paths are slow
        start = len(os.path.commonpath(folders)) if folders else 0
        for file in self.files:
            name = file[start:].lstrip("/").encode(errors="surrogateescape")
            checksum.update(b"%s\0%d\0" % (name, _file_size(file)))
        checksum.update(self.labels.numpy().data)
        return checksum.hexdigest()


def map_files(function: Callable[[str], T], files: Sequence[str]) -> Iterator[T]:
    """`function` of each file, in their order.

    Large files are mapped by several threads. With small ones most of the time is spent in Python itself,
    and threads would only wait for each other.
    """
    sizes = [size for file in files[:: len(files) // 16 + 1] if (size := _file_size(file)) >= 0]
    if sum(sizes) / max(len(sizes), 1) < SMALL_FILE:
        yield from map(function, files)
        return
    with ThreadPoolExecutor(cpu_count()) as pool:
        for first in range(0, len(files), THREAD_QUEUE):
            yield from pool.map(function, files[first : first + THREAD_QUEUE])


def _file_size(file: str) -> int:
    """Size of a file in bytes; -1 if it does not exist."""
    try:
        return os.stat(file).st_size  # noqa: PTH116
    except OSError:
        return -1


def read_images(files: Sequence[str], shape: Shape) -> Iterator[Tensor]:
    """The images in files, in their order; uint8 [C, H, W] each."""
    return map_files(lambda file: read_image(file, shape), files)


def read_image(file: str, shape: Shape) -> Tensor:
    """The image in a file, uint8 [C, H, W].

    It is rotated as its EXIF data says, converted to gray or RGB, scaled until it covers the shape, and
    cropped around its center.

    Raises:
        DataError: If the file cannot be read, or is not an image.
    """
    channels, height, width = shape
    image = decode(file, MODES[channels])
    if image.size != (width, height):
        image = ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR)
    return to_tensor(image)


def decode(file: str, mode: str | None) -> Image.Image:
    """The image in a file, upright, in Pillow's mode `mode`; None for gray or RGB, whichever it is.

    Transparent pixels are put on white, of 16 bits the upper 8 are kept, and of an animation the first frame.

    Raises:
        DataError: If the file cannot be read, or is not an image.
    """
    if not os.path.isfile(file):  # noqa: PTH113 - Path raises where a parent is unreadable; a pipe never ends
        raise DataError(f"{file}: there is no such file")
    try:
        with WARNINGS_LOCK, warnings.catch_warnings():  # no warning about large images
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            opened = Image.open(file, formats=FORMATS)
        with opened:
            opened.load()
            try:
                image = ImageOps.exif_transpose(opened)
            except UNREADABLE:  # damaged EXIF data
                image = opened
            return _convert(image, mode)
    except UNREADABLE as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        if reason.startswith("cannot identify image file"):  # followed by the name of the file
            reason = "no image of a known kind"
        raise DataError(f"{file}: cannot be read as an image ({reason or type(error).__name__})") from None


def _convert(image: Image.Image, mode: str | None) -> Image.Image:
    """The image in a mode of 8 bits without transparency; None for gray if it has no color, else RGB."""
    if mode is None:
        palette, gray = image.getpalette(), image.mode in GRAY
        if palette is not None:
            red, green, blue = np.array(palette).reshape(-1, 3).T
            gray = bool((red == green).all() and (green == blue).all())
        mode = "L" if gray else "RGB"
    if image.mode.startswith("I"):  # Pillow would clip at 255
        image = Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert(mode)


def to_tensor(image: Image.Image) -> Tensor:
    """Pixels of an image, uint8 [C, H, W]."""
    pixels = np.array(image, dtype=np.uint8)
    return torch.from_numpy(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1).copy())
