"""How folders of images are divided: by class, and into training, validation and test images."""

import logging
from pathlib import Path

from dartboard.data.datasets.folder_listing import Listing, Part, images_below, images_in, subfolders
from dartboard.errors import DataError
from dartboard.utils.text import printable

LOG = logging.getLogger(__name__)
NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}
"""What folders of parts are called, in small letters, and which part each is."""


def list_folder(folder: Path) -> Listing:
    """The labelled files of a folder.

    With a folder `train` (or `training`) that has subfolders, those are the classes, and `val` (or `valid`,
    or `validation`) and `test` (or `testing`) have the same ones; other folders are left alone. Validation
    images without test images are taken for test images, as ImageNet has it. A `test` without classes is left
    out.

    Without such a `train` every subfolder is a class, to train on. A class may be called like a part if it is
    the only one that is and has images but no folders in it: else parts would be taken for classes.

    Within a class images may be in folders of any depth. Hidden files and folders are left out.

    Raises:
        DataError: If parts have different classes, training images are missing, or a class has no images.
    """
    places = _places(folder)
    if "train" not in places:
        return Listing(folder, *_only(folder))
    classes = tuple(subfolders(folder / places["train"]))
    parts = {kind: _part(folder, place, classes) for kind, place in places.items()}
    if "valid" in parts and "test" not in parts:
        parts["test"] = parts.pop("valid")
    return Listing(folder, classes, parts)


def _places(folder: Path) -> dict[str, str]:
    """The names of the folders of the parts; none if there is no training part."""
    found: dict[str, str] = {}
    for name in subfolders(folder):
        part = NAMES.get(name.lower())
        if part is None:
            continue
        if part in found:
            raise DataError(f"{folder}: has both {found[part]!r} and {name!r}; remove one of them")
        found[part] = name
    if "train" not in found or not subfolders(folder / found["train"]):
        _check_classes(folder, found)
        return {}
    return {part: found[part] for part in ("train", "valid", "test") if _is_labelled(folder, part, found)}


def _check_classes(folder: Path, found: dict[str, str]) -> None:
    """Raise unless folders that are called like parts are classes; none of them has classes to train on."""
    if not found or (len(found) == 1 and not any(subfolders(folder / name) for name in found.values())):
        return
    names = " and ".join(map(repr, sorted(found.values())))
    train = found.get("train")
    missing = f"{train!r} has no folder for each class" if train else "no 'train' beside"
    raise DataError(
        f"{folder}: has {names}, but {missing}; put the training images into {train or 'train'}/CLASS"
    )


def _is_labelled(folder: Path, part: str, found: dict[str, str]) -> bool:
    """Whether a part is there and has classes; unlabelled test images are no use, others are a mistake."""
    if part not in found:
        return False
    if subfolders(folder / found[part]):
        return True
    count = len(images_in(folder / found[part]))
    if part == "test":
        place = printable(str(folder / found[part]))
        LOG.warning("%s: its %s images have no classes and are left out", place, f"{count:,}")
        return False
    raise DataError(
        f"{folder / found[part]}: has {count:,} images but no folder for each class; move each image into "
        f"{found[part]}/CLASS, with the names of the classes in {found['train']}"
    )


def _only(folder: Path) -> tuple[tuple[str, ...], dict[str, Part]]:
    """The classes of a folder without parts, and its images as a training part."""
    classes = tuple(subfolders(folder))
    loose = images_in(folder)
    if loose and not classes:
        raise DataError(
            f"{folder}: has {len(loose):,} images but no folders; put those of each class in one of their own"
        )
    if loose:
        place = printable(str(folder))
        LOG.warning("%s: %s images are in no class's folder and are left out", place, f"{len(loose):,}")
    return classes, {"train": _part(folder, "", classes)}


def _part(folder: Path, place: str, classes: tuple[str, ...]) -> Part:
    """The files of a part, class by class."""
    _check_same(folder / place, subfolders(folder / place), classes)
    files: list[str] = []
    labels: list[int] = []
    for number, name in enumerate(classes):
        inside = f"{place}/{name}" if place else name
        found = images_below(folder, inside)
        if not found:
            raise DataError(
                f"{folder / inside}: the class is empty; every folder in {folder / place} is a class "
                "and needs images"
            )
        files += found
        labels += [number] * len(found)
    return Part(tuple(files), tuple(labels))


def _check_same(place: Path, found: list[str], classes: tuple[str, ...]) -> None:
    """Raise unless a part has the classes of the training part."""
    missing = sorted(set(classes) - set(found))
    extra = sorted(set(found) - set(classes))
    if missing or extra:
        lacks = f"lacks {_some(missing)}" if missing else ""
        has = f"has {_some(extra)} which the training images lack" if extra else ""
        raise DataError(f"{place}: its classes are not those of the training images: it {_both(lacks, has)}")


def _both(*parts: str) -> str:
    return " and ".join(part for part in parts if part)


def _some(names: list[str]) -> str:
    """At most five names."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more
