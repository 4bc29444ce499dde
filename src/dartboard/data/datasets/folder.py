"""Data sets whose images are in a file each."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from statistics import median_low

import torch

from dartboard.data.dataset import MOMENT_IMAGES, Dataset, Images, ImageSet, Moments, Shape, moments
from dartboard.data.datasets.folder_cache import Findings, recall, remember
from dartboard.data.datasets.folder_layout import list_folder
from dartboard.data.datasets.folder_listing import Listing, Part
from dartboard.data.image_files import ImageFiles, decode_as
from dartboard.data.load_options import LoadOptions
from dartboard.data.thread_map import over_files
from dartboard.errors import DataError
from dartboard.utils.text import printable

LOG = logging.getLogger(__name__)
LARGEST = 224
"""Images of many sizes are brought to no more than this unless a size is asked for."""
STEP = 8
"""Images of many sizes are brought to a multiple of this, which a network can halve three times."""
NAMED = 3
"""So many of the broken files are named in a warning."""

Check = tuple[int, int, bool] | str
"""Width, height and whether it is grey, of an image; or what is wrong with the file."""


def read_folder(path: Path, loading: LoadOptions, name: str | None = None) -> Dataset:
    """The images in a folder that has one subfolder for each class, called after the folder.

    Classes are numbered in the order of their names. `dartboard.data.datasets.folder_layout` says how the
    folder may be divided into training, validation and test images, `read_listing` how images
    are brought to one shape.
    """
    return read_listing(name or path.resolve().name, list_folder(path), loading)


def read_listing(name: str, listing: Listing, loading: LoadOptions) -> Dataset:
    """The data set of labelled files.

    Every file is opened and decoded once; those that are broken are left out with a warning. What was
    found is remembered until a file changes. Images have one channel if all are grey, else three. Their size
    is the one asked for, else their own if they have one; images of many sizes are brought to squares whose
    side is the median of their shorter sides, at most 224, rounded down to a multiple of 8. Images that fit
    in `loading.memory` are loaded, others stay in their files; mean and deviation are those of at most 10,000
    training images at even distances in either case.

    Raises:
        DataError: If there are fewer than two classes, or a class has no readable file.
    """
    _check_classes(listing)
    fingerprint = listing.fingerprint()
    findings = recall(listing.folder, fingerprint)
    if findings is None or _is_mended(listing, findings):
        findings = survey(listing, loading)
        remember(listing.folder, fingerprint, findings)
    _report(listing.folder, findings.broken, loading)
    _check_whole(listing, findings)
    parts = _parts(listing, findings, _shape(findings, loading))
    return _dataset(name, listing, parts, findings, loading, fingerprint)


def _check_classes(listing: Listing) -> None:
    if not listing.classes:
        raise DataError(f"{listing.folder}: has no images; put those of each class in a folder of their own")
    if len(listing.classes) == 1:
        raise DataError(
            f"{listing.folder}: has the single class {listing.classes[0]!r}; there must be at least two"
        )


def _is_mended(listing: Listing, findings: Findings) -> bool:
    """Whether a file that was broken is not any more; that a file may be read does not change the file."""
    return any(not isinstance(_check(str(listing.folder / file)), str) for file in findings.broken)


def survey(listing: Listing, loading: LoadOptions) -> Findings:
    """What opening and decoding every file of a listing shows."""
    files, broken, sizes, grey = listing.files, {}, Counter[tuple[int, int]](), True
    full = [str(listing.folder / file) for file in files]
    for done, (file, found) in enumerate(zip(files, over_files(_check, full), strict=True), 1):
        loading.tell("checking images", done, len(files))
        if isinstance(found, str):
            broken[file] = found
        else:
            sizes[found[:2]] += 1
            grey = grey and found[2]
    return Findings(_counts(listing, broken), sizes, grey, broken)


def _check(file: str) -> Check:
    try:
        image = decode_as(file, None)
    except DataError as error:
        return str(error).removeprefix(f"{file}: ").removeprefix("cannot be read as an image ").strip("()")
    return *image.size, image.mode == "L"


def _counts(listing: Listing, broken: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """How many readable files each class has, by part."""
    counts = {}
    for kind, part in listing.parts.items():
        found = Counter(own for file, own in zip(part.files, part.labels, strict=True) if file not in broken)
        counts[kind] = {name: found[number] for number, name in enumerate(listing.classes)}
    return counts


def _report(folder: Path, broken: Mapping[str, str], loading: LoadOptions) -> None:
    """Say which files are left out: some in a warning, all to whoever wants to know."""
    if loading.broken is not None:
        for file, reason in broken.items():
            loading.broken(str(folder / file), reason)
    if broken:
        some = ", ".join(
            f"{printable(file)} ({printable(reason)})" for file, reason in list(broken.items())[:NAMED]
        )
        more = f" and {len(broken) - NAMED:,} more" if len(broken) > NAMED else ""
        where = printable(str(folder))
        LOG.warning("%s: broken files that are left out, %s: %s%s", where, f"{len(broken):,}", some, more)


def _check_whole(listing: Listing, findings: Findings) -> None:
    """Raise if a class has no readable file in a part."""
    for kind, counts in findings.classes.items():
        for name, count in counts.items():
            if not count:
                files = listing.parts[kind].labels.count(listing.classes.index(name))
                reason = f"none of its {files:,} files can be read" if files else "it has no images"
                raise DataError(f"{listing.folder}: class {name!r} of {kind} is empty: {reason}")


def _shape(findings: Findings, loading: LoadOptions) -> Shape:
    channels = 1 if findings.grey else 3
    if loading.size is not None:
        return channels, loading.size, loading.size
    if len(findings.sizes) == 1:
        width, height = next(iter(findings.sizes))
        return channels, height, width
    side = min(median_low(_shorter(findings).elements()), LARGEST)
    side = side - side % STEP if side >= STEP else side
    return channels, side, side


def _shorter(findings: Findings) -> Counter[int]:
    """How many images there are of each shorter side."""
    counts = Counter[int]()
    for size, count in findings.sizes.items():
        counts[min(size)] += count
    return counts


def _parts(listing: Listing, findings: Findings, shape: Shape) -> dict[str, ImageFiles]:
    return {kind: _readable(listing.folder, part, findings, shape) for kind, part in listing.parts.items()}


def _readable(folder: Path, part: Part, findings: Findings, shape: Shape) -> ImageFiles:
    pairs = zip(part.files, part.labels, strict=True)
    kept = [(str(folder / file), label) for file, label in pairs if file not in findings.broken]
    return ImageFiles(tuple(file for file, _ in kept), torch.tensor([label for _, label in kept]), shape)


def _dataset(
    name: str,
    listing: Listing,
    parts: Mapping[str, ImageFiles],
    findings: Findings,
    loading: LoadOptions,
    fingerprint: str,
) -> Dataset:
    shape = parts["train"].shape
    total = sum(map(len, parts.values()))
    known = findings.moments.get(shape)
    brought: dict[str, Images] = dict(parts)
    if total * prod(shape) <= loading.memory:
        brought = _load(parts, total, loading)
    if known is None:
        known = _moments(brought["train"], loading)
        remember(listing.folder, fingerprint, replace(findings, moments={**findings.moments, shape: known}))
    return Dataset(name, listing.classes, brought["train"], brought.get("test"), brought.get("valid"), known)


def _moments(images: Images, loading: LoadOptions) -> Moments:
    if isinstance(images, ImageFiles):
        return images.moments(lambda done, total: loading.tell("measuring images", done, total))
    return moments(images.spread(MOMENT_IMAGES))


def _load(parts: Mapping[str, ImageFiles], total: int, loading: LoadOptions) -> dict[str, Images]:
    """All parts in memory."""
    files = tuple(file for part in parts.values() for file in part.files)
    labels = torch.cat([part.labels for part in parts.values()])
    whole = ImageFiles(files, labels, parts["train"].shape).load(
        lambda done: loading.tell("reading images", done, total)
    )
    counts = [len(part) for part in parts.values()]
    pieces = zip(whole.images.split(counts), whole.labels.split(counts), strict=True)
    return {kind: ImageSet(*piece) for kind, piece in zip(parts, pieces, strict=True)}
