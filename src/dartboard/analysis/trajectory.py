"""How searches went, epoch by epoch, from their runs: how decided they were, what they would choose.

Searches that differ only in their seed are grouped into a mean with a band.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import DartboardError, RunError
from dartboard.runs import RunReader, flat
from dartboard.search.health import SKIP
from dartboard.space.spec import Cell, SearchSpace
from dartboard.viz.band import Band
from dartboard.viz.line_styles import line_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
IGNORED_SETTINGS = ("seed", "pieces", "checkpoint.", "data.workers")
"""Prefixes of settings that do not identify a search; the seed is kept separately."""
YLABELS = {
    "normalised entropy": "normalized entropy,\nmean over all cells",
    "entropy": "entropy (nats),\nmean over all cells",
    "margin": "lead of the strongest op,\nmean over all cells",
    "skips": "skip connections chosen",
    "gap": "accuracy lost when discrete",
    "accuracy": "accuracy of the supernet",
}
"""Axis labels by quantity."""
FEW_GROUPS = 2
"""With more groups than this, their ops are counted together."""


def open_edges(cell: Cell) -> list[int]:
    """The edges that have something to choose."""
    return [index for index, edge in enumerate(cell.edges) if len(edge.ops) > 1]


def entropies(weights: Floats) -> Floats:
    """The entropy of each row [..., N], in nats; entries that are zero count for nothing."""
    safe = np.where(weights > 0, weights, 1.0)
    return np.asarray(-(weights * np.log(safe)).sum(-1))


def normalized_entropies(cell: Cell, ops: Floats) -> Floats:
    """The entropy of each edge that has a choice, between 0 and 1 (xnas, equation 54).

    Args:
        cell: The cell.
        ops: Strengths of its candidates [E, N]. An edge is divided by the logarithm of as many candidates as
            it began with, also where some have been removed.
    """
    index = open_edges(cell)
    sizes = np.array([float(len(cell.edges[edge].ops)) for edge in index])
    return np.asarray(entropies(ops[index]) / np.log(sizes))


def mean_normalized_entropy(cell: Cell, ops: Floats) -> float:
    """The mean of all edges of a cell that have a choice (xnas, equation 55); 0 where none has."""
    by_edge = normalized_entropies(cell, ops)
    return float(by_edge.mean()) if len(by_edge) else 0.0


def margins(cell: Cell, ops: Floats) -> Floats:
    """The lead of the strongest candidate over the next, for each edge that has a choice."""
    ordered = np.sort(ops[open_edges(cell)], axis=-1)
    return np.asarray(ordered[:, -1] - ordered[:, -2]) if ordered.shape[-1] > 1 else np.zeros(0)


@dataclass(frozen=True)
class CellPoint:
    """A group after an epoch.

    Args:
        entropy: Mean entropy over edges that have a choice, in nats.
        normalized: The same with each edge divided by its largest (xnas, equation 55, for the normal cell).
        margins: Lead of the strongest candidate over the next, of each edge that has a choice.
        ops: How often each op would be chosen.
    """

    entropy: float
    normalized: float
    margins: tuple[float, ...]
    ops: Mapping[str, int]

    @property
    def margin(self) -> float:
        """The mean of the margins; 0 where nothing is to choose."""
        return float(np.mean(self.margins)) if self.margins else 0.0

    @property
    def skips(self) -> int:
        """How many edges would be skip connections."""
        return self.ops.get(SKIP, 0)


@dataclass(frozen=True)
class TrajectoryPoint:
    """A search after an epoch, counted from 0: its groups, and the supernet's accuracy on held-out images.

    `discrete` is the accuracy with only the chosen ops; None where it was not measured.
    """

    epoch: int
    cells: Mapping[str, CellPoint]
    accuracy: float
    discrete: float | None

    @property
    def gap(self) -> float | None:
        """The accuracy that is lost when the cell is made discrete."""
        return None if self.discrete is None else self.accuracy - self.discrete


Quantity = Callable[[TrajectoryPoint], float | None]
"""A number of a search after an epoch; None where it was not measured."""


def _mean_over_groups(of: Callable[[CellPoint], float]) -> Quantity:
    return lambda point: float(np.mean([of(cell) for cell in point.cells.values()]))


QUANTITIES: dict[str, Quantity] = {
    "normalised entropy": _mean_over_groups(lambda cell: cell.normalized),
    "entropy": _mean_over_groups(lambda cell: cell.entropy),
    "margin": _mean_over_groups(lambda cell: cell.margin),
    "skips": lambda point: float(sum(cell.skips for cell in point.cells.values())),
    "gap": lambda point: point.gap,
    "accuracy": lambda point: point.accuracy,
}
"""Quantities that have curves: means over all groups, skips summed over them."""


@dataclass(frozen=True)
class Trajectory:
    """A search, epoch by epoch.

    Args:
        path: The run directory.
        settings: By dotted name, all settings that identify the search except its seed.
        seed: Random seed of the search.
        space: The search space.
        points: The state after each epoch.
        final_gap: Accuracy lost by the final choice, which may differ from the last epoch's; None before
            the run is finished.
    """

    path: Path
    settings: Mapping[str, Any]
    seed: int
    space: SearchSpace
    points: Sequence[TrajectoryPoint]
    final_gap: float | None

    @property
    def method(self) -> str:
        """The name of its method."""
        return str(self.settings["method.name"])

    @property
    def epochs(self) -> list[int]:
        """Complete epochs at each point."""
        return [point.epoch + 1 for point in self.points]

    def curve(self, quantity: str) -> Floats | None:
        """One of `QUANTITIES` at each point; None where it was not measured."""
        values = [QUANTITIES[quantity](point) for point in self.points]
        return None if None in values else np.array(values, dtype=np.float64)

    def counts(self, group: str) -> dict[str, list[int]]:
        """How often each op of the space would be chosen for a group, at each point."""
        return {op: [point.cells[group].ops.get(op, 0) for point in self.points] for op in self.space.ops}

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        curves = {name: self.curve(name) for name in QUANTITIES}
        return {
            "run": str(self.path),
            "seed": self.seed,
            "epochs": self.epochs,
            **{name: None if curve is None else curve.tolist() for name, curve in curves.items()},
            "final gap": self.final_gap,
            "cells": {
                group: {
                    "normalised entropy": [point.cells[group].normalized for point in self.points],
                    "entropy": [point.cells[group].entropy for point in self.points],
                    "margins": [point.cells[group].margins for point in self.points],
                    "ops": self.counts(group),
                }
                for group, _ in self.space.groups
            },
        }


def read_trajectory(run: RunReader | str | Path) -> Trajectory:
    """The trajectory of a search, finished or not.

    Raises:
        RunError: If it is not a run of a search, has no epochs, or is damaged.
    """
    run = run if isinstance(run, RunReader) else RunReader.read(run)
    kind = run.config.get("kind", "search")
    if kind != "search":
        raise RunError(f"{run.path} is a run of dartboard {kind}; name one of dartboard search")
    try:
        rows = run.metrics()
        if not rows:
            raise RunError(f"{run.path} has no epochs yet; there is nothing to show")
        space, result = run.space(), run.result()
        points = []
        for row in rows:
            strengths, cells = run.epoch(row["epoch"])["strengths"], {}
            for group, cell in space.groups:
                ops, index = np.array(strengths[group]["ops"]), open_edges(cell)
                entropy = float(entropies(ops[index]).mean()) if index else 0.0
                leads = tuple(margins(cell, ops).tolist())
                chosen = dict(row["cells"][group]["ops"])
                cells[group] = CellPoint(entropy, mean_normalized_entropy(cell, ops), leads, chosen)
            discrete = row.get("discrete_accuracy")
            points.append(TrajectoryPoint(row["epoch"], cells, row["valid_accuracy"], discrete))
        gap = None if result is None else result["valid_accuracy"] - result["discrete_accuracy"]
        return Trajectory(run.path, settings_of(run), run.config["seed"], space, points, gap)
    except DartboardError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise RunError(f"{run.path} is damaged: it has epochs that cannot be read") from None


def settings_of(run: RunReader) -> dict[str, Any]:
    """By dotted name, all settings that identify a search except its seed."""
    return {name: value for name, value in flat(run.config).items() if not name.startswith(IGNORED_SETTINGS)}


@dataclass(frozen=True)
class Trajectories:
    """Searches grouped by their settings, with all seeds of a group together.

    Labels of groups are such as `darts` or `darts, weight_decay=0.1`.
    """

    groups: Mapping[str, Sequence[Trajectory]]

    def band(self, label: str, quantity: str) -> Band | None:
        """One of `QUANTITIES` over the epochs that all searches of a group have; None if one lacks it."""
        return common_band([(search.epochs, search.curve(quantity)) for search in self.groups[label]])

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        facts = {}
        for label, group in self.groups.items():
            bands = {name: self.band(label, name) for name in QUANTITIES}
            known = {name: band for name, band in bands.items() if band is not None}
            facts[label] = {
                "epochs": next(iter(known.values())).x.tolist(),
                "mean": {name: band.mean.tolist() for name, band in known.items()},
                "deviation": {name: band.std.tolist() for name, band in known.items()},
                "runs": [search.facts() for search in group],
            }
        return facts

    def plot(self) -> "dict[str, Figure]":
        """All figures by name: `trajectory`, `ops` and `margins`."""
        from dartboard.viz.plots import plot_band_panels, plot_margins, plot_op_counts

        panels = {
            ylabel: {label: band for label in self.groups if (band := self.band(label, name)) is not None}
            for name, ylabel in YLABELS.items()
        }
        counts = {label: mean_op_counts(group) for label, group in self.groups.items()}
        epochs = {
            label: min((search.epochs for search in group), key=len) for label, group in self.groups.items()
        }
        ops = list(dict.fromkeys(op for group in self.groups.values() for op in group[0].space.ops))
        leads = {label: mean_margins(group) for label, group in self.groups.items()}
        borders = {}  # the numbers of edges before which those of another cell begin
        for label, group in self.groups.items():
            sizes = [len(cell.margins) for cell in group[0].points[0].cells.values()]
            borders[label] = list(accumulate(sizes))[:-1]
        return {
            "trajectory": plot_band_panels(panels, line_styles(self.groups)),
            "ops": plot_op_counts(counts, epochs, ops),
            "margins": plot_margins(leads, borders),
        }


def mean_op_counts(searches: Sequence[Trajectory]) -> dict[str, dict[str, Floats]]:
    """For each group, or for all together if there are many, how often each op would be chosen [epochs].

    Counts are means over searches, for the epochs that all of them have. A group that is alone is called "".
    """
    space, length = searches[0].space, min(len(search.points) for search in searches)
    groups = [group for group, _ in space.groups]
    panels = {group if len(groups) > 1 else "": [group] for group in groups}
    if len(groups) > FEW_GROUPS:
        panels = {f"all {len(groups)} cells": groups}
    means: dict[str, dict[str, Floats]] = {title: {} for title in panels}
    for title, together in panels.items():
        counts = [[search.counts(group) for group in together] for search in searches]
        for op in space.ops:
            by_group = [[count[op][:length] for count in of_search] for of_search in counts]
            means[title][op] = np.asarray(np.sum(by_group, axis=1).mean(0))
    return means


def mean_margins(searches: Sequence[Trajectory]) -> Floats:
    """The mean lead of each edge's strongest op [edges of all groups, epochs that all searches have]."""
    length = min(len(search.points) for search in searches)
    leads = [
        [[lead for cell in point.cells.values() for lead in cell.margins] for point in search.points[:length]]
        for search in searches
    ]
    return np.asarray(np.mean(leads, axis=0)).T


