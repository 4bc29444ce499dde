"""What came of cells that were trained side by side: curves, areas, epochs to a level, and who was faster."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dartboard.analysis.curves import Curve, band
from dartboard.errors import OptionError, UnknownNameError
from dartboard.space import Genotype
from dartboard.space.graph import depth, width
from dartboard.viz.band import Band

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAIN_LOSS, LOSS, ACCURACY = "train_loss", "loss", "accuracy"
METRICS = (TRAIN_LOSS, LOSS, ACCURACY)
"""What is followed: the mean loss of an epoch's steps, and loss and accuracy of held-out images after it."""


@dataclass(frozen=True, order=True)
class Entry:
    """Which training of a comparison.

    Args:
        cell: The cell's label.
        lr: The learning rate at the start.
        seed: Of the weights' start and of the order of the images.
    """

    cell: str
    lr: float
    seed: int

    @property
    def name(self) -> str:
        """Of its run."""
        return f"{self.cell}-lr{self.lr}-s{self.seed}"


@dataclass(frozen=True)
class Training:
    """One training of a comparison.

    Args:
        entry: Which.
        curves: By metric; as far as it came.
        fault: Why it broke off, in words: its loss became infinite; None of one that went to its end.
    """

    entry: Entry
    curves: Mapping[str, Curve]
    fault: str | None = None

    def area(self, metric: str = LOSS) -> float | None:
        """The area under a curve, as `Curve.area`; None of a training that broke off."""
        return None if self.fault is not None else self.curves[metric].area()

    def final(self, metric: str = LOSS) -> float | None:
        """What it came to; None of a training that broke off."""
        return None if self.fault is not None else self.curves[metric].final

    def epochs_to(self, level: float, metric: str = LOSS) -> float | None:
        """Epochs to a level, as `Curve.epochs_to`; None if it never came there."""
        return self.curves[metric].epochs_to(level, falling=metric != ACCURACY)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Cells that were trained side by side.

    Args:
        cells: By label.
        trainings: All of them.
        part: The kind of held-out images that loss and accuracy are of: `test`, or `valid`.
        parameters: By label, the weights of the network.
    """

    cells: Mapping[str, Genotype]
    trainings: Sequence[Training]
    part: str
    parameters: Mapping[str, int]

    @property
    def lrs(self) -> list[float]:
        """All learning rates, rising."""
        return sorted({own.entry.lr for own in self.trainings})

    @property
    def seeds(self) -> list[int]:
        """All seeds, rising."""
        return sorted({own.entry.seed for own in self.trainings})

    def of(self, cell: str, lr: float | None = None) -> list[Training]:
        """The trainings of a cell at a learning rate, by seed; there is no need to name a rate that is alone.

        Raises:
            UnknownNameError: If there is no such cell.
            OptionError: If there is no such rate, or there are several and none is named.
        """
        if cell not in self.cells:
            raise UnknownNameError("cell of the comparison", cell, self.cells)
        wanted = self._rate(lr)
        found = [own for own in self.trainings if (own.entry.cell, own.entry.lr) == (cell, wanted)]
        return sorted(found, key=lambda own: own.entry.seed)

    def _rate(self, lr: float | None) -> float:
        if lr is None and len(self.lrs) == 1:
            return self.lrs[0]
        if lr not in self.lrs:
            raise OptionError(f"no learning rate {lr}; there are {', '.join(map(str, self.lrs))}")
        return lr

    def band(self, cell: str, lr: float | None = None, metric: str = LOSS) -> Band:
        """The curves of all seeds in one."""
        return band([own.curves[metric] for own in self.of(cell, lr)])

    def areas(self, cell: str, lr: float | None = None, metric: str = LOSS) -> list[float | None]:
        """The area under each seed's curve."""
        return [own.area(metric) for own in self.of(cell, lr)]

    def area(self, cell: str, lr: float | None = None, metric: str = LOSS) -> float | None:
        """The mean area over seeds; None if one of them broke off."""
        return _mean(self.areas(cell, lr, metric))

    def final(self, cell: str, lr: float | None = None, metric: str = LOSS) -> float | None:
        """The mean over seeds of what they came to; None if one of them broke off."""
        return _mean([own.final(metric) for own in self.of(cell, lr)])

    def epochs_to(
        self, level: float, cell: str, lr: float | None = None, metric: str = LOSS
    ) -> list[float | None]:
        """For each seed the epochs to a level, as `Curve.epochs_to`; None where it never came there."""
        return [own.epochs_to(level, metric) for own in self.of(cell, lr)]

    def ranking(self, lr: float | None = None, metric: str = LOSS) -> list[str]:
        """The cells, fastest first: by the mean area over seeds; those that broke off come last."""
        sign = -1.0 if metric == ACCURACY else 1.0

        def key(cell: str) -> float:
            area = self.area(cell, lr, metric)
            return math.inf if area is None else sign * area

        return sorted(self.cells, key=key)

    def level(self, lr: float | None = None, metric: str = LOSS) -> float | None:
        """The level that the last of all trainings comes to at its best; None if one comes to none."""
        chosen = [own.curves[metric].values for cell in self.cells for own in self.of(cell, lr)]
        if not all(chosen):
            return None
        if metric == ACCURACY:
            return _finite(min(max(values) for values in chosen))
        return _finite(max(min(values) for values in chosen))

    def facts(self, *, loss: float | None = None, accuracy: float | None = None) -> dict[str, Any]:
        """All of it, ready for JSON; infinite numbers are None.

        Args:
            loss: The level to which epochs are counted; by default `level`.
            accuracy: The same of the accuracy.
        """
        levels = {LOSS: loss, ACCURACY: accuracy}
        shapes = {label: next(iter(genotype.cells.values())) for label, genotype in self.cells.items()}
        return {
            "measured_on": self.part,
            "seeds": self.seeds,
            "cells": {
                label: {
                    "width": width(cell),
                    "depth": depth(cell),
                    "parameters": self.parameters[label],
                }
                for label, cell in shapes.items()
            },
            "rates": [self._rate_facts(lr, levels) for lr in self.lrs],
        }

    def plot(self, metrics: Sequence[str] = METRICS, labels: Mapping[str, str] | None = None) -> "Figure":
        """Curves of all cells, a row for each metric and a column for each learning rate.

        Args:
            metrics: The rows.
            labels: Names of cells in the legend, where these differ from their labels.
        """
        from dartboard.viz.plots import plot_band_grid

        ylabels = {
            TRAIN_LOSS: "training loss",
            LOSS: f"{self.part} loss",
            ACCURACY: f"{self.part} accuracy (%)",
        }
        grid = {
            ylabels[metric]: {
                f"learning rate {lr:g}": {
                    (labels or {}).get(cell, cell): self.band(cell, lr, metric).scaled(
                        100.0 if metric == ACCURACY else 1.0
                    )
                    for cell in self.cells
                }
                for lr in self.lrs
            }
            for metric in metrics
        }
        return plot_band_grid(grid)

    def _rate_facts(self, lr: float, levels: Mapping[str, float | None]) -> dict[str, Any]:
        used = {metric: self.level(lr, metric) if own is None else own for metric, own in levels.items()}
        return {
            "lr": lr,
            "ranking": self.ranking(lr),
            "levels": {metric: _finite(own) for metric, own in used.items()},
            "cells": {cell: self._cell_facts(cell, lr, used) for cell in self.cells},
        }

    def _cell_facts(self, cell: str, lr: float, levels: Mapping[str, float | None]) -> dict[str, Any]:
        return {
            "area": {metric: _finite(self.area(cell, lr, metric)) for metric in METRICS},
            "final": {metric: _finite(self.final(cell, lr, metric)) for metric in METRICS},
            "epochs_to": {
                metric: [] if level is None else self.epochs_to(level, cell, lr, metric)
                for metric, level in levels.items()
            },
            "trainings": [_training_facts(own) for own in self.of(cell, lr)],
        }


def _training_facts(training: Training) -> dict[str, Any]:
    curves = {
        metric: {"epochs": list(curve.epochs), "values": [_finite(value) for value in curve.values]}
        for metric, curve in training.curves.items()
    }
    return {
        "seed": training.entry.seed,
        "area": {metric: _finite(training.area(metric)) for metric in METRICS},
        "final": {metric: _finite(training.final(metric)) for metric in METRICS},
        "fault": training.fault,
        "curves": curves,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
