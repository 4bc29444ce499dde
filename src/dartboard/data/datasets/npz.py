"""Data sets in files that `numpy.savez` wrote."""

import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

from dartboard.data.dataset import Dataset, ImageSet
from dartboard.errors import DataError
from dartboard.utils.npz import DamagedArrayError, read_array
from dartboard.utils.text import printable

Arrays = dict[str, NDArray[Any]]

NAMES = ("x_train", "y_train", "x_test", "y_test", "class_names")
MOST_CLASSES = 100_000
"""A label beyond this is taken for a mistake where no names say how many classes there are."""


def read_npz(path: Path) -> Dataset:
    """The data set in an .npz file, called after the file.

    The arrays are `x_train` and `y_train` and, if there are any, `x_test`, `y_test` and `class_names`;
    others are left alone. Images are uint8 [N, H, W, C], [N, C, H, W] or [N, H, W]; of four axes the last
    is taken for the channels when it is 1 or 3, else the second when it is, else the last when it is 2 or 4,
    else the second. Labels are whole numbers [N] from 0;
    without `class_names` the classes are called "0", "1" and so on up to the largest label.
    Nothing is unpickled.
    """
    try:
        with path.open("rb") as file:
            return _dataset(path.stem, _arrays(file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _arrays(file: BinaryIO) -> Arrays:
    """The arrays of a data set that the file has, by name."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
            found = {name: _array(archive, name) for name in NAMES if f"{name}.npy" in members}
    except (zipfile.BadZipFile, NotImplementedError, UnicodeError):
        raise DataError("not an .npz file; write one with numpy.savez") from None
    _check_complete(found, sorted(printable(member.removesuffix(".npy")) for member in members))
    return found


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    try:
        return read_array(archive, name)
    except DamagedArrayError as error:
        raise DataError(f"{name} cannot be read ({error}); save it as plain numbers or text") from None


def _check_complete(found: Arrays, members: list[str]) -> None:
    """Raise unless there are images and labels to train on, and both or neither to test with."""
    tested = not found.keys().isdisjoint(("x_test", "y_test"))
    needed = NAMES[:4] if tested else NAMES[:2]
    missing = [name for name in needed if name not in found]
    if missing:
        raise DataError(f"has no {' and no '.join(missing)}; it has {', '.join(members) or 'no arrays'}")


def _dataset(name: str, arrays: Arrays) -> Dataset:
    train = _images(arrays, "train")
    test = _images(arrays, "test") if "x_test" in arrays else None
    sets = [train] if test is None else [train, test]
    return Dataset(name, _classes(arrays.get("class_names"), sets), train, test)


def _images(arrays: Arrays, part: str) -> ImageSet:
    images = _pixels(f"x_{part}", arrays[f"x_{part}"])
    labels = _labels(f"y_{part}", arrays[f"y_{part}"])
    return ImageSet(torch.from_numpy(images), torch.from_numpy(labels))


def _pixels(name: str, array: NDArray[Any]) -> NDArray[np.uint8]:
    """Images [N, C, H, W] from any layout that files have."""
    if array.dtype != np.uint8:
        hint = "(255 * x).round().astype('uint8') if they" if array.dtype.kind == "f" else "x.astype('uint8')"
        scale = " go from 0 to 1" if array.dtype.kind == "f" else ""
        raise DataError(f"{name} is {array.dtype}; images must be uint8 from 0 to 255: save {hint}{scale}")
    if array.ndim == 3:
        array = array[:, None]
    elif array.ndim == 4 and _channels_last(array.shape):
        array = array.transpose(0, 3, 1, 2)
    elif array.ndim != 4:
        raise DataError(f"{name} has the shape {list(array.shape)}; images are NHWC, NCHW or NHW")
    return np.ascontiguousarray(array)


def _channels_last(shape: tuple[int, ...]) -> bool:
    """Whether the last of four axes is that of the channels.

    Grey and colour, 1 and 3, are believed first, then those with transparency, 2 and 4.
    """
    return shape[3] in (1, 3) or (shape[1] not in (1, 3) and shape[3] in (2, 4))


def _labels(name: str, array: NDArray[Any]) -> NDArray[np.int64]:
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise DataError(
            f"{name} is {array.dtype} of shape {list(array.shape)}; labels must be whole numbers of shape [N]"
        )
    return array.astype(np.int64)


def _classes(names: NDArray[Any] | None, sets: list[ImageSet]) -> tuple[str, ...]:
    """The names of the classes, or their numbers where they have no names."""
    if names is None:
        return tuple(map(str, range(_largest(sets) + 1)))
    if names.dtype.kind != "U" or names.ndim != 1:
        raise DataError(
            f"class_names is {names.dtype} of shape {list(names.shape)}; it must be texts of shape [classes]"
        )
    often = Counter(names.tolist())
    if len(often) < len(names):
        [(twice, count)] = often.most_common(1)
        raise DataError(f"class_names has {twice!r} {count} times; give each class a name of its own")
    return tuple(often)


def _largest(sets: list[ImageSet]) -> int:
    largest = max((int(images.labels.max()) for images in sets if len(images) > 0), default=0)
    if largest >= MOST_CLASSES:
        raise DataError(f"there is a label {largest}; number the classes from 0, or add class_names")
    return largest
