"""Freiburg groceries (Jund et al. 2016), whose splits are in text files."""

from pathlib import Path

from dartboard.data.datasets.folder import read_listing
from dartboard.data.datasets.folder_listing import FileList, Listing
from dartboard.data.files import is_relative_inside, read_lines
from dartboard.data.registry import Download, PublishedDataset, find_paths, register_published
from dartboard.errors import DataError

SPLITS = {"train": "splits/train0.txt", "test": "splits/test0.txt"}
"""The first of five splits that the authors made."""
ARCHIVE = "freiburg_groceries_dataset.tar.gz"
SITES = (
    "http://aisdatasets.informatik.uni-freiburg.de/freiburg_groceries_dataset/",
    "http://www2.informatik.uni-freiburg.de/~eitel/freiburg_groceries_dataset/",
)
REPOSITORY = "https://raw.githubusercontent.com/PhilJd/freiburg_groceries_dataset/master/"


def list_freiburg(folder: Path) -> Listing:
    """The files of the first split, with the authors' class numbers."""
    splits = {split: _read_split(folder / file) for split, file in SPLITS.items()}
    pairs = {(number, file.partition("/")[0]) for lines in splits.values() for file, number in lines}
    names = dict(sorted(pairs))
    if not len(pairs) == len(names) == len(set(names.values())):
        raise DataError(f"{folder}: a class has several numbers, or a number several classes, in its splits")
    if list(names) != list(range(len(names))):
        raise DataError(f"{folder}: its {len(names)} classes are not numbered from 0 to {len(names) - 1}")
    lists = {
        split: FileList(tuple(f"images/{file}" for file, _ in lines), tuple(number for _, number in lines))
        for split, lines in splits.items()
    }
    return Listing(folder, tuple(names.values()), lists)


def _read_split(file: Path) -> list[tuple[str, int]]:
    """File and class number of lines such as `BEANS/BEANS0008.png 15`."""
    pairs = []
    for line in read_lines(file):
        path, _, number = line.rpartition(" ")
        if not path or not number.isdecimal() or not is_relative_inside(path):
            raise DataError(f"{file}: has the line {line!r}; expected one like 'BEANS/BEANS0008.png 15'")
        pairs.append((path, int(number)))
    return pairs


register_published(
    PublishedDataset(
        "freiburg",
        "4,947 color images of groceries of 256x256 pixels in 25 classes (Jund et al. 2016).",
        find_paths("images/", *SPLITS.values(), subfolders=("freiburg_groceries_dataset",)),
        lambda path, options: read_listing("freiburg", list_freiburg(path), options),
        files="images/CLASS/, splits/train0.txt and splits/test0.txt",
        homepage="https://github.com/PhilJd/freiburg_groceries_dataset",
        downloads=(
            Download(ARCHIVE, tuple(site + ARCHIVE for site in SITES), folder="images", top="images"),
            *(Download(file, (REPOSITORY + file,)) for file in SPLITS.values()),
        ),
    )
)
