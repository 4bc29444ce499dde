"""How fast any networks learn: modules trained side by side, from the same seeds and on the same batches.

Cells have `compare` in `dartboard.analysis.convergence`, whose trainings are ordinary runs. A run describes a
cell, not a module that only a program can build: here a finished training is kept as its curves, in a file.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from dartboard.analysis.comparison import METRICS, Comparison, Entry, LearningCurve, Training
from dartboard.analysis.convergence import LABEL
from dartboard.analysis.examples import check_logits, split_batches
from dartboard.analysis.grid import FINGERPRINTS, digest_tensors
from dartboard.arch.objective import Batch
from dartboard.data import Dataset, evaluation_batches
from dartboard.data.sampler import generator
from dartboard.errors import DataError, OptionError, RunError
from dartboard.utils.atomic import write_text
from dartboard.utils.progress import Progress, no_progress

Factory = Callable[[], nn.Module]
"""Builds a fresh network; torch's random seed is set before."""
FOLDER = "modules"
"""Folder of the finished trainings, inside the comparison's."""


@dataclass(frozen=True)
class ModuleTraining:
    """How modules are trained: SGD with a cosine schedule to zero, regularized by weight decay alone."""

    epochs: int = 15
    batch: int = 80
    momentum: float = 0.9
    weight_decay: float = 3e-4
    clip: float = 5.0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise OptionError(f"epochs and batch are 1 or more, not {self.epochs} and {self.batch}")


def compare_modules(
    factories: Mapping[str, Factory],
    data: Dataset | tuple[Batch, Batch],
    training: ModuleTraining | None = None,
    *,
    lrs: Sequence[float] = (0.025,),
    seeds: Sequence[int] = (0,),
    folder: Path | None = None,
    device: torch.device | str = "cpu",
    progress: Progress = no_progress,
) -> Comparison:
    """Modules trained side by side: for each learning rate and seed, all of them see the same batches.

    A training whose loss is not finite is part of the result: it has broken off.

    Args:
        factories: By label, what builds each network, such as a class or a function without arguments.
        data: A data set, whose images are normalized by its mean and std; or a pair of training and a pair
            of test tensors, examples and labels.
        training: How they are trained.
        lrs: Learning rates at the start.
        seeds: Of the first weights and of the order of the examples.
        folder: Keeps finished trainings, which the same call reads; more networks, rates or seeds add.
        device: Where to compute.
        progress: Reports how many epochs are complete.

    Raises:
        DataError: If the data set has no images to measure with.
        OptionError: If there is nothing to train, or a network does not fit the examples.
        RunError: If the folder has a training of that label with other settings, examples or first weights.

    Examples:
        >>> from torch import nn
        >>> from dartboard import load_dataset
        >>> from dartboard.analysis.module_training import ModuleTraining, compare_modules
        >>> def linear():
        ...     return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        >>> def deep():
        ...     return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
        >>> both = {"linear": linear, "deep": deep}
        >>> comparison = compare_modules(both, load_dataset("digits"), ModuleTraining(epochs=2), seeds=(0, 1))
        >>> sorted(comparison.ranking()), len(comparison.of("deep"))
        (['deep', 'linear'], 2)
    """
    training = training or ModuleTraining()
    if not factories:
        raise OptionError("there is nothing to compare; give one network or more")
    for label in factories:
        if not LABEL.fullmatch(label):
            raise OptionError(f"a network cannot be labeled {label!r}; use letters, digits and -_.+")
    for lr in lrs:
        if not (math.isfinite(lr) and lr > 0):
            raise OptionError(f"a learning rate is above 0, not {lr}")
    train, test, part = _tensors(data, device)
    images = digest_tensors(dict(zip(("x", "y", "test x", "test y"), (*train, *test), strict=True)))
    entries = [Entry(label, lr, seed) for lr, seed in product(lrs, seeds) for label in factories]
    parameters, trainings = {}, []
    for number, entry in enumerate(entries):

        def report(epochs: int, before: int = number * training.epochs) -> None:
            progress("training", before + epochs, len(entries) * training.epochs)

        with torch.random.fork_rng():
            torch.manual_seed(entry.seed)
            net = factories[entry.cell]().to(device)
            parameters[entry.cell] = sum(weight.numel() for weight in net.parameters())
            weights = digest_tensors(dict(net.state_dict()))
            settings = {**vars(training), "images": images, "network": weights}
            path = None if folder is None else folder / FOLDER / f"{entry.name}.json"
            finished = None if path is None else _read(path, settings, entry)
            if finished is None:
                finished = _train(net, entry, training, train, test, report)
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    write_text(path, _to_json(settings, finished))
            report(training.epochs)
        trainings.append(finished)
    return Comparison(dict.fromkeys(factories), trainings, part, parameters)


