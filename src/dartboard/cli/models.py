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
from dartboard.nn.model_file import MODEL_KIND, Model, load_model
from dartboard.runs import Run, is_run
from dartboard.tasks import Evaluation, measure
from dartboard.train.trainer import BEST, LAST
from dartboard.utils.progress import Progress

WORDS = {"test": "test", "valid": "validation", "train": "training"}


@dataclass(frozen=True, eq=False)
class Chosen:
    """Images of a data set to measure with.

    Args:
        data: The data set.
        part: What they are for: `test`, `valid` or `train`.
        images: They themselves.
    """

    data: Dataset
    part: str
    images: Images

    def __str__(self) -> str:
        return f"{len(self.images):,} {WORDS[self.part]} images of {self.data.name}"


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured.

    Args:
        found: The figures, classes in the order of the network's.
        classes: Their names.
        chosen: The images.
        seconds: How long it took, reading included.
        device: Where it was computed.
    """

    found: Evaluation
    classes: tuple[str, ...]
    chosen: Chosen
    seconds: float
    device: str

    @property
    def speed(self) -> float:
        """Images a second."""
        return self.found.examples / self.seconds

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        where = {"data": self.chosen.data.name, "part": self.chosen.part, "classes": list(self.classes)}
        return where | self.found.facts() | {"images_per_second": self.speed, "device": self.device}


def load_images(name: str, metadata: Metadata) -> Dataset:
    """A data set with images of the size that a network takes.

    Raises:
        DataError: If there is none, or its images cannot be what the network takes.
    """
    _, height, width = metadata.input
    size, broken = height if height == width else None, dict[str, str]()
    with progress() as tell:
        loading = LoadOptions(size=size, progress=tell, broken=broken.__setitem__)
        # The centre is that of an image as it is in its file, as in training.
        data = load_dataset(name, replace(loading, memory=0) if metadata.crop_pct < 1 else loading)
    if broken:
        words = f"{len(broken):,} files that cannot be read are left out; see dartboard data show {name}"
        print(f"dartboard: {words}", file=sys.stderr)
    if data.shape != metadata.input:
        raise DataError(
            f"images of {data.name!r} are {_shape(data.shape)}, the network takes {_shape(metadata.input)} "
            "(channels x height x width)"
        )
    return data


def choose_images(data: Dataset, part: str | None = None) -> Chosen:
    """The images of a data set that are for testing, choosing or training; None for the first there are.

    Raises:
        DataError: If it has none of them.
    """
    parts = {"test": data.test, "valid": data.valid, "train": data.train}
    there = {name: images for name, images in parts.items() if images is not None and len(images)}
    wanted = part or next(iter(there))
    if wanted not in there:
        names = " or ".join(f"--part {name}" for name in there)
        raise DataError(f"data set {data.name!r} has no {WORDS[wanted]} images; use {names}")
    return Chosen(data, wanted, there[wanted])


def _shape(shape: tuple[int, int, int]) -> str:
    return "x".join(map(str, shape))


def measure_network(network: LoadedNetwork, chosen: Chosen, *, batch: int, device: torch.device) -> Measured:
    """Runs a network on images.

    Args:
        network: The network.
        chosen: The images; their classes must be the network's, in any order.
        batch: How many at once.
        device: Where.

    Raises:
        DataError: If the classes are others.
    """
    metadata = network.metadata
    table = places(chosen.data.classes, metadata.classes)
    start = time.perf_counter()
    with progress() as tell:
        batches = _batches(chosen.images, metadata, table, batch=batch, device=device, tell=tell)
        found = measure(network.forward, batches, len(metadata.classes))
    return Measured(found, metadata.classes, chosen, time.perf_counter() - start, str(device))


def normalised(
    images: Images, metadata: Metadata, *, batch: int, device: torch.device, limit: int | None = None
) -> Iterator[Batch]:
    """One pass over images as a network takes them; at most `limit` of them, spread evenly."""
    return evaluation_batches(
        images,
        batch=batch,
        mean=metadata.mean,
        std=metadata.std,
        crop_pct=metadata.crop_pct,
        device=device,
        limit=limit,
    )


def _batches(
    images: Images, metadata: Metadata, table: Tensor, *, batch: int, device: torch.device, tell: Progress
) -> Iterator[tuple[Tensor, Tensor]]:
    """Normalised images and the network's numbers of their classes."""
    table, done = table.to(device), 0
    for x, y in normalised(images, metadata, batch=batch, device=device):
        yield x, table[y]
        done += len(y)
        tell("measuring", done, len(images))


def places(classes: tuple[str, ...], wanted: tuple[str, ...]) -> Tensor:
    """For each class of a data set its place among a network's, int64 [C].

    Raises:
        DataError: If they are not the same classes.
    """
    if classes == wanted:
        return torch.arange(len(classes))
    if len({*classes}) < len(classes) or sorted(classes) != sorted(wanted):
        raise DataError(
            f"the data has the classes {_names(classes)}; the network tells {_names(wanted)} apart"
        )
    return torch.tensor([wanted.index(name) for name in classes])


def _names(classes: tuple[str, ...]) -> str:
    shown = ", ".join(classes[:5])
    return shown if len(classes) <= 5 else f"{shown} and {len(classes) - 5} more"


WHICH = {"best": BEST, "last": LAST}
"""The networks that a training keeps."""


@dataclass(frozen=True, eq=False)
class Found:
    """A model and the file that it is from."""

    model: Model
    file: Path


def find_model(text: str, which: str | None) -> Found:
    """The model that is meant: of a run, or in a file.

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
            raise ModelError(_untrained(path))
    elif which is not None:
        raise UsageError(f"--which chooses between the networks of a run; {text} is a file")
    return Found(load_model(path), path)


def _untrained(path: Path) -> str:
    """Why a directory has no such network."""
    folder = path.parent
    kind = Run.read(folder).config.get("kind", "search") if is_run(folder) else None
    if kind == "train":
        return f"the training {folder} has no {path.name} yet; go on with: dartboard train --resume {folder}"
    if kind == "search":
        again = f"dartboard train {folder} --recipe quick"
        return f"the run {folder} has found a cell, but it is not trained; train it: {again}"
    if kind == "protocol":
        return f"{folder} holds many trainings; name one of those in {folder / 'final'}"
    return f"{folder} is no run of dartboard train: it has no {path.name}"


def find_network(text: str, which: str | None, device: torch.device) -> LoadedNetwork:
    """The network that is meant, ready to run: of a run, in a model's file, or exported.

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
