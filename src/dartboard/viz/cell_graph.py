"""Cells as graphs to draw: one description that pictures, report pages and the terminal share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dartboard.errors import OptionError
from dartboard.space import NONE, Cell
from dartboard.space.graph import has_node_ops, on_path

FAMILY_COLORS = {
    "skip": "#6C757D",
    "pooling": "#009E73",
    "separable": "#0072B2",
    "dilated": "#CC79A7",
    "convolution": "#D55E00",
    "none": "#A7AEB6",
    "other": "#8C6D31",
}
"""Color of each family of ops."""
FAMILY_PATTERNS = {
    "skip": "skip|identity",
    "pooling": "pool",
    "separable": "sep_",
    "dilated": "dil_",
    "convolution": "conv",
}
ABBREVIATIONS = {
    "sep conv": "sep",
    "dil conv": "dil",
    "max pool": "max",
    "avg pool": "avg",
    "nor conv": "conv",
}
INPUT_NAMES = {1: ("in",), 2: ("c(k-2)", "c(k-1)")}
"""Names of a cell's inputs, the outputs of the cells before it, by their number."""

Weights = Sequence[Sequence[float]]
"""For each edge of a cell, the weights of its ops."""


@dataclass(frozen=True)
class CellVertex:
    """A vertex of a drawn cell; its name is its number, or that of an input or of the output.

    `edge` is the index of the cell's edge whose ops belong to it, for cells with ops on nodes; `external` is
    True for inputs and output, `idle` if it does not contribute to the output.
    """

    name: str
    edge: int | None = None
    external: bool = False
    idle: bool = False


@dataclass(frozen=True)
class CellConnection:
    """A connection from a vertex of a drawn cell to a later one, by their indices.

    `edge` is the index of the cell's edge, None for connections into a concatenated output; `has_ops` is True
    if the ops of that edge belong to the connection, not to a vertex.
    """

    source: int
    target: int
    edge: int | None = None
    has_ops: bool = False


@dataclass(frozen=True)
class CellGraph:
    """Vertices in topological order, the output last, and the connections between them."""

    vertices: tuple[CellVertex, ...]
    connections: tuple[CellConnection, ...]


def cell_graph(cell: Cell) -> CellGraph:
    """The graph of a cell; edges that are `none` are left out.

    Where ops are on nodes (NAS-Bench-101), vertex v stands for node 2v - 1, which joins what enters it, and
    for node 2v, the output of its op.
    """
    live = [(index, edge) for index, edge in enumerate(cell.edges) if edge.ops != (NONE,)]
    contributing = on_path(cell)
    if has_node_ops(cell):
        joins = range(1, cell.nodes - 1, 2)
        inner = [
            CellVertex(str(join // 2 + 1), cell.entering(join + 1)[0], idle=join not in contributing)
            for join in joins
        ]
        vertices = [CellVertex("in", external=True), *inner, CellVertex("out", external=True)]
        connections = [
            CellConnection(edge.source // 2, (edge.target + 1) // 2, index)
            for index, edge in live
            if edge.target % 2
        ]
        return CellGraph(tuple(vertices), tuple(connections))
    vertices = [CellVertex(name, external=True) for name in INPUT_NAMES[cell.inputs]]
    vertices += [CellVertex(str(node), idle=node not in contributing) for node in cell.inner]
    connections = [CellConnection(edge.source, edge.target, index, has_ops=True) for index, edge in live]
    if cell.output == (cell.nodes - 1,):
        vertices[-1] = CellVertex("out", external=True)
    else:
        vertices.append(CellVertex("c(k)" if cell.inputs == 2 else "out", external=True))
        connections += [CellConnection(node, cell.nodes) for node in cell.output]
    return CellGraph(tuple(vertices), tuple(connections))


def check_weights(cell: Cell, weights: Weights) -> None:
    """Raises OptionError unless there is one weight for each op of each edge."""
    expected, sizes = [len(edge.ops) for edge in cell.edges], [len(row) for row in weights]
    if sizes != expected:
        raise OptionError(f"expected weights for {expected} ops, got {sizes}")


def shared_candidates(cell: Cell) -> tuple[str, ...]:
    """The candidates of the edges that have several, if these are the same for all of them, else ()."""
    candidates = {edge.ops for edge in cell.edges if len(edge.ops) > 1}
    return next(iter(candidates)) if len(candidates) == 1 else ()


def op_family(op: str) -> str:
    """The family of an op, judged by its name: a key of `FAMILY_COLORS`."""
    if op == NONE:
        return NONE
    matches = (name for name, pattern in FAMILY_PATTERNS.items() if re.search(pattern, op))
    return next(matches, "other")


def op_label(op: str, *, short: bool = False) -> str:
    """An op as drawings write it: `sep conv 3x3` with a multiplication sign, `sep 3x3` if short."""
    label = re.sub(r"(\d)x(?=\d)", "\\1\N{MULTIPLICATION SIGN}", op).replace("_", " ")
    label = "skip" if op == "skip_connect" else label
    for name, abbreviation in ABBREVIATIONS.items() if short else ():
        label = label.replace(name, abbreviation)
    return label
