"""`load_dataset`: data sets by registered name, file or folder."""

import difflib
import os
from contextlib import suppress
from pathlib import Path

import dartboard.data.datasets  # noqa: F401 - registers the data sets
from dartboard.data.dataset import Dataset, LoadOptions
from dartboard.data.datasets.folder import read_folder
from dartboard.data.registry import DATASETS, FOLDER_READERS, READERS, published_datasets
from dartboard.data.transforms import resize_dataset
from dartboard.errors import DataError, UnknownNameError


def load_dataset(name: str, options: LoadOptions | None = None) -> Dataset:
    """The data set that is registered as `name`, or the one in the file or folder `name`.

    A file is an .npz with `x_train`, `y_train` and optionally `x_test`, `y_test` and `class_names` (see
    `dartboard.data.datasets.npz`), or the archive of CIFAR-10 or CIFAR-100. A folder has the files of a
    published data set, or images in one subfolder for each class (see
    `dartboard.data.datasets.folder_listing`).

    Examples:
        >>> from dartboard import load_dataset
        >>> data = load_dataset("digits")
        >>> data.shape, len(data.classes)
        ((1, 8, 8), 10)
    """
    options = options or LoadOptions()
    path, exists = Path(name), os.path.exists(name)  # noqa: PTH110 - Path raises for a name that is too long
    if name in DATASETS:
        try:
            data = DATASETS[name](options)
        except DataError as error:
            if not exists:
                raise
            raise DataError(f"{error}; what is called {name} here is read as ./{name}") from None
    elif name and exists:
        data = _read_path(path, options)
    else:
        searched = ""
        with suppress(OSError):  # the current directory may be gone
            searched = "" if path.is_absolute() else f"; files and folders are looked for in {Path.cwd()}"
        if "/" in name or path.suffix.lower() in READERS:
            names: list[str] = []
            with suppress(OSError):
                visible = (file for file in path.parent.iterdir() if not file.name.startswith("."))
                names = [file.name for file in visible if file.suffix.lower() in READERS or file.is_dir()]
            close = difflib.get_close_matches(path.name, names, n=1)
            suggestion = f"; did you mean {str(path.parent / close[0])!r}?" if close else ""
            raise DataError(
                f"there is no file or folder {name!r} to read a data set from{suggestion}{searched}"
            )
        raise UnknownNameError(f"{DATASETS.kind}, file or folder", name, DATASETS, searched)
    return resize_dataset(data, options.size)


def _read_path(path: Path, options: LoadOptions) -> Dataset:
    """The data set in a file, or in a folder: the published one if it is recognized, else its images."""
    if not path.is_dir():
        suffix = path.suffix.lower()
        if suffix not in READERS:
            raise DataError(
                f"{path} is a file of kind {suffix!r}; data sets are read from folders and from files of "
                f"kind {', '.join(READERS)}"
            )
        return READERS[suffix](path, options)
    for dataset in published_datasets().values():
        if dataset.recognizable and (place := dataset.find(path)) is not None:
            return dataset.read(place, options)
    for read in FOLDER_READERS.values():
        if (data := read(path, options)) is not None:
            return data
    return read_folder(path, options)
