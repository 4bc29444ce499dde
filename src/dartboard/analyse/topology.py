"""The shape of cells as graphs: of one, of all published ones, of what a search would choose at its epochs.

`standing` says where a cell is among all cells of its kind.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dartboard.errors import RunError
from dartboard.space import PUBLISHED, Cell, Genotype, decode, depth, mean_source, width
from dartboard.space.graph import topology


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


def published_shapes() -> dict[str, dict[str, Shape]]:
    """The shapes of all published cells, by name and arch."""
    return {name: shapes_of(told.genotype) for name, told in PUBLISHED.items()}


def over_epochs(run: str | Path) -> list[Epoch]:
    """What a search would have chosen after each epoch recorded so far, with its shapes.

    Args:
        run: The directory of a search, finished or not.

    Raises:
        RunError: If it is no run, or a run that chooses nothing.
    """
    from dartboard.runs import Run  # with torch, which cells alone do without

    opened = Run.read(run)
    found = []
    for row in opened.metrics():
        details = opened.epoch(row["epoch"])
        if "genotype" not in details:
            raise RunError(f"{run} is a run that chooses no cell; give the directory of a search")
        genotype = decode(json.dumps(details["genotype"]))
        found.append(Epoch(row["epoch"], genotype, shapes_of(genotype)))
    return found
