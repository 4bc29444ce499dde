"""How well trained networks do on images: those of runs, of files, exported ones, and any module."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dartboard.data import Batch, Dataset, Images, LoadOptions, evaluation_batches, load_dataset
from dartboard.errors import DataError
from dartboard.export import LoadedNetwork, Metadata, model_metadata
from dartboard.export.models import find_network
from dartboard.nn.model_file import Model
from dartboard.runs import RunReader
from dartboard.tasks import Evaluation, measure
from dartboard.train.record import TrainResult
from dartboard.utils.progress import Progress

PART_NAMES = {"test": "test", "valid": "validation", "train": "training"}


@dataclass(frozen=True, eq=False)
class ChosenImages:
    """The images of a part of a data set: `test`, `valid` or `train`."""

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


def evaluate(
    model: Model | TrainResult | RunReader | nn.Module | str | Path,
    data: Dataset | str | Path,
    *,
    part: Literal["test", "valid", "train"] | None = None,
    which: Literal["best", "last"] | None = None,
    batch: int = 256,
    device: torch.device | str = "cpu",
) -> Evaluation:
    """Loss, accuracies and confusion matrix of a network on images.

    Args:
        model: The result or the run of a training, a model's file, an exported network, or a module from
            images to logits, which is given images normalized by the mean and std of the data.
        data: The images, the name of a data set, a file or a folder; they are brought to the network's size.
        part: Which images; None for the first of test, validation and training images that there are.
        which: The network of the best epoch of a run, the default, or that of the last.
        batch: Images at once.
        device: Where to compute.

    Raises:
        DartboardError: If there is no such network, or the images do not fit it.

    Examples:
        >>> from dartboard import Trainer, evaluate
        >>> settings = {"epochs": 1, "net": {"channels": 2, "auxiliary": 0}}
        >>> result = Trainer("|nor_conv_3x3~0|+|skip_connect~0|none~1|", "digits", **settings).fit()
        >>> evaluation = evaluate(result, "digits", part="test")
        >>> evaluation.top1 == result.best["test"].top1, evaluation.confusion.shape
        (True, torch.Size([10, 10]))
    """
    device = torch.device(device)
    if isinstance(model, nn.Module):
        images = data if isinstance(data, Dataset) else load_dataset(str(data))
        metadata = Metadata(images.classes, images.shape, images.mean, images.std)
        network = LoadedNetwork(model.to(device), metadata)
        modes = {module: module.training for module in model.modules()}
        model.eval()
        try:
            return evaluate_network(
                network, choose_images(images, part), batch=batch, device=device
            ).evaluation
        finally:
            for module, mode in modes.items():
                module.training = mode
    if isinstance(model, TrainResult):
        model = model.model(which or "best")
    if isinstance(model, Model):
        network = LoadedNetwork(model.net.eval().to(device), model_metadata(model))
    else:
        network = find_network(str(model.path if isinstance(model, RunReader) else model), which, device)
    chosen = choose_images(load_for_network(data, network.metadata), part)
    return evaluate_network(network, chosen, batch=batch, device=device).evaluation


def load_for_network(
    data: Dataset | str | Path,
    metadata: Metadata,
    *,
    progress: Progress | None = None,
    on_broken: Callable[[str, str], None] | None = None,
) -> Dataset:
    """A data set, or that of a name, file or folder, with images of the size that a network takes.

    Raises:
        DataError: If there is no such data set, or its images do not have the shape that the network takes.
    """
    if not isinstance(data, Dataset):
        _, height, width = metadata.input
        size = height if height == width else None
        options = LoadOptions(size=size, progress=progress, broken=on_broken)
        # As in training, the center is cropped from an image as it is in its file, not from a resized one.
        data = load_dataset(str(data), replace(options, memory=0) if metadata.crop_pct < 1 else options)
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
    network: LoadedNetwork,
    chosen: ChosenImages,
    *,
    batch: int,
    device: torch.device,
    progress: Progress | None = None,
) -> NetworkResults:
    """Run a network on images, `batch` at once; their classes must be the network's, in any order.

    Raises:
        DataError: If the classes differ.
    """
    metadata, images = network.metadata, chosen.images
    indices = class_indices(chosen.data.classes, metadata.classes).to(device)

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        done = 0
        for x, y in network_batches(images, metadata, batch=batch, device=device):
            yield x, indices[y]
            done += len(y)
            if progress is not None:
                progress("measuring", done, len(images))

    start = time.perf_counter()
    evaluation = measure(network.forward, batches(), len(metadata.classes))
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
