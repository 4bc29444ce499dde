"""What a drawing of a cell shows: boxes, the connections between them, their words and colours."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dartboard.errors import OptionError
from dartboard.space import NONE, Cell
from dartboard.space.graph import has_node_ops, on_path

FAMILIES = {
    "skip": "#6C757D",
    "pooling": "#009E73",
    "separable": "#0072B2",
    "dilated": "#CC79A7",
    "convolution": "#D55E00",
    "none": "#A7AEB6",
    "other": "#8C6D31",
}
"""Colours by family of ops."""
PLAIN, INK, PAPER, OUTSIDE = "#9AA3AB", "#22282E", "#F4F6F8", "#E3E8ED"
"""Of plain connections, letters, boxes of inner nodes, and boxes of inputs and output."""


@dataclass(frozen=True)
class Vertex:
    """A box.

    Args:
        text: The words in it.
        face: Its colour.
        ink: That of the words.
        idle: Whether it changes nothing in the output; its border is then dashed.
    """

    text: str
    face: str
    ink: str = INK
    idle: bool = False


@dataclass(frozen=True)
class Line:
    """A connection of the drawing.

    Args:
        source: Position of a vertex.
        target: Position of a later one.
        text: What is written on it.
        strands: Colours with weights; a connection without weights has one of None.
    """

    source: int
    target: int
    text: str = ""
    strands: tuple[tuple[str, float | None], ...] = ((PLAIN, None),)


Weights = Sequence[Sequence[float]]
"""For each edge of a cell the weights of its ops."""


def family(op: str) -> str:
    """The family of an op, by its name: a key of `FAMILIES`."""
    signs = {
        "skip": "skip|identity",
        "pooling": "pool",
        "separable": "sep_",
        "dilated": "dil_",
        "convolution": "conv",
    }
    if op == NONE:
        return NONE
    return next((name for name, sign in signs.items() if re.search(sign, op)), "other")


def words(op: str) -> str:
    """An op as it is written in drawings."""
    spaced = re.sub(r"(\d)x(?=\d)", "\\1\N{MULTIPLICATION SIGN}", op).replace("_", " ")
    return "skip" if op == "skip_connect" else spaced


def plan_cell(cell: Cell, weights: Weights | None = None) -> tuple[list[Vertex], list[Line]]:
    """The boxes and connections of a cell, the output last; ops are on the boxes where it has them there.

    Raises:
        OptionError: If there are not as many weights as ops.
    """
    sizes = [len(edge.ops) for edge in cell.edges]
    if weights is not None and [len(own) for own in weights] != sizes:
        raise OptionError(f"expected weights for {sizes} ops, got {[len(own) for own in weights]}")
    return (_with_ops_on_vertices if has_node_ops(cell) else _with_ops_on_lines)(cell, weights)


def _with_ops_on_lines(cell: Cell, weights: Weights | None) -> tuple[list[Vertex], list[Line]]:
    names = ["$c_{k-2}$", "$c_{k-1}$"] if cell.inputs == 2 else ["in"]
    alone = cell.output == (cell.nodes - 1,)
    vertices = [Vertex(name, OUTSIDE) for name in names]
    busy = on_path(cell)
    vertices += [Vertex(str(node), PAPER, idle=node not in busy) for node in cell.inner]
    if alone:
        vertices[-1] = Vertex("out", OUTSIDE)
    common = {edge.ops for edge in cell.edges if len(edge.ops) > 1}
    lines = []
    for index, edge in enumerate(cell.edges):
        if edge.ops != (NONE,):
            own = None if weights is None else weights[index]
            lines.append(_edge_line(edge.source, edge.target, edge.ops, own, plain=len(common) == 1))
    if not alone:
        vertices.append(Vertex("$c_k$" if cell.inputs == 2 else "out", OUTSIDE))
        lines += [Line(node, cell.nodes) for node in cell.output]
    return vertices, lines


def _edge_line(
    source: int, target: int, ops: Sequence[str], weights: Sequence[float] | None, *, plain: bool
) -> Line:
    """The connection of an edge: its op, its strongest where there are weights, or how many it has."""
    if weights is not None:
        strands = tuple((FAMILIES[family(op)], float(own)) for op, own in zip(ops, weights, strict=True))
        strongest = max(zip(weights, ops, strict=True))[1]
        return Line(source, target, words(strongest), strands)
    if len(ops) == 1:
        return Line(source, target, words(ops[0]), ((FAMILIES[family(ops[0])], None),))
    return Line(source, target, "" if plain else f"{len(ops)} ops")


def _with_ops_on_vertices(cell: Cell, weights: Weights | None) -> tuple[list[Vertex], list[Line]]:
    vertices, busy = [Vertex("in", OUTSIDE)], on_path(cell)
    for join in range(1, cell.nodes - 1, 2):
        index = cell.entering(join + 1)[0]
        text, face = _box_words(cell.edges[index].ops, None if weights is None else weights[index])
        vertices.append(Vertex(text, face, INK if face == PAPER else "white", idle=join not in busy))
    vertices.append(Vertex("out", OUTSIDE))
    lines = []
    for index, edge in enumerate(cell.edges):
        if edge.target % 2 and edge.ops != (NONE,):
            weight = None if weights is None else float(weights[index][0])
            lines.append(Line(edge.source // 2, (edge.target + 1) // 2, strands=((PLAIN, weight),)))
    return vertices, lines


def _box_words(ops: Sequence[str], weights: Sequence[float] | None) -> tuple[str, str]:
    """Words and colour of a box with ops: of the only one or the strongest, or how many there are."""
    if weights is None and len(ops) > 1:
        return f"{len(ops)} ops", PAPER
    strongest = ops[0] if weights is None else max(zip(weights, ops, strict=True))[1]
    return words(strongest), FAMILIES[family(strongest)]
