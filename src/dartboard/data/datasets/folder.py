"""Data sets with one image per file, and the cache of what reading their files has shown."""

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from statistics import median_low

import torch

from dartboard.data.dataset import (
    MOMENT_IMAGES,
    Dataset,
    Images,
    ImageSet,
    LoadOptions,
    Moments,
    Shape,
    moments,
)
from dartboard.data.datasets.folder_listing import Listing, list_folder
from dartboard.data.image_files import ImageFiles, decode, map_files
from dartboard.errors import DataError
from dartboard.utils.atomic import write_text
from dartboard.utils.text import printable

LOG = logging.getLogger(__name__)

LARGEST_SIDE = 224
"""Images of different sizes are resized to at most this unless a size is given."""
SIDE_MULTIPLE = 8
"""Images of different sizes are resized to a multiple of this, which a network can halve three times."""
NAMED_FILES = 3
"""Number of broken files that are named in a warning."""
CACHE_VERSION = 2
"""Version of the cache files and of what is checked; files of other versions are ignored."""


@dataclass(frozen=True)
class Survey:
    """What decoding every file of a folder has shown.

    Args:
        classes: Number of readable files by split and class.
        sizes: Number of images by width and height.
        gray: Whether no image has color.
        broken: Reason by path below the folder, for each unreadable file.
        moments: Mean and standard deviation of the training images, by the shape they are converted to.
    """

    classes: Mapping[str, Mapping[str, int]]
    sizes: Mapping[tuple[int, int], int]
    gray: bool
    broken: Mapping[str, str]
    moments: Mapping[Shape, Moments] = field(default_factory=dict)


def read_folder(path: Path, options: LoadOptions, name: str | None = None) -> Dataset:
    """The images in a folder that has one subfolder for each class, named after the folder.

    Classes are numbered in the order of their names. `dartboard.data.datasets.folder_listing` says how the
    folder may be split into training, validation and test images, `read_listing` how images are converted to
    one shape.
    """
    return read_listing(name or path.resolve().name, list_folder(path), options)


def read_listing(name: str, listing: Listing, options: LoadOptions) -> Dataset:
    """The data set of labeled files.

    Every file is opened and decoded once; broken files are left out with a warning. The results are cached
    until a file changes. Images have one channel if all are gray, else three. Their size is that of the
    options, else their own if all have the same; images of different sizes are converted to squares whose
    side is the median of their shorter sides, at most 224, rounded down to a multiple of 8. Images that fit
    in `options.memory` are loaded, others stay in their files; mean and standard deviation are those of at
    most 10,000 evenly spaced training images in either case.

    Raises:
        DataError: If there are fewer than two classes, or a class has no readable file.
    """
    if not listing.classes:
        raise DataError(f"{listing.folder}: has no images; put those of each class in a folder of their own")
    if len(listing.classes) == 1:
        raise DataError(
            f"{listing.folder}: has the single class {listing.classes[0]!r}; there must be at least two"
        )
    fingerprint = listing.fingerprint()
    result = read_cache(listing.folder, fingerprint)
    # A broken file may have become readable without a change to the file itself.
    if result is None or any(not isinstance(_check(str(listing.folder / f)), str) for f in result.broken):
        result = survey(listing, options)
        write_cache(listing.folder, fingerprint, result)
    _report_broken(listing, result, options)
    shape = _choose_shape(result, options)
    splits = _load_splits(listing, result, shape, options)
    known = result.moments.get(shape)
    if known is None:
        train = splits["train"]
        if isinstance(train, ImageFiles):
            known = train.moments(lambda *counts: options.report_progress("measuring images", *counts))
        else:
            known = moments(train.spread(MOMENT_IMAGES))
        write_cache(listing.folder, fingerprint, replace(result, moments={**result.moments, shape: known}))
    return Dataset(name, listing.classes, splits["train"], splits.get("test"), splits.get("valid"), known)


def survey(listing: Listing, options: LoadOptions) -> Survey:
    """Open and decode every file of a listing."""
    files, broken, sizes, gray = listing.files, {}, Counter[tuple[int, int]](), True
    paths = [str(listing.folder / file) for file in files]
    for done, (file, check) in enumerate(zip(files, map_files(_check, paths), strict=True), 1):
        options.report_progress("checking images", done, len(files))
        if isinstance(check, str):
            broken[file] = check
        else:
            sizes[check[:2]] += 1
            gray = gray and check[2]
    classes = {}
    for name, split in listing.splits.items():
        pairs = zip(split.files, split.labels, strict=True)
        counts = Counter(label for file, label in pairs if file not in broken)
        classes[name] = {class_name: counts[label] for label, class_name in enumerate(listing.classes)}
    return Survey(classes, sizes, gray, broken)


def _check(file: str) -> tuple[int, int, bool] | str:
    """Width, height and whether it is gray, of an image; or the reason why the file is broken."""
    try:
        image = decode(file, None)
    except DataError as error:
        return str(error).removeprefix(f"{file}: ").removeprefix("cannot be read as an image ").strip("()")
    return *image.size, image.mode == "L"