def _tensors(
    data: Dataset | tuple[Batch, Batch], device: torch.device | str
) -> tuple[Batch, Batch, Literal["test", "valid"]]:
    """Training and test examples, and what the latter are."""
    if isinstance(data, tuple):
        train, test = (tuple(values.to(device) for values in pair) for pair in data)
        return (train[0], train[1]), (test[0], test[1]), "test"
    held_out = data.test if data.test is not None else data.valid
    if held_out is None:
        raise DataError(f"data set {data.name!r} has no test images to measure with; give a pair of tensors")
    pairs = []
    for part in (data.train, held_out):
        (batch,) = evaluation_batches(part, batch=len(part), mean=data.mean, std=data.std, device=device)
        pairs.append((batch.x, batch.y))
    return pairs[0], pairs[1], "test" if data.test is not None else "valid"


def _train(
    net: nn.Module,
    entry: Entry,
    training: ModuleTraining,
    train: Batch,
    test: Batch,
    report: Callable[[int], None],
) -> Training:
    """The curves of one training, as far as its loss was finite."""
    check_logits(net.eval(), [(train[0][:2], train[1][:2]), train, test])
    optimizer = torch.optim.SGD(
        net.parameters(), entry.lr, momentum=training.momentum, weight_decay=training.weight_decay
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, training.epochs)
    rows: list[tuple[float, float, float]] = []
    fault = None
    for epoch in range(training.epochs):
        loss_sum, net = 0.0, net.train()
        order = torch.randperm(len(train[1]), generator=generator("order", entry.seed, epoch))
        for places in order.to(train[1].device).split(training.batch):
            loss = F.cross_entropy(net(train[0][places]), train[1][places])
            optimizer.zero_grad()
            loss.backward()
            if training.clip:
                nn.utils.clip_grad_norm_(net.parameters(), training.clip)
            optimizer.step()
            loss_sum += loss.item() * len(places)
        schedule.step()
        if not math.isfinite(loss_sum):
            fault = f"the loss was not finite in epoch {epoch + 1}; try a smaller learning rate"
            break
        rows.append((loss_sum / len(order), *_measure(net.eval(), test, training.batch)))
        report(epoch + 1)
    epochs = tuple(range(1, len(rows) + 1))
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    curves = {
        name: LearningCurve(epochs, tuple(values)) for name, values in zip(METRICS, columns, strict=True)
    }
    return Training(entry, curves, fault)


@torch.no_grad()
def _measure(net: nn.Module, test: Batch, size: int) -> tuple[float, float]:
    """Mean loss, infinite where it is not finite, and accuracy."""
    loss, correct = 0.0, 0
    for x, y in split_batches(*test, size):
        logits = net(x).double()
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        correct += int((logits.argmax(1) == y).sum())
    mean = loss / len(test[1])
    return (mean if math.isfinite(mean) else math.inf), correct / len(test[1])


def _to_json(settings: Mapping[str, Any], training: Training) -> str:
    curves = {name: list(curve.values) for name, curve in training.curves.items()}
    return json.dumps({"settings": settings, "fault": training.fault, "curves": curves}) + "\n"


def _read(path: Path, settings: Mapping[str, Any], entry: Entry) -> Training | None:
    """A finished training; None if there is none.

    Raises:
        RunError: If it is damaged, or of something else.
    """
    if not path.exists():
        return None
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        before, fault = dict(stored["settings"]), stored["fault"]
        curves = {}
        for name in METRICS:
            values = tuple(map(float, stored["curves"][name]))
            curves[name] = LearningCurve(tuple(range(1, len(values) + 1)), values)
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{path} is damaged; remove it, and the network is trained again") from None
    for name, value in settings.items():
        if before.get(name) != value:
            made = FINGERPRINTS.get(name, f"{name}={before.get(name)}")
            raise RunError(f"{path} was made with {made}; name another folder")
    return Training(entry, curves, fault)
