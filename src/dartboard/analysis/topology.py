"""The shape of cells as graphs: of one, of all published ones, of what a search would choose at its epochs.

`standing` says where a cell is among all cells of its kind.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dartboard.errors import GenotypeError, RunError
from dartboard.space import Cell, Genotype, decode, depth, mean_source, width
from dartboard.space.graph import topology

if TYPE_CHECKING:
    from matplotlib.figure import Figure

YLABELS = {"width": "width (c)", "depth": "depth", "mean_source": "mean source index"}
"""Axis labels of the measures that are plotted over epochs."""


@dataclass(frozen=True)
class Shape:
    """A cell as a graph; connections are those that carry something, not `none`.

    Args:
        width: In units of a node's channels (understanding-cells 3).
        depth: Edges from an input to the output on the longest path (understanding-cells 3).
        mean_source: Mean index of the node that a connection comes from (xnas table 4).
        connections: How many there are, those into the output not counted.
        from_inputs: The share of connections that come from the cell's inputs.
    """

    width: float
    depth: int
    mean_source: float
    connections: int
    from_inputs: float


@dataclass(frozen=True)
class Epoch:
    """What a search would have chosen after an epoch, counted from 0, and its cells' shapes."""

    epoch: int
    genotype: Genotype
    shapes: Mapping[str, Shape]


def shape_of(cell: Cell) -> Shape:
    """The shape of a cell."""
    found = topology(cell)
    near = sum(source < found.inputs for source, _ in found.links)
    share = near / len(found.links) if found.links else 0.0
    return Shape(width(cell), depth(cell), mean_source(cell), len(found.links), share)


def shapes_of(genotype: Genotype) -> dict[str, Shape]:
    """The shape of each cell of a genotype, by arch."""
    return {name: shape_of(cell) for name, cell in genotype.archs}


def over_epochs(run: str | Path) -> list[Epoch]:
    """What a search would have chosen after each epoch recorded so far, with its shapes.

    Args:
        run: The directory of a search, finished or not.

    Raises:
        RunError: If it is no run, a run that chooses nothing, or damaged.
    """
    from dartboard.runs import Run  # with torch, which cells alone do without

    opened = Run.read(run)
    kind = opened.config.get("kind", "search")
    if kind != "search":
        raise RunError(f"{run} is a run of dartboard {kind}, which chooses no cell; name one of a search")
    chosen = [(row["epoch"], opened.epoch(row["epoch"])) for row in opened.metrics()]
    return [_epoch(run, number, details) for number, details in chosen]


def _epoch(run: str | Path, number: int, details: Mapping[str, Any]) -> Epoch:
    try:
        genotype = decode(json.dumps(details["genotype"]))
    except (KeyError, GenotypeError):
        raise RunError(f"{run} is damaged: what its epoch {number} would choose cannot be read") from None
    return Epoch(number, genotype, shapes_of(genotype))


def plot_epochs(epochs: Sequence[Epoch]) -> "Figure":
    """Width, depth and mean source over epochs, a line for each arch."""
    from dartboard.viz.plots import plot_shapes

    measures = {
        ylabel: {arch: [getattr(one.shapes[arch], name) for one in epochs] for arch in epochs[-1].shapes}
        for name, ylabel in YLABELS.items()
    }
    return plot_shapes([one.epoch for one in epochs], measures)