def common_band(curves: Sequence[tuple[Sequence[int], Floats | None]]) -> Band | None:
    """The band of curves over the epochs that all of them have; None where one was not measured."""
    known = [(x, y) for x, y in curves if y is not None]
    if len(known) < len(curves) or not known:
        return None
    shared = sorted(set.intersection(*(set(x) for x, _ in known)))
    values = np.array([[y[list(x).index(epoch)] for epoch in shared] for x, y in known])
    std = values.std(axis=0, ddof=1) if len(known) > 1 else np.zeros(len(shared))
    return Band(np.array(shared, dtype=np.float64), values.mean(axis=0), std)


def read_trajectories(*runs: RunReader | str | Path) -> Trajectories:
    """The trajectories of searches; those that differ only in their seed form a group, in their order.

    Raises:
        RunError: If there are none, one cannot be read, or two are the same search with the same seed.
    """
    if not runs:
        raise RunError("no runs to look at; name the directories of some")
    return Trajectories(group_by_settings([read_trajectory(run) for run in runs]))


class HasSettings(Protocol):
    """A search, or something measured on one."""

    @property
    def path(self) -> Path: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def seed(self) -> int: ...


T = TypeVar("T", bound=HasSettings)


def group_by_settings(searches: Sequence[T]) -> dict[str, list[T]]:
    """By label, the searches that differ only in their seed, in their order.

    Raises:
        RunError: If two are the same search with the same seed.
    """
    different: list[Mapping[str, Any]] = []
    for search in searches:
        if search.settings not in different:
            different.append(search.settings)
    groups = [[search for search in searches if search.settings == settings] for settings in different]
    for group in groups:
        paths: dict[int, Path] = {}
        for search in group:
            if (seed := search.seed) in paths:
                raise RunError(
                    f"{paths[seed]} and {search.path} are the same search with seed {seed}; name one of them"
                )
            paths[seed] = search.path
    return dict(zip(group_labels(different), groups, strict=True))


def group_labels(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """A label for each group's settings: its method, and what differs from others with the same method."""
    labels = []
    for settings in groups:
        method = settings["method.name"]
        rivals = [rival for rival in groups if rival["method.name"] == method]
        names = dict.fromkeys(name for rival in rivals for name in rival)
        differing = [name for name in names if any(rival.get(name) != settings.get(name) for rival in rivals)]
        values = [f"{name.removeprefix('method.')}={settings.get(name)}" for name in differing]
        labels.append(", ".join([str(method), *values]))
    return labels
