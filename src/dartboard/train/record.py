"""Measurements of a training: after every epoch, and at the end."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from dartboard.engine.result import Result, check_choice
from dartboard.errors import ModelError
from dartboard.nn.model_file import BEST, LAST, Model, load_model, unpack_model
from dartboard.nn.network import CellNet
from dartboard.registry import find_renderer
from dartboard.space import Genotype
from dartboard.tasks import Evaluation
from dartboard.utils.text import span


@dataclass(frozen=True)
class TrainRecord:
    """The measurements of an epoch.

    Args:
        epoch: Its number, from 0.
        metrics: Numbers, ready for a line of JSON.
        evaluation: On held-out images; None in an epoch without one.
        warnings: Every loop records them; a training has none.
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
    """Number of the best epoch so far, -1 for none, and its accuracy on the images it was measured on."""

    epoch: int = -1
    accuracy: float = -math.inf


@dataclass(frozen=True, repr=False)
class TrainResult(Result):
    """The result of a training.

    Args:
        epochs: The number of epochs trained.
        seconds: Duration, over all processes that worked on it.
        parameters: Parameters of the network, without the auxiliary classifier.
        flops: FLOPs of one image, two per multiply-add.
        measured_on: Images that the best epoch was chosen with: `valid`, or `test` where nothing else is held
            out.
        last: Evaluation of the network at the end, by kind of held-out images.
        best: The same for the best epoch.
        best_epoch: The number of the best epoch, from 0.
        digest: Of every weight and buffer at the end, to compare two trainings to the last bit.
        classes: Class names, in the order of the confusion matrices.
        genotype: The cells that were trained.
        run: The run directory; None if nothing was written.
        models: The files of the best and the last network by name, where there is no run directory.
        history: The metrics of all epochs.

    Examples:
        >>> from dartboard import Trainer
        >>> settings = {"epochs": 1, "net": {"channels": 2, "auxiliary": 0}}
        >>> result = Trainer("|nor_conv_3x3~0|+|skip_connect~0|none~1|", "digits", **settings).fit()
        >>> result  # doctest: +ELLIPSIS
        TrainResult
          best       ... of test images, after epoch 1
          ...
        >>> net = result.network()
        >>> len(list(net.parameters())) > 0, len(result.history)
        (True, 1)
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
    genotype: Genotype = field(compare=False)
    run: Path | None = field(default=None, compare=False)
    models: Mapping[str, bytes] = field(default_factory=dict, compare=False)
    history: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    def facts(self) -> dict[str, Any]:
        """The measurements, ready for JSON."""
        plain = {item.name: getattr(self, item.name) for item in fields(self) if item.compare}
        for name in ("last", "best"):
            plain[name] = {part: evaluation.facts() for part, evaluation in plain[name].items()}
        return plain | {"classes": list(self.classes)}

    def summary(self) -> dict[str, str]:
        """Accuracies, size and time, by label."""
        best = self.best[self.measured_on]
        lines = {"best": f"{best.top1:.2%} of {self.measured_on} images, after epoch {self.best_epoch + 1}"}
        lines |= {part: f"{last.top1:.2%} at the end" for part, last in self.last.items()}
        lines["network"] = f"{self.parameters:,} parameters, {self.flops:,} FLOPs per image"
        lines["time"] = f"{span(self.seconds)}, {self.epochs} epochs"
        return lines if self.run is None else lines | {"run": str(self.run)}

    def plot(self) -> Any:
        """A matplotlib figure of loss and accuracy against epochs."""
        return find_renderer("history_figure")(self.history)

    def model(self, which: Literal["best", "last"] = "best") -> Model:
        """The trained network of the best or the last epoch, with its classes and its normalization.

        Raises:
            ModelError: If there is none, or its file is damaged.
        """
        name = check_choice("which", which, {"best": BEST, "last": LAST})
        if self.run is not None:
            return load_model(self.run / name, root=self.run)
        if name not in self.models:
            raise ModelError(f"this process has no {which} network; rank 0 has")
        return unpack_model(self.models[name])

    def network(self, which: Literal["best", "last"] = "best") -> CellNet:
        """The trained network, in evaluation mode, on the CPU; see `model`."""
        return self.model(which).net
