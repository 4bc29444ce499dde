"""Results of cells trained side by side: learning curves, areas under them, epochs to a level, rankings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from dartboard.errors import OptionError, UnknownNameError
from dartboard.space import Genotype
from dartboard.space.graph import depth, width
from dartboard.viz.band import Band

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRAIN_LOSS, LOSS, ACCURACY = "train_loss", "loss", "accuracy"
METRICS = (TRAIN_LOSS, LOSS, ACCURACY)
"""The metrics: mean training loss of an epoch, and loss and accuracy of held-out images after it."""


@dataclass(frozen=True)
class LearningCurve:
    """A metric of a training after some of its epochs.

    Args:
        epochs: Complete epochs at each point, ascending [points].
        values: The metric; infinite where it was not finite [points].
    """

    epochs: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.epochs) != len(self.values) or list(self.epochs) != sorted(set(self.epochs)):
            raise OptionError(
                f"a curve has a value for each of its rising epochs; got {len(self.values)} values for "
                f"{list(self.epochs)}"
            )

    @property
    def final(self) -> float | None:
        """The last value; None for a curve without points."""
        return self.values[-1] if self.values else None

    def area(self) -> float | None:
        """The area under the curve by trapezoids, divided by its length: the mean height between its ends.

        Of a single point it is the value there; None without points.
        """
        if len(self.epochs) < 2:
            return self.final
        return float(np.trapezoid(self.values, self.epochs)) / (self.epochs[-1] - self.epochs[0])

    def epochs_to(self, level: float, *, falling: bool) -> float | None:
        """Epochs to reach a level, by linear interpolation between points; None if it is never reached.

        A curve that begins there needs as many epochs as its first point has.

        Args:
            level: The value to reach.
            falling: Whether less is better, as for a loss, or more, as for an accuracy.
        """
        sign = 1.0 if falling else -1.0
        above = [sign * (value - level) for value in self.values]
        if above and above[0] <= 0:
            return float(self.epochs[0])
        points = zip(self.epochs, above, strict=True)
        for (start, before), (end, after) in pairwise(points):
            if after <= 0:
                fraction = before / (before - after) if np.isfinite(before) else 1.0
                return start + fraction * (end - start)
        return None

    def rise(self, *, falling: bool) -> float:
        """The sum of all steps in the wrong direction: how unsteady the curve is."""
        steps = np.diff(self.values) if falling else -np.diff(self.values)
        return float(steps[steps > 0].sum())


def mean_band(curves: Sequence[LearningCurve]) -> Band:
    """The band of several curves at all their epochs; a curve that ends early counts as far as it goes."""
    grid = sorted({epoch for curve in curves for epoch in curve.epochs})
    by_epoch = [dict(zip(curve.epochs, curve.values, strict=True)) for curve in curves]
    means, stds = [], []
    for epoch in grid:
        values = np.array([curve[epoch] for curve in by_epoch if epoch in curve])
        has_spread = len(values) > 1 and np.isfinite(values).all()
        means.append(values.mean())
        stds.append(values.std(ddof=1) if has_spread else 0.0)
    return Band(np.array(grid, dtype=float), np.array(means), np.array(stds))


@dataclass(frozen=True, order=True)
class Entry:
    """A training of a comparison: the label of its cell, its initial learning rate and its random seed."""

    cell: str
    lr: float
    seed: int

    @property
    def name(self) -> str:
        """The name of its run directory."""
        return f"{self.cell}-lr{self.lr}-s{self.seed}"


@dataclass(frozen=True)
class Training:
    """One training of a comparison: its curves by metric, as far as it went.

    `fault` says why it broke off: its loss became infinite; None if it was completed.
    """

    entry: Entry
    curves: Mapping[str, LearningCurve]
    fault: str | None = None

    def area(self, metric: str = LOSS) -> float | None:
        """The area under a curve, as `LearningCurve.area`; None if the training broke off."""
        return None if self.fault is not None else self.curves[metric].area()

    def final(self, metric: str = LOSS) -> float | None:
        """The final value; None if the training broke off."""
        return None if self.fault is not None else self.curves[metric].final


@dataclass(frozen=True, eq=False)
class Comparison:
    """Networks that were trained side by side.

    Args:
        cells: By label the cells that they are made of; None for a network that is not made of cells.
        trainings: All trainings.
        part: The split that loss and accuracy are of: `test` or `valid`.
        parameters: For each label, the number of weights of the network.
    """

    cells: Mapping[str, Genotype | None]
    trainings: Sequence[Training]
    part: str
    parameters: Mapping[str, int]

    @property
    def lrs(self) -> list[float]:
        """All learning rates, ascending."""
        return sorted({training.entry.lr for training in self.trainings})

    @property
    def seeds(self) -> list[int]:
        """All seeds, ascending."""
        return sorted({training.entry.seed for training in self.trainings})

    def of(self, cell: str, lr: float | None = None) -> list[Training]:
        """The trainings of a cell at a learning rate, by seed; a single rate need not be named.

        Raises:
            UnknownNameError: If there is no such cell.
            OptionError: If there is no such rate, or there are several and none is named.
        """
        if cell not in self.cells:
            raise UnknownNameError("cell of the comparison", cell, self.cells)
        if lr is None and len(self.lrs) == 1:
            lr = self.lrs[0]
        if lr not in self.lrs:
            raise OptionError(f"no learning rate {lr}; there are {', '.join(map(str, self.lrs))}")
        matching = [one for one in self.trainings if (one.entry.cell, one.entry.lr) == (cell, lr)]
        return sorted(matching, key=lambda training: training.entry.seed)

    def band(self, cell: str, lr: float | None = None, metric: str = LOSS) -> Band:
        """Mean and standard deviation over seeds."""
        return mean_band([training.curves[metric] for training in self.of(cell, lr)])

    def areas(self, cell: str, lr: float | None = None, metric: str = LOSS) -> list[float | None]:
        """The area under each seed's curve."""
        return [training.area(metric) for training in self.of(cell, lr)]

    def area(self, cell: str, lr: float | None = None, metric: str = LOSS) -> float | None:
        """The mean area over seeds; None if one of them broke off."""
        return _mean(self.areas(cell, lr, metric))

    def final(self, cell: str, lr: float | None = None, metric: str = LOSS) -> float | None:
        """The mean final value over seeds; None if one of them broke off."""
        return _mean([training.final(metric) for training in self.of(cell, lr)])

    def epochs_to(
        self, level: float, cell: str, lr: float | None = None, metric: str = LOSS
    ) -> list[float | None]:
        """For each seed the epochs to a level; None where it was never reached."""
        curves = [training.curves[metric] for training in self.of(cell, lr)]
        return [curve.epochs_to(level, falling=metric != ACCURACY) for curve in curves]

    def ranking(self, lr: float | None = None, metric: str = LOSS) -> list[str]:
        """The cells, fastest first: by the mean area over seeds; those that broke off come last."""
        sign, keys = -1.0 if metric == ACCURACY else 1.0, {}
        for cell in self.cells:
            area = self.area(cell, lr, metric)
            keys[cell] = math.inf if area is None else sign * area
        return sorted(self.cells, key=keys.__getitem__)

    def level(self, lr: float | None = None, metric: str = LOSS) -> float | None:
        """The best level that every training reaches; None if one has no points."""
        curves = [one.curves[metric].values for cell in self.cells for one in self.of(cell, lr)]
        if not all(curves):
            return None
        if metric == ACCURACY:
            return _finite(min(max(values) for values in curves))
        return _finite(max(min(values) for values in curves))

    def facts(self, *, loss: float | None = None, accuracy: float | None = None) -> dict[str, Any]:
        """All of it, ready for JSON; infinite numbers are None.

        Args:
            loss: The level to which epochs are counted; by default `level`.
            accuracy: The same of the accuracy.
        """
        shapes: dict[str, dict[str, float]] = {}
        for label, genotype in self.cells.items():
            cell = None if genotype is None else next(iter(genotype.cells.values()))
            shapes[label] = {} if cell is None else {"width": width(cell), "depth": depth(cell)}
        rates = []
        for lr in self.lrs:
            levels = {
                LOSS: self.level(lr, LOSS) if loss is None else loss,
                ACCURACY: self.level(lr, ACCURACY) if accuracy is None else accuracy,
            }
            rates.append(
                {
                    "lr": lr,
                    "ranking": self.ranking(lr),
                    "levels": {metric: _finite(level) for metric, level in levels.items()},
                    "cells": {cell: self._cell_facts(cell, lr, levels) for cell in self.cells},
                }
            )
        return {
            "measured_on": self.part,
            "seeds": self.seeds,
            "cells": {
                label: {**shape, "parameters": self.parameters[label]} for label, shape in shapes.items()
            },
            "rates": rates,
        }

    def _cell_facts(self, cell: str, lr: float, levels: Mapping[str, float | None]) -> dict[str, Any]:
        return {
            "area": {metric: _finite(self.area(cell, lr, metric)) for metric in METRICS},
            "final": {metric: _finite(self.final(cell, lr, metric)) for metric in METRICS},
            "epochs_to": {
                metric: [] if level is None else self.epochs_to(level, cell, lr, metric)
                for metric, level in levels.items()
            },
            "trainings": [
                {
                    "seed": training.entry.seed,
                    "area": {metric: _finite(training.area(metric)) for metric in METRICS},
                    "final": {metric: _finite(training.final(metric)) for metric in METRICS},
                    "fault": training.fault,
                    "curves": {
                        metric: {"epochs": list(curve.epochs), "values": list(map(_finite, curve.values))}
                        for metric, curve in training.curves.items()
                    },
                }
                for training in self.of(cell, lr)
            ],
        }

    def plot(self, metrics: Sequence[str] = METRICS, labels: Mapping[str, str] | None = None) -> "Figure":
        """Curves of all cells, a row for each metric and a column for each learning rate.

        Args:
            metrics: The rows.
            labels: Names of cells in the legend, where these differ from their labels.
        """
        from dartboard.viz.plots import plot_band_grid

        loss, accuracy = f"{self.part} loss", f"{self.part} accuracy (%)"
        ylabels = {TRAIN_LOSS: "training loss", LOSS: loss, ACCURACY: accuracy}
        names = {cell: (labels or {}).get(cell, cell) for cell in self.cells}
        grid: dict[str, dict[str, dict[str, Band]]] = {}
        for metric in metrics:
            factor = 100.0 if metric == ACCURACY else 1.0
            grid[ylabels[metric]] = {
                f"learning rate {lr:g}": {
                    name: self.band(cell, lr, metric).scaled(factor) for cell, name in names.items()
                }
                for lr in self.lrs
            }
        return plot_band_grid(grid)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
