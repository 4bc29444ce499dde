"""Folders of images whose classes or parts are in text files: Tiny-ImageNet-200 and Freiburg groceries."""

from collections import Counter
from pathlib import Path

from dartboard.data.datasets.archive_files import read_file
from dartboard.data.datasets.folder_layout import list_folder
from dartboard.data.datasets.folder_listing import Listing, Part, images_below
from dartboard.errors import DataError

TINY = ("wnids.txt", "words.txt", "val/val_annotations.txt")
SPLITS = {"train": "splits/train0.txt", "test": "splits/test0.txt"}
"""The first of five divisions that the authors made."""


def find_tiny(folder: Path) -> Path | None:
    """The folder of Tiny-ImageNet-200, or nothing."""
    places = (folder, folder / "tiny-imagenet-200")
    return next(
        (place for place in places if (place / TINY[0]).is_file() and (place / "train").is_dir()), None
    )


def list_tiny(folder: Path) -> Listing:
    """The files of Tiny-ImageNet-200; its validation images are the test, as its test images have no labels.

    Classes are in the order of their WordNet numbers, and are called by the first word for each.
    """
    numbers = sorted(_words(folder / TINY[0]))
    if outside := next((number for number in numbers if not _is_name(number)), None):
        raise DataError(f"{folder / TINY[0]}: has {outside!r}, which is the name of no folder in train")
    train = _by_class(folder, numbers)
    test = (
        _annotated(folder, numbers) if (folder / TINY[2]).is_file() else list_folder(folder).parts.get("test")
    )
    if test is None:
        raise DataError(f"{folder}: has no {TINY[2]}, which says what the validation images show")
    return Listing(folder, readable(folder, numbers), {"train": train, "test": test})


def _by_class(folder: Path, numbers: list[str]) -> Part:
    files = [images_below(folder, f"train/{number}") for number in numbers]
    labels = [[label] * len(own) for label, own in enumerate(files)]
    return Part(tuple(file for own in files for file in own), tuple(label for own in labels for label in own))


def _annotated(folder: Path, numbers: list[str]) -> Part:
    """The validation images: file, class and a box a line."""
    places = {number: place for place, number in enumerate(numbers)}
    files, labels = [], []
    for line in _lines(folder / TINY[2]):
        file, number, *_ = [*line.split("\t"), ""]
        if number not in places or not _is_inside(file):
            raise DataError(
                f"{folder / TINY[2]}: has {file!r} of class {number!r}, which is not in {TINY[0]}"
            )
        files.append(f"val/images/{file}")
        labels.append(places[number])
    return Part(tuple(files), tuple(labels))


def readable(folder: Path, numbers: list[str]) -> tuple[str, ...]:
    """The first word for each WordNet number, with the number where two have one word or none is known."""
    words = {}
    if (folder / TINY[1]).is_file():
        for line in _lines(folder / TINY[1]):
            number, _, meaning = line.partition("\t")
            words[number] = meaning.split(",")[0].strip()
    names = [words.get(number, "") for number in numbers]
    often = Counter(names)
    return tuple(
        name if name and often[name] == 1 else f"{name} {number}".strip()
        for name, number in zip(names, numbers, strict=True)
    )


def find_freiburg(folder: Path) -> Path | None:
    """The folder of the Freiburg groceries, or nothing."""
    places = (folder, folder / "freiburg_groceries_dataset")
    there = (place for place in places if (place / "images").is_dir())
    return next((place for place in there if all((place / file).is_file() for file in SPLITS.values())), None)


def list_freiburg(folder: Path) -> Listing:
    """The files of the Freiburg groceries in the first of their divisions, with the authors' numbers."""
    found = {part: _division(folder / file) for part, file in SPLITS.items()}
    pairs = {(number, file.partition("/")[0]) for own in found.values() for file, number in own}
    names = dict(sorted(pairs))
    if not len(pairs) == len(names) == len(set(names.values())):
        raise DataError(f"{folder}: a class has several numbers, or a number several classes, in its splits")
    if list(names) != list(range(len(names))):
        raise DataError(f"{folder}: its {len(names)} classes are not numbered from 0 to {len(names) - 1}")
    return Listing(folder, tuple(names.values()), {part: _part(own) for part, own in found.items()})


def _part(pairs: list[tuple[str, int]]) -> Part:
    return Part(tuple(f"images/{file}" for file, _ in pairs), tuple(number for _, number in pairs))


def _division(file: Path) -> list[tuple[str, int]]:
    """Lines such as `BEANS/BEANS0008.png 15`."""
    pairs = []
    for line in _lines(file):
        path, _, number = line.rpartition(" ")
        if not path or not number.isdecimal() or not _is_inside(path):
            raise DataError(f"{file}: has the line {line!r}; expected one like 'BEANS/BEANS0008.png 15'")
        pairs.append((path, int(number)))
    return pairs


def _is_name(number: str) -> bool:
    return _is_inside(number) and "/" not in number and number != "."


def _is_inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _lines(file: Path) -> list[str]:
    text = read_file(file).decode(errors="replace")
    return [line for line in text.splitlines() if line.strip()]


def _words(file: Path) -> set[str]:
    return {word for line in _lines(file) for word in line.split()}
