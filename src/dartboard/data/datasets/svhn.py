"""Street View House Numbers, cropped digits (Netzer et al. 2011), as published: MATLAB files.

Their arrays are read here, so that scipy is not needed. A MATLAB 5 file is a header of 128 bytes and
elements, each a tag and data; an element may be compressed by zlib, and one that is an array holds elements
itself: flags, sizes, name and numbers. Every length is checked against what is there before it is used.
"""

import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.data.dataset import Dataset, ImageSet, LoadOptions
from dartboard.data.files import concatenate, content_errors, label_array, labeled_arrays, read_file
from dartboard.data.registry import Download, PublishedDataset, find_paths, register_published
from dartboard.errors import DataError

FILES = ("train_32x32.mat", "test_32x32.mat")
CLASSES = tuple("0123456789")
SITE = "http://ufldl.stanford.edu/housenumbers/"

HEADER = 128
LARGEST = 10**9
"""Larger compressed elements belong to no data set that is read at once."""
MOST_ELEMENTS, MOST_AXES = 1000, 8
"""Files have a handful of arrays, of a few axes each."""
STORED_CODES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Types of numbers as they are stored."""
ARRAY_CODES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
"""Types of numbers that an array has; it may be stored in a smaller one."""
INT8, INT32, UINT32, MATRIX, COMPRESSED, UTF8 = 1, 5, 6, 14, 15, 16
COMPLEX = 0x800


def read_svhn(folder: Path, _: LoadOptions) -> Dataset:
    """The training and test images in a folder; the additional, easier ones are not read."""
    train, test = (_read_split(folder / file) for file in FILES)
    return Dataset("svhn", CLASSES, train, test)


def _read_split(file: Path) -> ImageSet:
    data = read_file(file)
    with content_errors(file):
        arrays = read_matlab(data, ("X", "y"))
        for name in ("X", "y"):
            if name not in arrays:
                raise DataError(f"has no array {name}")
        pixels, labels = arrays["X"], label_array(arrays["y"].reshape(-1))
        if pixels.ndim != 4 or pixels.shape[2] != 3:
            raise DataError(f"its X has the shape {list(pixels.shape)}, not [height, width, 3, N]")
        if len(labels) and not (labels.min() >= 1 and labels.max() <= 10):
            raise DataError(f"its labels go from {labels.min()} to {labels.max()}, not from 1 to 10")
        images = np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))
        return concatenate([labeled_arrays(images, labels % 10, len(CLASSES))])  # 10 stands for the digit 0


@dataclass(frozen=True)
class Element:
    """A piece of a file; the order is `<` if the lowest byte of a number is first, else `>`."""

    kind: int
    data: memoryview
    order: str

    def numbers(self) -> NDArray[Any]:
        """The numbers that it holds [N]."""
        if self.kind not in STORED_CODES:
            raise DataError(f"has data of the kind {self.kind} in place of numbers")
        dtype = np.dtype(self.order + STORED_CODES[self.kind])
        if len(self.data) % dtype.itemsize:
            raise DataError(f"has {len(self.data):,} bytes, no whole number of {dtype.itemsize}")
        return np.frombuffer(self.data, dtype)


def read_matlab(data: bytes, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """The arrays of these names in a MATLAB 5 file.

    Raises:
        DataError: If the file is damaged, or one of them is not an array of real numbers.
    """
    order = {b"IM": "<", b"MI": ">"}.get(data[HEADER - 2 : HEADER])  # at the end of the header
    if order is None or data[HEADER - 4 : HEADER - 2] != (b"\0\1" if order == "<" else b"\1\0"):
        raise DataError("is not a whole MATLAB 5 file")
    arrays = {}
    for index, element in enumerate(_elements(memoryview(data)[HEADER:], order)):
        if index == MOST_ELEMENTS:
            raise DataError(f"is not a whole MATLAB 5 file: it has more than {MOST_ELEMENTS:,} elements")
        inner = _decompress(element)
        if inner.kind == MATRIX:
            name, array = _read_matrix(inner, names)
            if array is not None:
                arrays[name] = array
    return arrays


def _elements(data: memoryview, order: str) -> Iterator[Element]:
    """The elements that follow each other in some bytes.

    A tag is two numbers, kind and length, and data is padded to eight bytes unless it is compressed. Of up to
    four bytes the length may be in the upper half of the kind, and the data in the place of the length.
    """
    while len(data):
        if len(data) < 8:
            raise DataError("is damaged or cut short: it ends within a tag")
        kind, size = np.frombuffer(data[:8], f"{order}u4").tolist()
        start, room = 8, len(data) - 8
        if kind >> 16:
            kind, size, start, room = kind & 0xFFFF, kind >> 16, 4, 4
        if size > room:
            raise DataError(f"is damaged or cut short: it announces {size:,} bytes where {room:,} are left")
        yield Element(kind, data[start : start + size], order)
        end = start + size
        data = data[end if kind == COMPRESSED else end + -end % 8 :]


def _decompress(element: Element) -> Element:
    """The element in a compressed element; others unchanged."""
    if element.kind != COMPRESSED:
        return element
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(element.data, LARGEST)
    except zlib.error as error:
        raise DataError(f"is damaged ({error})") from None
    if not decompressor.eof:
        raise DataError("is damaged or cut short: a packed part of it does not end")
    inner = next(_elements(memoryview(data), element.order), None)
    if inner is None or inner.kind == COMPRESSED:
        raise DataError("is damaged: a packed part of it has no element")
    return inner


def _read_matrix(matrix: Element, names: Collection[str]) -> tuple[str, NDArray[Any] | None]:
    """The name of an array, and the array if its name is in `names`."""
    parts = [*islice(_elements(matrix.data, matrix.order), 4)]
    if len(parts) < 3 or parts[2].kind not in (INT8, UTF8):
        raise DataError("is damaged: an array has no name")
    name = bytes(parts[2].data).decode("latin1")
    if name not in names:
        return name, None
    if len(parts) < 4:
        raise DataError(f"is damaged: its array {name} has no numbers")
    try:
        return name, _array(parts[0], parts[1], parts[3])
    except DataError as error:
        raise DataError(f"its array {name} {error}") from None


def _array(flags: Element, sizes: Element, values: Element) -> NDArray[Any]:
    if flags.kind != UINT32 or len(flags.data) != 8 or sizes.kind != INT32:
        raise DataError("has a damaged type or shape")
    word = int(flags.numbers()[0])
    if word & 0xFF not in ARRAY_CODES or word & COMPLEX:
        raise DataError("is not an array of real numbers")
    dtype, numbers = np.dtype(ARRAY_CODES[word & 0xFF]), values.numbers()
    if not np.can_cast(numbers.dtype, dtype):
        raise DataError(f"is {dtype} but stored as {numbers.dtype}")
    shape: list[int] = sizes.numbers().tolist()
    if len(shape) > MOST_AXES:
        raise DataError(f"has {len(shape):,} axes")
    if min(shape, default=0) < 1 or prod(shape) != len(numbers):
        raise DataError(f"has {len(numbers):,} values and the shape {shape}")
    return numbers.astype(dtype, copy=False).reshape(shape, order="F")


register_published(
    PublishedDataset(
        "svhn",
        "99,289 digits of house numbers in color, of 32x32 pixels (Netzer et al. 2011).",
        find_paths(FILES[0]),
        read_svhn,
        files="train_32x32.mat and test_32x32.mat",
        homepage=SITE,
        downloads=(
            Download(FILES[0], (SITE + FILES[0],), 182_040_794, "e26dedcc434d2e4c54c9b2d4a06d8373"),
            Download(FILES[1], (SITE + FILES[1],), 64_275_384, "eb5a983be6a315427106f1b164d9cef3"),
        ),
    )
)
