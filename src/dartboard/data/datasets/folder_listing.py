"""Which image files there are in a folder, and which class each belongs to; nothing is opened."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dartboard.data.image_files import KINDS
from dartboard.errors import DataError

Identity = tuple[int, int]
"""Device and number of a folder, the same by whatever name it is reached."""


@dataclass(frozen=True)
class Part:
    """Files that are used for one purpose.

    Args:
        files: Paths below the folder of the listing.
        labels: The number of the class of each.
    """

    files: tuple[str, ...]
    labels: tuple[int, ...]


@dataclass(frozen=True)
class Listing:
    """The labelled files of a folder.

    Args:
        folder: Where the files are.
        classes: Names, in the order of their numbers.
        parts: By `train`, `valid` and `test`, as far as there are any.
    """

    folder: Path
    classes: tuple[str, ...]
    parts: Mapping[str, Part]

    @property
    def files(self) -> tuple[str, ...]:
        """The files of all parts."""
        return tuple(file for part in self.parts.values() for file in part.files)

    def fingerprint(self) -> str:
        """A text that differs where classes, or names, sizes, times or labels of the files do."""
        found = hashlib.sha256(repr(self.classes).encode())
        for kind, part in self.parts.items():
            for file, label in zip(part.files, part.labels, strict=True):
                found.update(repr((kind, label, file, _state(self.folder / file))).encode())
        return found.hexdigest()


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def subfolders(folder: Path) -> list[str]:
    """The names of the folders in a folder, sorted, without hidden ones."""
    return sorted(entry.name for entry in _entries(folder) if _is_dir(entry))


def images_in(folder: Path) -> list[str]:
    """The names of the image files in a folder, sorted."""
    return sorted(entry.name for entry in _entries(folder) if _is_image(entry))


def images_below(folder: Path, inside: str) -> tuple[str, ...]:
    """Paths, below `folder`, of the image files in its subfolder `inside` and all folders in that; sorted.

    A link to a folder that it is in itself is not followed.
    """
    try:
        above = {_identity(place) for place in (folder.resolve(), *folder.resolve().parents)}
        return tuple(sorted(_walk(folder, inside, frozenset(above))))
    except OSError as error:
        raise DataError(f"{folder / inside}: cannot be listed ({error.strerror or error})") from None


def _walk(folder: Path, inside: str, above: frozenset[Identity]) -> Iterator[str]:
    here = _identity(folder / inside)
    if here in above:
        return
    for entry in _entries(folder / inside):
        path = f"{inside}/{entry.name}"
        if _is_dir(entry):
            yield from _walk(folder, path, above | {here})
        elif _is_image(entry):
            yield path


def _identity(folder: Path) -> Identity:
    found = folder.stat()
    return found.st_dev, found.st_ino


def _is_image(entry: os.DirEntry[str]) -> bool:
    """Whether a thing is called like an image; what it is called is all that a broken link has."""
    return entry.name.lower().endswith(KINDS) and not _is_dir(entry)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    """Whether a thing is a folder; a link to itself, which nothing can follow, is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, without what is hidden."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror or error})") from None
