"""Data sets in files that `numpy.savez` wrote."""

import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

from dartboard.data.dataset import Dataset, ImageSet, LoadOptions
from dartboard.data.files import content_errors
from dartboard.data.registry import READERS
from dartboard.errors import DataError
from dartboard.utils.npz import DamagedArrayError, read_array
from dartboard.utils.text import printable

NAMES = ("x_train", "y_train", "x_test", "y_test", "class_names")
MOST_CLASSES = 100_000
"""A label beyond this is an error where no names say how many classes there are."""


@READERS.register(".npz")
def read_npz(path: Path, _: LoadOptions) -> Dataset:
    """The data set in an .npz file, named after the file.

    The arrays are `x_train` and `y_train` and, if there are any, `x_test`, `y_test` and `class_names`;
    others are ignored. Images are uint8 [N, H, W, C], [N, C, H, W] or [N, H, W]; of four axes the last
    is read as channels when it is 1 or 3, else the second when it is, else the last when it is 2 or 4,
    else the second. Labels are whole numbers [N] from 0;
    without `class_names` the classes are named "0", "1" and so on up to the largest label.
    Nothing is unpickled.
    """
    try:
        with path.open("rb") as file, content_errors(path):
            arrays = _read_arrays(file)
            train = _image_set(arrays, "train")
            test = _image_set(arrays, "test") if "x_test" in arrays else None
            sets = [train] if test is None else [train, test]
            return Dataset(path.stem, _class_names(arrays.get("class_names"), sets), train, test)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None


def _read_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays of a data set in the file, by name; raises unless images and labels come together."""
    arrays = {}
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.namelist()
            for name in NAMES:
                if f"{name}.npy" in members:
                    arrays[name] = read_array(archive, name)
    except (zipfile.BadZipFile, NotImplementedError, UnicodeError):
        raise DataError("not an .npz file; write one with numpy.savez") from None
    except DamagedArrayError as error:
        raise DataError(f"{name} cannot be read ({error}); save it as plain numbers or text") from None
    has_test = not arrays.keys().isdisjoint(("x_test", "y_test"))
    missing = [name for name in (NAMES[:4] if has_test else NAMES[:2]) if name not in arrays]
    if missing:
        present = ", ".join(sorted(printable(member.removesuffix(".npy")) for member in members))
        raise DataError(f"has no {' and no '.join(missing)}; it has {present or 'no arrays'}")
    return arrays


def _image_set(arrays: dict[str, NDArray[Any]], split: str) -> ImageSet:
    """The images and labels of a split, from any layout that files have."""
    name, images, labels = f"x_{split}", arrays[f"x_{split}"], arrays[f"y_{split}"]
    if images.dtype != np.uint8:
        is_float = images.dtype.kind == "f"
        hint = "(255 * x).round().astype('uint8') if they go from 0 to 1" if is_float else "x.astype('uint8')"
        raise DataError(f"{name} is {images.dtype}; images must be uint8 from 0 to 255: save {hint}")
    if images.ndim == 3:
        images = images[:, None]
    elif images.ndim == 4:
        second, last = images.shape[1], images.shape[3]
        # Gray and RGB, 1 and 3 channels, come first, then those with transparency, 2 and 4.
        if last in (1, 3) or (second not in (1, 3) and last in (2, 4)):
            images = images.transpose(0, 3, 1, 2)
    else:
        raise DataError(f"{name} has the shape {list(images.shape)}; images are NHWC, NCHW or NHW")
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        raise DataError(
            f"y_{split} is {labels.dtype} of shape {list(labels.shape)}; labels must be whole numbers of "
            "shape [N]"
        )
    pixels = torch.from_numpy(np.ascontiguousarray(images))
    return ImageSet(pixels, torch.from_numpy(labels.astype(np.int64)))


def _class_names(names: NDArray[Any] | None, sets: list[ImageSet]) -> tuple[str, ...]:
    """The names of the classes, or their numbers where they have no names."""
    if names is None:
        largest = max((int(images.labels.max()) for images in sets if len(images) > 0), default=0)
        if largest >= MOST_CLASSES:
            raise DataError(f"there is a label {largest}; number the classes from 0, or add class_names")
        return tuple(map(str, range(largest + 1)))
    if names.dtype.kind != "U" or names.ndim != 1:
        raise DataError(
            f"class_names is {names.dtype} of shape {list(names.shape)}; it must be texts of shape [classes]"
        )
    counts = Counter(names.tolist())
    if len(counts) < len(names):
        [(name, count)] = counts.most_common(1)
        raise DataError(f"class_names has {name!r} {count} times; give each class a name of its own")
    return tuple(counts)
