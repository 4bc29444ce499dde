"""Images in files, of any size and kind, read when they are needed."""

import hashlib
import os
import struct
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from dartboard.data.dataset import MOMENT_IMAGES, ImageSet, Moments, Shape, counted_moments, even
from dartboard.data.thread_map import bytes_of, over_files
from dartboard.errors import DataError

KINDS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
"""Endings of the files that are images, in small letters."""
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")
"""What is in them, as Pillow calls it; of others, such as PostScript, it would make programs run."""
MODES = {1: "L", 3: "RGB"}
"""What Pillow calls grey and colour."""
GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")
"""Pillow's modes of images without colour."""
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
"""What Pillow raises on damaged files of one kind or another."""

QUIET = threading.Lock()
"""Whoever holds it may change which warnings are shown, which is the same for all threads."""


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

    def load(self, tell: Callable[[int], None] | None = None) -> ImageSet:
        """All examples in memory.

        Args:
            tell: Is told how many have been read, one after the other.
        """
        images = torch.empty(len(self), *self.shape, dtype=torch.uint8)
        for place, image in enumerate(read_images(self.files, self.shape)):
            images[place] = image
            if tell is not None:
                tell(place + 1)
        return ImageSet(images, self.labels)

    def moments(self, tell: Callable[[int, int], None] | None = None) -> Moments:
        """Mean and deviation of each channel, of some images at even distances; one is in memory at a time.

        Args:
            tell: Is told how many have been read, and of how many.
        """
        some = self.spread(MOMENT_IMAGES)
        counts = torch.zeros(self.shape[0], 256, dtype=torch.int64)
        for done, image in enumerate(read_images(some.files, self.shape), 1):
            counts += torch.stack([channel.flatten().bincount(minlength=256) for channel in image])
            if tell is not None:
                tell(done, len(some))
        return tuple(counted_moments(own) for own in counts)

    def fingerprint(self) -> str:
        """The checksum of names below their common folder, sizes in bytes, labels and shape.

        Files are not opened: to ask for the sizes of a million takes seconds, to read them takes minutes.
        """
        found = hashlib.sha256(repr(self.shape).encode())
        folders = {os.path.dirname(file) for file in self.files}  # noqa: PTH120 - paths are slow
        start = len(os.path.commonpath(folders)) if folders else 0
        for file in self.files:
            name = file[start:].lstrip("/").encode(errors="surrogateescape")
            found.update(b"%s\0%d\0" % (name, bytes_of(file)))
        found.update(self.labels.numpy().data)
        return found.hexdigest()


def read_images(files: Sequence[str], shape: Shape) -> Iterator[Tensor]:
    """The images in files, in their order; uint8 [C, H, W] each."""
    return over_files(lambda file: read_image(file, shape), files)


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

    What is transparent is put on white, of 16 bits the upper 8 are kept, and of an animation the first
    picture is.

    Raises:
        DataError: If the file cannot be read, or is no image.
    """
    return decode_as(file, MODES[channels])


def decode_as(file: str, mode: str | None) -> Image.Image:
    """The image in a file, upright, in one of Pillow's modes; None for grey or RGB, whichever it is.

    Raises:
        DataError: If the file cannot be read, or is no image.
    """
    if not _is_file(file):
        raise DataError(f"{file}: there is no such file")
    try:
        with _open(file) as image:
            upright = _upright(image)
            return _plain(upright, mode or ("L" if _is_grey(upright) else "RGB"))
    except UNREADABLE as error:
        raise DataError(f"{file}: cannot be read as an image ({_reason(error)})") from None


def _is_file(file: str) -> bool:
    """Whether there is a file to read, and not a pipe that would never end."""
    try:
        return Path(file).is_file()
    except OSError:  # a folder above may be closed
        return False


def _open(file: str) -> Image.Image:
    """The image in a file, not yet decoded; nothing is said of images that are large but not too large."""
    with QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        return Image.open(file, formats=FORMATS)


def _is_grey(image: Image.Image) -> bool:
    """Whether an image has no colour, by its kind or its palette."""
    palette = image.getpalette()
    if palette is None:
        return image.mode in GREY
    red, green, blue = np.array(palette).reshape(-1, 3).T
    return bool((red == green).all() and (green == blue).all())


def _upright(image: Image.Image) -> Image.Image:
    """The image turned as its camera says; as it is where what the camera says makes no sense."""
    image.load()
    try:
        return ImageOps.exif_transpose(image)
    except UNREADABLE:
        return image


def _plain(image: Image.Image, mode: str) -> Image.Image:
    """The image in a mode of 8 bits without transparency."""
    if image.mode.startswith("I"):  # Pillow would cut at 255
        image = Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert(mode)


def _reason(error: BaseException) -> str:
    """What an error says, without the file's name once more."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if text.startswith("cannot identify image file"):
        return "no image of a known kind"
    return text or type(error).__name__


def to_tensor(image: Image.Image) -> Tensor:
    """Pixels, uint8 [C, H, W]."""
    pixels = np.array(image, dtype=np.uint8)
    return torch.from_numpy(pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1).copy())
