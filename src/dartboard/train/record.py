"""Measurements of a training: after every epoch, and at the end."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dartboard.tasks import Evaluation


@dataclass(frozen=True)
class TrainRecord:
    """The measurements of an epoch.

    Args:
        epoch: Its number, from 0.
        metrics: Numbers, ready for a line of JSON.
        evaluation: On held-out images; None in an epoch without one.
        warnings: Messages about what goes wrong.
    """

    epoch: int
    metrics: Mapping[str, Any]
    evaluation: Evaluation | None = None
    warnings: tuple[str, ...] = ()

    def details(self) -> dict[str, Any]:
        """The accuracy of every class, ready for JSON."""
        return {
            "epoch": self.epoch,
            "per_class": None if self.evaluation is None else list(self.evaluation.per_class),
        }


@dataclass(frozen=True)
class Best:
    """The best epoch so far.

    Args:
        epoch: Its number, from 0; -1 for none.
        accuracy: On the images that epochs are measured on.
    """

    epoch: int = -1
    accuracy: float = -math.inf


@dataclass(frozen=True)
class TrainResult:
    """The result of a training.

    Args:
        epochs: How many epochs were trained.
        seconds: How long it took, over all processes that worked on it.
        parameters: How many numbers the network learns, without the auxiliary classifier.
        flops: Operations for one image, two a multiply-add.
        measured_on: What chose the best epoch: `valid`, or `test` where nothing else is held out.
        last: What the network at the end gets right, by kind of held-out images.
        best: The same for the best epoch.
        best_epoch: The number of the best epoch, from 0.
        digest: Of every weight and statistic at the end, to compare two trainings to the last bit.
        classes: The names of the classes, in the order of confusions.

    Examples:
        >>> from dartboard import TrainResult
        >>> [name for name in TrainResult.__dataclass_fields__ if "best" in name]
        ['best', 'best_epoch']
    """

    epochs: int
    seconds: float
    parameters: int
    flops: int
    measured_on: str
    last: Mapping[str, Evaluation]
    best: Mapping[str, Evaluation]
    best_epoch: int
    digest: str
    classes: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("last", "best"):
            plain[name] = {part: evaluation.facts() for part, evaluation in plain[name].items()}
        return plain | {"classes": list(self.classes)}
