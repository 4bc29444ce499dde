"""From the command line to a trained network and images for it, and how well it does on them."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dartboard.cli.arguments import UsageError
from dartboard.cli.progress import progress
from dartboard.data import Batch, Dataset, Images, LoadOptions, evaluation_batches, load_dataset
from dartboard.errors import DataError, ModelError
from dartboard.export import FORMATS, LoadedNetwork, Metadata, model_metadata, open_exported
from dartboard.nn.model_file import BEST, LAST, MODEL_KIND, Model, load_model
from dartboard.runs import Run, is_run
from dartboard.tasks import Evaluation, measure
from dartboard.utils.progress import Progress

PART_NAMES = {"test": "test", "valid": "validation", "train": "training"}
WHICH = {"best": BEST, "last": LAST}
"""The files of the networks in a training's run."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model and the file that it was loaded from."""

    model: Model
    file: Path


@dataclass(frozen=True, eq=False)
class ChosenImages:
    """Part of a data set.

    Args:
        data: The data set.
        part: Which part: `test`, `valid` or `train`.
        images: The images of the part.
    """

    data: Dataset
    part: str
    images: Images

    def __str__(self) -> str:
        return f"{len(self.images):,} {PART_NAMES[self.part]} images of {self.data.name}"


@dataclass(frozen=True, eq=False)
class NetworkResults:
    """How well and how fast a network classifies images.

    Args:
        evaluation: Loss, accuracies and confusion, with the classes in the order of the network's.
        classes: Names of the classes.
        chosen: The images.
        seconds: How long it took, reading included.
        device: The device it was computed on.
    """

    evaluation: Evaluation
    classes: tuple[str, ...]
    chosen: ChosenImages
    seconds: float
    device: str

    @property
    def speed(self) -> float:
        """Images a second."""
        return self.evaluation.examples / self.seconds

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        images = {"data": self.chosen.data.name, "part": self.chosen.part, "classes": list(self.classes)}
        return images | self.evaluation.facts() | {"images_per_second": self.speed, "device": self.device}


def find_network(text: str, which: str | None, device: torch.device) -> LoadedNetwork:
    """The network that a text names, ready to run: of a run, in a model's file, or exported.

    Raises:
        DartboardError: If there is none.
    """
    path = Path(text)
    if path.is_dir() or path.suffix == MODEL_KIND:
        model = find_model(text, which).model
        return LoadedNetwork(model.net.to(device), model_metadata(model))
    if which is not None:
        raise UsageError(f"--which chooses between the networks of a run; {text} is a file")
    if path.suffix not in {form.suffix for form in FORMATS.values()}:
        kinds = ", ".join(sorted({MODEL_KIND, *(form.suffix for form in FORMATS.values())}))
        raise ModelError(f"{text} is neither a run nor a network: those are files of kind {kinds}")
    return open_exported(path, device)


def find_model(text: str, which: str | None) -> LoadedModel:
    """The model that a text names: of a run, or in a file.

    Args:
        text: A directory or a file.
        which: `best` or `last`, of a run; None for the best.

    Raises:
        DartboardError: If there is none.
    """
    path = Path(text)
    if path.is_dir():
        path = path / WHICH[which or "best"]
        if not path.is_file():
            raise ModelError(_missing_model(path))
    elif which is not None:
        raise UsageError(f"--which chooses between the networks of a run; {text} is a file")
    return LoadedModel(load_model(path), path)


def _missing_model(path: Path) -> str:
    """Why there is no such file, and what to do."""
    folder = path.parent
    kind = Run.read(folder).config.get("kind", "search") if is_run(folder) else None
    if kind == "train":
        return f"the training {folder} has no {path.name} yet; go on with: dartboard train --resume {folder}"
    if kind == "search":
        train = f"dartboard train {folder} --recipe quick"
        return f"the run {folder} has found a cell, but it is not trained; train it: {train}"
    if kind == "protocol":
        return f"{folder} holds many trainings; name one of those in {folder / 'final'}"
    return f"{folder} is no run of dartboard train: it has no {path.name}"


