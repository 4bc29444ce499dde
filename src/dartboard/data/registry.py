"""The registries of data sets, and data sets that are read from the files their authors publish."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dartboard.data.dataset import Dataset, LoadOptions
from dartboard.errors import DataError
from dartboard.registry import Registry

DATASETS: Registry[Callable[[LoadOptions], Dataset]] = Registry("data set", "dartboard.datasets")
"""Loaders of the data sets that have a name."""

READERS: Registry[Callable[[Path, LoadOptions], Dataset]] = Registry("kind of data file")
"""Readers of files, by the ending of the file name in lower case."""

FOLDER_READERS: Registry[Callable[[Path, LoadOptions], Dataset | None]] = Registry("kind of data folder")
"""Readers of folders in a format that several data sets share; they return None for other folders."""

ROOT_VARIABLE = "DARTBOARD_DATASETS"


@dataclass(frozen=True)
class Download:
    """A file of a data set that can be downloaded.

    Args:
        file: Path in the folder of the data set.
        urls: Addresses, the preferred one first.
        size: Size in bytes; None where it is not published.
        md5: Checksum; None where it is not published.
        folder: Folder that the archive is unpacked to; None if the file is not an archive.
        top: Folder in the archive whose content is unpacked; None for the whole archive.
    """

    file: str
    urls: tuple[str, ...]
    size: int | None = None
    md5: str | None = None
    folder: str | None = None
    top: str | None = None

    def is_present(self, root: Path) -> bool:
        """Whether the file is in the data set's folder in full size, or was unpacked there."""
        if self.folder is not None:
            return (root / self.folder).is_dir()
        file = root / self.file
        return file.is_file() and self.size in (None, file.stat().st_size)


@dataclass(frozen=True)
class PublishedDataset:
    """A data set as its authors publish it; calling it loads it.

    Args:
        name: Name of the data set, and of its folder in the data root.
        description: One line on what is in it.
        find: Where below a folder its files are; None if they are not there.
        read: The data set at a place that `find` returned.
        files: The files that are needed, in words.
        homepage: Address of the authors' page.
        downloads: Files that can be downloaded; none where the publisher requires registration.
        recognizable: Whether its files differ from those of other data sets.
        extra_folders: Folders besides the data root in which it may be.
    """

    name: str
    description: str
    find: Callable[[Path], Path | None]
    read: Callable[[Path, LoadOptions], Dataset]
    files: str
    homepage: str
    downloads: tuple[Download, ...] = ()
    recognizable: bool = True
    extra_folders: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.description)  # as a registered function has one

    def __call__(self, options: LoadOptions) -> Dataset:
        """Load the data set.

        Raises:
            DataError: If its files are missing, or cannot be read.
        """
        place = self.locate(options.root)
        if place is None:
            folder, *extra = self.folders(options.root)
            also = f" (nor in {', '.join(map(str, extra))})" if extra else ""
            raise DataError(
                f"data set {self.name!r} is not in {folder}{also}; get it with `dartboard data get "
                f"{self.name}`, or put there {self.files}, which come from {self.homepage}"
            )
        return self.read(place, options)

    def folders(self, root: Path | None = None) -> tuple[Path, ...]:
        """The folders in which it is searched for, starting with its own in the data root."""
        return (data_root(root) / self.name, *self.extra_folders)

    def locate(self, root: Path | None = None) -> Path | None:
        """Where its files are; None if they are nowhere."""
        places = map(self.find, self.folders(root))
        return next((place for place in places if place is not None), None)

    def locate_complete(self, root: Path | None = None) -> Path | None:
        """Where its files are; None if they are nowhere, or were only partly downloaded."""
        folder = data_root(root) / self.name
        present = [download.is_present(folder) for download in self.downloads]
        return None if any(present) and not all(present) else self.locate(root)


def find_paths(*paths: str, subfolders: tuple[str, ...] = ()) -> Callable[[Path], Path | None]:
    """A `find` of a published data set: the folder, or the first of its subfolders, that has all paths.

    Folders among the paths have a slash at the end.
    """

    def find(folder: Path) -> Path | None:
        for place in (folder, *(folder / name for name in subfolders)):
            files = [place / path for path in paths if not path.endswith("/")]
            folders = [place / path for path in paths if path.endswith("/")]
            if all(path.is_file() for path in files) and all(path.is_dir() for path in folders):
                return place
        return None

    return find


def register_dataset(
    name: str,
) -> Callable[[Callable[[LoadOptions], Dataset]], Callable[[LoadOptions], Dataset]]:
    """Decorator that registers a function from load options to images as the data set `name`.

    Examples:
        >>> from dataclasses import replace
        >>> from dartboard import load_dataset, register_dataset
        >>> @register_dataset("untested-digits")
        ... def untested_digits(options):
        ...     '''The digits without test images.'''
        ...     return replace(load_dataset("digits", options), name="untested-digits", test=None)
        >>> load_dataset("untested-digits").test is None
        True
    """
    return DATASETS.register(name, stacklevel=2)


def register_published(dataset: PublishedDataset) -> None:
    """Register a published data set under its name."""
    DATASETS.register(dataset.name, stacklevel=2)(dataset)


def published_datasets() -> dict[str, PublishedDataset]:
    """The registered data sets that are read from published files, by name."""
    return {name: dataset for name, dataset in DATASETS.items() if isinstance(dataset, PublishedDataset)}


def data_root(root: Path | None = None) -> Path:
    """The folder that holds a folder for each named data set.

    That is `root` if given, else $DARTBOARD_DATASETS, else $XDG_DATA_HOME/dartboard, else
    ~/.local/share/dartboard.
    """
    if root is not None:
        return root.expanduser()
    if variable := os.environ.get(ROOT_VARIABLE):
        return Path(variable).expanduser()
    data_home = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not data_home.is_absolute():
        try:
            data_home = Path.home() / ".local" / "share"
        except RuntimeError:
            raise DataError(f"the home folder is not known; set {ROOT_VARIABLE}") from None
    return data_home / "dartboard"
