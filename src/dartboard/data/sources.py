"""Where data sets come from: registered names, and files by their kind."""

import difflib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dartboard.data.digits import load_digits
from dartboard.data.loading import Loading
from dartboard.data.npz import read_npz
from dartboard.data.sets import Dataset, ImageSet
from dartboard.errors import DataError, UnknownNameError
from dartboard.registry import Registry

DATASETS: Registry[Callable[[Loading], Dataset]] = Registry("data set")
"""Data sets that have a name."""

READERS: Registry[Callable[[Path, Loading], Dataset]] = Registry("kind of data file")
"""What reads a file, by the end of the file's name in small letters."""
READERS.register(".npz")(lambda path, _: read_npz(path))

HELD_OUT_DIGITS = 297


@DATASETS.register("digits")
def digits(_: Loading) -> Dataset:
    """1,797 handwritten digits of 8x8 pixels that ship with the package; the last 297 are the test."""
    every = load_digits()
    train = ImageSet(every.images[:-HELD_OUT_DIGITS], every.labels[:-HELD_OUT_DIGITS])
    test = ImageSet(every.images[-HELD_OUT_DIGITS:], every.labels[-HELD_OUT_DIGITS:])
    return Dataset("digits", tuple("0123456789"), train, test)


def load_dataset(name: str, loading: Loading | None = None) -> Dataset:
    """The data set that is registered as `name`, or the one in the file `name`.

    A file is an .npz with `x_train`, `y_train` and optionally `x_test`, `y_test` and `class_names`. Images
    are uint8 NHWC, NCHW or NHW; of four axes the last is taken for the channels when it is 1 or 3.
    """
    loading = loading or Loading()
    if name in DATASETS:
        return DATASETS[name](loading)
    path = Path(name)
    if _exists(path):
        return _read(path, loading)
    if "/" in name or path.suffix.lower() in READERS:
        raise DataError(f"there is no file {name!r} to read a data set from{_hint(path)}")
    raise UnknownNameError(f"{DATASETS.kind} or file", name, DATASETS)


def _exists(path: Path) -> bool:
    with suppress(OSError):  # a name can be too long for a file
        return path.exists()
    return False


def _read(path: Path, loading: Loading) -> Dataset:
    kind = path.suffix.lower()
    if path.is_dir() or kind not in READERS:
        what = "a folder" if path.is_dir() else f"a file of kind {kind!r}"
        raise DataError(f"{path} is {what}; data sets are read from files of kind {', '.join(READERS)}")
    return READERS[kind](path, loading)


def _hint(path: Path) -> str:
    """Names a file beside the missing one that is called much the same, if there is one."""
    names: list[str] = []
    with suppress(OSError):
        names = [file.name for file in path.parent.iterdir() if file.suffix.lower() in READERS]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(path.parent / close[0])!r}?" if close else ""