def _report_broken(listing: Listing, result: Survey, options: LoadOptions) -> None:
    """Report the files that are left out: some in a warning, all to the callback.

    Raises:
        DataError: If a class has no readable file in a split.
    """
    folder, broken = listing.folder, result.broken
    if options.broken is not None:
        for file, reason in broken.items():
            options.broken(str(folder / file), reason)
    if broken:
        named = ", ".join(
            f"{printable(file)} ({printable(reason)})" for file, reason in list(broken.items())[:NAMED_FILES]
        )
        more = f" and {len(broken) - NAMED_FILES:,} more" if len(broken) > NAMED_FILES else ""
        where = printable(str(folder))
        LOG.warning("%s: broken files that are left out, %s: %s%s", where, f"{len(broken):,}", named, more)
    for split, counts in result.classes.items():
        for name, count in counts.items():
            if not count:
                files = listing.splits[split].labels.count(listing.classes.index(name))
                reason = f"none of its {files:,} files can be read" if files else "it has no images"
                raise DataError(f"{folder}: class {name!r} of {split} is empty: {reason}")


def _choose_shape(result: Survey, options: LoadOptions) -> Shape:
    """The shape that all images are converted to."""
    channels = 1 if result.gray else 3
    if options.size is not None:
        return channels, options.size, options.size
    if len(result.sizes) == 1:
        width, height = next(iter(result.sizes))
        return channels, height, width
    shorter_sides = Counter[int]()
    for size, count in result.sizes.items():
        shorter_sides[min(size)] += count
    side = min(median_low(shorter_sides.elements()), LARGEST_SIDE)
    side = side - side % SIDE_MULTIPLE if side >= SIDE_MULTIPLE else side
    return channels, side, side


def _load_splits(
    listing: Listing, result: Survey, shape: Shape, options: LoadOptions
) -> Mapping[str, Images]:
    """The readable files of each split, in memory if all fit."""
    splits = {}
    for name, split in listing.splits.items():
        pairs = [
            (str(listing.folder / file), label)
            for file, label in zip(split.files, split.labels, strict=True)
            if file not in result.broken
        ]
        files, labels = tuple(file for file, _ in pairs), torch.tensor([label for _, label in pairs])
        splits[name] = ImageFiles(files, labels, shape)
    total = sum(map(len, splits.values()))
    if total * prod(shape) > options.memory:
        return splits
    every_file = tuple(file for split in splits.values() for file in split.files)
    loaded = ImageFiles(every_file, torch.cat([split.labels for split in splits.values()]), shape).load(
        lambda done: options.report_progress("reading images", done, total)
    )
    counts = [len(split) for split in splits.values()]
    pieces = zip(loaded.images.split(counts), loaded.labels.split(counts), strict=True)
    return {name: ImageSet(*piece) for name, piece in zip(splits, pieces, strict=True)}


def read_cache(folder: Path, fingerprint: str) -> Survey | None:
    """The cached survey of a folder; None if there is none, it is damaged, or a file has changed since."""
    try:
        values = json.loads(_cache_file(folder).read_bytes())
        if (values["version"], values["fingerprint"]) != (CACHE_VERSION, fingerprint):
            return None
        classes = {
            str(split): {str(name): int(count) for name, count in counts.items()}
            for split, counts in values["classes"].items()
        }
        sizes = Counter({(int(width), int(height)): int(count) for width, height, count in values["sizes"]})
        broken = {str(file): str(reason) for file, reason in values["broken"].items()}
        known = {}
        for channels, height, width, pairs in values["moments"]:
            shape = (int(channels), int(height), int(width))
            known[shape] = tuple((float(mean), float(std)) for mean, std in pairs)
            if len(known[shape]) != shape[0] or not all(std > 0 for _, std in known[shape]):
                raise ValueError(f"no moments of {shape[0]} channels: {pairs}")
        return Survey(classes, sizes, bool(values["grey"]), broken, known)
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
        LOG.info("the cache of %s cannot be read and is ignored (%s)", folder, error)
        return None


def write_cache(folder: Path, fingerprint: str, result: Survey) -> None:
    """Cache a survey; where that fails it is made anew the next time."""
    values = {
        "version": CACHE_VERSION,
        "fingerprint": fingerprint,
        "folder": str(folder.absolute()),
        "classes": result.classes,
        "sizes": [[*size, count] for size, count in result.sizes.items()],
        "grey": result.gray,
        "broken": result.broken,
        "moments": [[*shape, values] for shape, values in result.moments.items()],
    }
    try:
        file = _cache_file(folder)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, json.dumps(values))
    except (OSError, RuntimeError) as error:
        LOG.info("the survey of %s cannot be cached (%s)", folder, error)


def _cache_file(folder: Path) -> Path:
    """The cache file of a folder, in $XDG_CACHE_HOME/dartboard or ~/.cache/dartboard.

    Raises:
        RuntimeError: If the home folder is not known.
    """
    variable = Path(os.environ.get("XDG_CACHE_HOME", ""))
    cache = (variable if variable.is_absolute() else Path.home() / ".cache") / "dartboard"
    name = hashlib.sha256(str(folder.absolute()).encode(errors="surrogateescape")).hexdigest()[:32]
    return cache / "folders" / f"{name}.json"
