"""Which image files are in a folder, in which class and split; nothing is opened."""

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dartboard.data.image_files import EXTENSIONS
from dartboard.errors import DataError
from dartboard.utils.text import printable

LOG = logging.getLogger(__name__)

SPLIT_NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}
"""The split of each folder name, in lower case."""

Inode = tuple[int, int]
"""Device and inode of a folder, the same by whatever name it is reached."""


@dataclass(frozen=True)
class FileList:
    """The files of a split, as paths below the folder of the listing, and the class index of each."""

    files: tuple[str, ...]
    labels: tuple[int, ...]


@dataclass(frozen=True)
class Listing:
    """The labeled files of a folder, by `train`, `valid` and `test` as far as there are any."""

    folder: Path
    classes: tuple[str, ...]
    splits: Mapping[str, FileList]

    @property
    def files(self) -> tuple[str, ...]:
        """The files of all splits."""
        return tuple(file for split in self.splits.values() for file in split.files)

    def fingerprint(self) -> str:
        """A text that changes with the classes, or with names, sizes, times or labels of the files."""
        checksum = hashlib.sha256(repr(self.classes).encode())
        for name, split in self.splits.items():
            for file, label in zip(split.files, split.labels, strict=True):
                try:
                    stat = (self.folder / file).stat()
                    state = stat.st_size, stat.st_mtime_ns
                except OSError:
                    state = None
                checksum.update(repr((name, label, file, state)).encode())
        return checksum.hexdigest()


def list_folder(folder: Path) -> Listing:
    """The labeled files of a folder.

    With a folder `train` (or `training`) that has subfolders, those are the classes, and `val` (or `valid`,
    or `validation`) and `test` (or `testing`) have the same ones; other folders are ignored. Validation
    images without test images are used as test images, as ImageNet has it. A `test` without classes is left
    out.

    Without such a `train` every subfolder is a class of training images. A class may be named like a split if
    it is the only one that is and has images but no folders in it: otherwise splits would be read as classes.

    Within a class images may be in folders of any depth. Hidden files and folders are left out.

    Raises:
        DataError: If splits have different classes, training images are missing, or a class has no images.
    """
    split_folders = _split_folders(folder)
    if not split_folders:
        classes, loose = tuple(subfolders(folder)), images_in(folder)
        if loose and not classes:
            raise DataError(
                f"{folder}: has {len(loose):,} images but no folders; put those of each class in one of "
                "their own"
            )
        if loose:
            place = printable(str(folder))
            LOG.warning("%s: %s images are in no class's folder and are left out", place, f"{len(loose):,}")
        return Listing(folder, classes, {"train": _list_split(folder, "", classes)})
    classes = tuple(subfolders(folder / split_folders["train"]))
    splits = {split: _list_split(folder, name, classes) for split, name in split_folders.items()}
    if "valid" in splits and "test" not in splits:
        splits["test"] = splits.pop("valid")
    return Listing(folder, classes, splits)


def _split_folders(folder: Path) -> dict[str, str]:
    """The folder name of each split with classes; empty if there is no training split.

    Test images without classes are left out with a warning, others are an error.
    """
    names: dict[str, str] = {}
    for name in subfolders(folder):
        split = SPLIT_NAMES.get(name.lower())
        if split is None:
            continue
        if split in names:
            raise DataError(f"{folder}: has both {names[split]!r} and {name!r}; remove one of them")
        names[split] = name
    if "train" not in names or not subfolders(folder / names["train"]):
        _check_classes_named_like_splits(folder, names)
        return {}
    split_folders: dict[str, str] = {
        split: names[split] for split in ("train", "valid", "test") if split in names
    }
    for split, name in [*split_folders.items()]:
        place = folder / name
        if subfolders(place):
            continue
        count = len(images_in(place))
        if split != "test":
            raise DataError(
                f"{place}: has {count:,} images but no folder for each class; move each image into "
                f"{name}/CLASS, with the names of the classes in {names['train']}"
            )
        LOG.warning("%s: its %s images have no classes and are left out", printable(str(place)), f"{count:,}")
        del split_folders[split]
    return split_folders


def _check_classes_named_like_splits(folder: Path, names: dict[str, str]) -> None:
    """Raise unless a folder that is named like a split is a class."""
    if not names or (len(names) == 1 and not any(subfolders(folder / name) for name in names.values())):
        return
    present = " and ".join(map(repr, sorted(names.values())))
    train = names.get("train")
    missing = f"{train!r} has no folder for each class" if train else "no 'train' beside"
    raise DataError(
        f"{folder}: has {present}, but {missing}; put the training images into {train or 'train'}/CLASS"
    )


def _list_split(folder: Path, split: str, classes: tuple[str, ...]) -> FileList:
    """The files in the folder of a split, class by class, which must be those of the training images."""
    names = subfolders(folder / split)
    missing = sorted(set(classes) - set(names))
    extra = sorted(set(names) - set(classes))
    problems = [f"lacks {_enumerate(missing)}"] if missing else []
    problems += [f"has {_enumerate(extra)} which the training images lack"] if extra else []
    if problems:
        raise DataError(
            f"{folder / split}: its classes are not those of the training images: it {' and '.join(problems)}"
        )
    files: list[str] = []
    labels: list[int] = []
    for label, name in enumerate(classes):
        inside = f"{split}/{name}" if split else name
        class_files = images_below(folder, inside)
        if not class_files:
            raise DataError(
                f"{folder / inside}: the class is empty; every folder in {folder / split} is a class "
                "and needs images"
            )
        files += class_files
        labels += [label] * len(class_files)
    return FileList(tuple(files), tuple(labels))


def _enumerate(names: list[str]) -> str:
    """At most five names."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more


def subfolders(folder: Path) -> list[str]:
    """The names of the folders in a folder, sorted, without hidden ones."""
    return sorted(entry.name for entry in _entries(folder) if _is_dir(entry))


def images_in(folder: Path) -> list[str]:
    """The names of the image files in a folder, sorted."""
    return sorted(entry.name for entry in _entries(folder) if _is_image(entry))


def images_below(folder: Path, inside: str) -> tuple[str, ...]:
    """Paths, below `folder`, of the image files in its subfolder `inside` and all folders in that; sorted.

    A link to one of its own parents is not followed.
    """
    try:
        parents = frozenset(_inode(parent) for parent in (folder.resolve(), *folder.resolve().parents))
        return tuple(sorted(_walk(folder, inside, parents)))
    except OSError as error:
        raise DataError(f"{folder / inside}: cannot be listed ({error.strerror or error})") from None


def _walk(folder: Path, inside: str, parents: frozenset[Inode]) -> Iterator[str]:
    inode = _inode(folder / inside)
    if inode in parents:
        return
    for entry in _entries(folder / inside):
        path = f"{inside}/{entry.name}"
        if _is_dir(entry):
            yield from _walk(folder, path, parents | {inode})
        elif _is_image(entry):
            yield path


def _inode(folder: Path) -> Inode:
    stat = folder.stat()
    return stat.st_dev, stat.st_ino


def _is_image(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is named like an image; a broken link has nothing but its name."""
    return entry.name.lower().endswith(EXTENSIONS) and not _is_dir(entry)


def _is_dir(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder; a link to itself, which cannot be followed, is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder, without hidden ones."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise DataError(f"{folder}: cannot be listed ({error.strerror or error})") from None
