"""Tiny-ImageNet-200, whose classes and validation labels are in text files."""

from collections import Counter
from pathlib import Path

from dartboard.data.datasets.folder import read_listing
from dartboard.data.datasets.folder_listing import FileList, Listing, images_below, list_folder
from dartboard.data.files import is_relative_inside, read_lines
from dartboard.data.registry import Download, PublishedDataset, find_paths, register_published
from dartboard.errors import DataError

CLASS_IDS, CLASS_NAMES, VALID_LABELS = "wnids.txt", "words.txt", "val/val_annotations.txt"
FOLDER = "tiny-imagenet-200"
URL = f"http://cs231n.stanford.edu/{FOLDER}.zip"


def list_tiny_imagenet(folder: Path) -> Listing:
    """The files of Tiny-ImageNet-200; its validation images are the test, as its test images have no labels.

    Classes are in the order of their WordNet ids, and named by the first word for each.
    """
    ids = sorted({word for line in read_lines(folder / CLASS_IDS) for word in line.split()})
    for class_id in ids:
        if not is_relative_inside(class_id) or "/" in class_id or class_id == ".":
            raise DataError(
                f"{folder / CLASS_IDS}: has {class_id!r}, which is the name of no folder in train"
            )
    files: list[str] = []
    labels: list[int] = []
    for label, class_id in enumerate(ids):
        class_files = images_below(folder, f"train/{class_id}")
        files += class_files
        labels += [label] * len(class_files)
    if (folder / VALID_LABELS).is_file():
        test: FileList | None = _list_annotated(folder, ids)
    else:
        test = list_folder(folder).splits.get("test")
    if test is None:
        raise DataError(f"{folder}: has no {VALID_LABELS}, which says what the validation images show")
    train = FileList(tuple(files), tuple(labels))
    return Listing(folder, _class_names(folder, ids), {"train": train, "test": test})


def _list_annotated(folder: Path, ids: list[str]) -> FileList:
    """The validation images: file, class and a box on each line."""
    label_of = {class_id: label for label, class_id in enumerate(ids)}
    files, labels = [], []
    for line in read_lines(folder / VALID_LABELS):
        file, class_id, *_ = [*line.split("\t"), ""]
        if class_id not in label_of or not is_relative_inside(file):
            raise DataError(
                f"{folder / VALID_LABELS}: has {file!r} of class {class_id!r}, which is not in {CLASS_IDS}"
            )
        files.append(f"val/images/{file}")
        labels.append(label_of[class_id])
    return FileList(tuple(files), tuple(labels))


def _class_names(folder: Path, ids: list[str]) -> tuple[str, ...]:
    """The first word for each WordNet id, with the id where two have the same word or none is known."""
    words = {}
    if (folder / CLASS_NAMES).is_file():
        for line in read_lines(folder / CLASS_NAMES):
            class_id, _, meaning = line.partition("\t")
            words[class_id] = meaning.split(",")[0].strip()
    names = [words.get(class_id, "") for class_id in ids]
    counts = Counter(names)
    return tuple(
        name if name and counts[name] == 1 else f"{name} {class_id}".strip()
        for name, class_id in zip(names, ids, strict=True)
    )


register_published(
    PublishedDataset(
        "tiny-imagenet",
        "110,000 color images of 64x64 pixels in 200 classes, tested on its validation images.",
        find_paths(CLASS_IDS, "train/", subfolders=(FOLDER,)),
        lambda path, options: read_listing("tiny-imagenet", list_tiny_imagenet(path), options),
        files="train/, val/, wnids.txt and words.txt out of tiny-imagenet-200.zip",
        homepage=URL,
        downloads=(
            Download(
                f"{FOLDER}.zip", (URL,), 248_100_043, "90528d7ca1a48142e341f4ef8d21d0de", FOLDER, top=FOLDER
            ),
        ),
    )
)
