"""How searches went, epoch by epoch, from their runs alone: how decided they were, what they would choose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import DartboardError, RunError
from dartboard.runs import SPACE, Run, flat
from dartboard.search.health import SKIP
from dartboard.space import load_space
from dartboard.space.spec import Cell, SearchSpace

Floats = NDArray[np.float64]
IDLE = ("seed", "pieces", "checkpoint.", "data.workers")
"""How the names of settings begin that make a search no other one; the seed is told by itself."""


def open_edges(cell: Cell) -> list[int]:
    """The edges that have something to choose."""
    return [index for index, edge in enumerate(cell.edges) if len(edge.ops) > 1]


def entropies(weights: Floats) -> Floats:
    """The entropy of each row [..., N], in nats; entries that are zero count for nothing."""
    safe = np.where(weights > 0, weights, 1.0)
    return np.asarray(-(weights * np.log(safe)).sum(-1))


def normalised_entropies(cell: Cell, ops: Floats) -> Floats:
    """The entropy of each edge that has a choice, between 0 and 1 (xnas, equation 54).

    Args:
        cell: The cell.
        ops: Strengths of its candidates [E, N]. An edge is divided by the logarithm of as many candidates as
            it began with, also where some have been removed.
    """
    index = open_edges(cell)
    sizes = np.array([float(len(cell.edges[own].ops)) for own in index])
    return np.asarray(entropies(ops[index]) / np.log(sizes))


def mean_normalised_entropy(cell: Cell, ops: Floats) -> float:
    """The mean of all edges of a cell that have a choice (xnas, equation 55); 0 where none has."""
    found = normalised_entropies(cell, ops)
    return float(found.mean()) if len(found) else 0.0


def margins(cell: Cell, ops: Floats) -> Floats:
    """By how much the strongest candidate leads the next, for each edge that has a choice."""
    ordered = np.sort(ops[open_edges(cell)], axis=-1)
    return np.asarray(ordered[:, -1] - ordered[:, -2]) if ordered.shape[-1] > 1 else np.zeros(0)


@dataclass(frozen=True)
class CellPoint:
    """One arch after one epoch.

    Args:
        entropy: Mean entropy over edges that have a choice, in nats.
        normalised: The same with each edge divided by its largest (xnas, equation 55, for the normal cell).
        margins: Lead of the strongest candidate over the next, of each edge that has a choice.
        ops: How often each op would be chosen.
    """

    entropy: float
    normalised: float
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
class Point:
    """A search after one epoch.

    Args:
        epoch: Its number, from 0.
        cells: Each arch.
        accuracy: Of the supernet on held-out images.
        discrete: Of the supernet with the ops alone that would be chosen; None where it was not measured.
    """

    epoch: int
    cells: Mapping[str, CellPoint]
    accuracy: float
    discrete: float | None

    @property
    def gap(self) -> float | None:
        """The accuracy that is lost when the cell is made discrete."""
        return None if self.discrete is None else self.accuracy - self.discrete


Quantity = Callable[[Point], float | None]
"""A number of a search after an epoch; None where it was not measured."""


def _mean(of: Callable[[CellPoint], float]) -> Quantity:
    return lambda point: float(np.mean([of(own) for own in point.cells.values()]))


QUANTITIES: dict[str, Quantity] = {
    "normalised entropy": _mean(lambda own: own.normalised),
    "entropy": _mean(lambda own: own.entropy),
    "margin": _mean(lambda own: own.margin),
    "skips": lambda point: float(sum(own.skips for own in point.cells.values())),
    "gap": lambda point: point.gap,
    "accuracy": lambda point: point.accuracy,
}
"""What has curves: means over all archs, skips over all together."""


@dataclass(frozen=True)
class Trajectory:
    """A search, epoch by epoch.

    Args:
        path: Of its run.
        settings: By dotted names all that make it another search, but for its seed.
        seed: Of the search.
        space: What it searched.
        points: After each epoch.
        final_gap: Accuracy lost by the final choice, which may be another than the last epoch's; None as long
            as the run is not finished.
    """

    path: Path
    settings: Mapping[str, Any]
    seed: int
    space: SearchSpace
    points: Sequence[Point]
    final_gap: float | None

    @property
    def method(self) -> str:
        """The name of its method."""
        return str(self.settings["method.name"])

    @property
    def epochs(self) -> list[int]:
        """How many epochs are complete at each point."""
        return [own.epoch + 1 for own in self.points]

    def curve(self, quantity: str) -> Floats | None:
        """One of `QUANTITIES` at each point; None where it was not measured."""
        values = [QUANTITIES[quantity](own) for own in self.points]
        return None if None in values else np.array(values, dtype=np.float64)

    def counts(self, arch: str) -> dict[str, list[int]]:
        """How often each op of the space would be chosen for an arch, at each point."""
        return {op: [own.cells[arch].ops.get(op, 0) for own in self.points] for op in self.space.ops}

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        curves = {name: self.curve(name) for name in QUANTITIES}
        return {
            "run": str(self.path),
            "seed": self.seed,
            "epochs": self.epochs,
            **{name: None if own is None else own.tolist() for name, own in curves.items()},
            "final gap": self.final_gap,
            "cells": {arch: self._cell_facts(arch) for arch, _ in self.space.archs},
        }

    def _cell_facts(self, arch: str) -> dict[str, Any]:
        own = [point.cells[arch] for point in self.points]
        return {
            "normalised entropy": [each.normalised for each in own],
            "entropy": [each.entropy for each in own],
            "margins": [each.margins for each in own],
            "ops": self.counts(arch),
        }


def read_trajectory(run: Run | str | Path) -> Trajectory:
    """The trajectory of a search.

    Args:
        run: Its run, finished or not.

    Raises:
        RunError: If it is no run of a search, has no epochs, or is damaged.
    """
    run = run if isinstance(run, Run) else Run.read(run)
    kind = run.config.get("kind", "search")
    if kind != "search":
        raise RunError(f"{run.path} is a run of dartboard {kind}; name one of dartboard search")
    try:
        return _read(run)
    except DartboardError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise RunError(f"{run.path} is damaged: it has epochs that cannot be read") from None


def _read(run: Run) -> Trajectory:
    rows = run.metrics()
    if not rows:
        raise RunError(f"{run.path} has no epochs yet; there is nothing to show")
    space, result = load_space(str(run.path / SPACE)), run.result()
    points = [_point(space, row, run.epoch(row["epoch"])) for row in rows]
    gap = None if result is None else result["valid_accuracy"] - result["discrete_accuracy"]
    return Trajectory(run.path, settings_of(run), run.config["seed"], space, points, gap)


def settings_of(run: Run) -> dict[str, Any]:
    """By dotted names all settings that make a search another one, but for its seed."""
    return {name: value for name, value in flat(run.config).items() if not name.startswith(IDLE)}


def _point(space: SearchSpace, row: Mapping[str, Any], details: Mapping[str, Any]) -> Point:
    cells = {
        arch: _cell_point(cell, np.array(details["strengths"][arch]["ops"]), row["cells"][arch]["ops"])
        for arch, cell in space.archs
    }
    return Point(row["epoch"], cells, row["valid_accuracy"], row.get("discrete_accuracy"))


def _cell_point(cell: Cell, ops: Floats, chosen: Mapping[str, int]) -> CellPoint:
    index = open_edges(cell)
    entropy = float(entropies(ops[index]).mean()) if index else 0.0
    leads = tuple(margins(cell, ops).tolist())
    return CellPoint(entropy, mean_normalised_entropy(cell, ops), leads, dict(chosen))