def load_images(name: str, metadata: Metadata) -> Dataset:
    """A data set with images of the size that a network takes.

    Raises:
        DataError: If there is no such data set, or its images do not have the shape that the network takes.
    """
    _, height, width = metadata.input
    broken: dict[str, str] = {}
    with progress() as report_progress:
        options = LoadOptions(
            size=height if height == width else None, progress=report_progress, broken=broken.__setitem__
        )
        # As in training, the center is cropped from an image as it is in its file, not from a resized one.
        data = load_dataset(name, replace(options, memory=0) if metadata.crop_pct < 1 else options)
    if broken:
        notice = f"{len(broken):,} files that cannot be read are left out; see dartboard data show {name}"
        print(f"dartboard: {notice}", file=sys.stderr)
    if data.shape != metadata.input:
        actual, expected = ("x".join(map(str, shape)) for shape in (data.shape, metadata.input))
        raise DataError(
            f"images of {data.name!r} are {actual}, the network takes {expected} (channels x height x width)"
        )
    return data


def choose_images(data: Dataset, part: str | None = None) -> ChosenImages:
    """One part of a data set; by default the first of test, validation and training images that it has.

    Raises:
        DataError: If it has no such images.
    """
    parts = {"test": data.test, "valid": data.valid, "train": data.train}
    present = {name: images for name, images in parts.items() if images is not None and len(images)}
    part = part or next(iter(present))
    if part not in present:
        flags = " or ".join(f"--part {name}" for name in present)
        raise DataError(f"data set {data.name!r} has no {PART_NAMES[part]} images; use {flags}")
    return ChosenImages(data, part, present[part])


def evaluate_network(
    network: LoadedNetwork, chosen: ChosenImages, *, batch: int, device: torch.device
) -> NetworkResults:
    """Run a network on images.

    Args:
        network: The network.
        chosen: The images; their classes must be the network's, in any order.
        batch: Images at once.
        device: The device to compute on.

    Raises:
        DataError: If the classes differ.
    """
    metadata, images = network.metadata, chosen.images
    indices = class_indices(chosen.data.classes, metadata.classes).to(device)

    def batches(report_progress: Progress) -> Iterator[tuple[Tensor, Tensor]]:
        done = 0
        for x, y in network_batches(images, metadata, batch=batch, device=device):
            yield x, indices[y]
            done += len(y)
            report_progress("measuring", done, len(images))

    start = time.perf_counter()
    with progress() as report_progress:
        evaluation = measure(network.forward, batches(report_progress), len(metadata.classes))
    return NetworkResults(evaluation, metadata.classes, chosen, time.perf_counter() - start, str(device))


def network_batches(
    images: Images, metadata: Metadata, *, batch: int, device: torch.device, limit: int | None = None
) -> Iterator[Batch]:
    """One pass over images, normalized as a network takes them; at most `limit` of them, spread evenly."""
    return evaluation_batches(
        images,
        batch=batch,
        mean=metadata.mean,
        std=metadata.std,
        crop_pct=metadata.crop_pct,
        device=device,
        limit=limit,
    )


def class_indices(data_classes: tuple[str, ...], network_classes: tuple[str, ...]) -> Tensor:
    """For each class of a data set its index among a network's, int64 [C].

    Raises:
        DataError: If they are not the same classes.
    """
    if data_classes == network_classes:
        return torch.arange(len(data_classes))
    if len({*data_classes}) < len(data_classes) or sorted(data_classes) != sorted(network_classes):
        ours, theirs = _shorten(data_classes), _shorten(network_classes)
        raise DataError(f"the data has the classes {ours}; the network tells {theirs} apart")
    return torch.tensor([network_classes.index(name) for name in data_classes])


def _shorten(classes: tuple[str, ...]) -> str:
    shown = ", ".join(classes[:5])
    return shown if len(classes) <= 5 else f"{shown} and {len(classes) - 5} more"
