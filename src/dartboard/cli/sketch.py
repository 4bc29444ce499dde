"""What a drawing of a cell shows, before it is drawn: vertices, the wires that enter them, and the words."""

from dataclasses import dataclass, field

from dartboard.space.graph import has_node_ops
from dartboard.space.spec import NONE, Cell, Edge

INPUTS = {1: ("in",), 2: ("c(k-2)", "c(k-1)")}
"""What the inputs of a cell are called: the outputs of the cells before it."""


@dataclass(frozen=True)
class Wire:
    """A connection into a vertex, from another vertex, with the words along it."""

    source: int
    text: str


@dataclass(frozen=True)
class Vertex:
    """A dot of the drawing.

    Args:
        name: What stands in the dot.
        wires: What enters it.
        text: What is said of it.
        output: Whether it is part of what leaves the cell.
    """

    name: str
    wires: tuple[Wire, ...] = ()
    text: str = ""
    output: bool = False


@dataclass(frozen=True)
class Sketch:
    """Vertices in an order in which wires only go forward."""

    vertices: tuple[Vertex, ...]
    last_use: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        uses = [-1] * len(self.vertices)
        for position, vertex in enumerate(self.vertices):
            for wire in vertex.wires:
                uses[wire.source] = position
        object.__setattr__(self, "last_use", tuple(uses))


def sketch_cell(cell: Cell) -> Sketch:
    """The sketch of a cell: ops on the wires, or on the vertices where the cell has them there."""
    return _with_ops_on_vertices(cell) if has_node_ops(cell) else _with_ops_on_wires(cell)


def _with_ops_on_wires(cell: Cell) -> Sketch:
    common = _common_candidates(cell)
    vertices = [Vertex(str(node), text=name) for node, name in enumerate(INPUTS[cell.inputs])]
    for node in cell.inner:
        edges = [cell.edges[index] for index in cell.entering(node)]
        wires = [Wire(edge.source, _words(edge, common)) for edge in edges if edge.ops != (NONE,)]
        text = _contest_words(cell, node) if wires else "nothing enters"
        vertices.append(Vertex(str(node), _in_order(wires), text, node in cell.output))
    return Sketch(tuple(vertices))


def _with_ops_on_vertices(cell: Cell) -> Sketch:
    """Vertex v is the node 2v - 1, which joins what enters, and the node 2v after its op."""
    vertices = [Vertex("0", text=INPUTS[1][0])]
    for join in range(1, cell.nodes, 2):
        edges = [cell.edges[index] for index in cell.entering(join)]
        wires = [Wire(edge.source // 2, "") for edge in edges]
        ops = [_words(cell.edges[index], ()) for index in cell.entering(join + 1)]
        text = ", ".join(filter(None, (*ops, _contest_words(cell, join))))
        vertices.append(Vertex(str(len(vertices)), _in_order(wires), text, join in cell.output))
    return Sketch(tuple(vertices))


def _in_order(wires: list[Wire]) -> tuple[Wire, ...]:
    return tuple(sorted(wires, key=lambda wire: wire.source))


def _common_candidates(cell: Cell) -> tuple[str, ...]:
    """The candidates of every edge that has more than one, or nothing where they differ."""
    sets = {edge.ops for edge in cell.edges if len(edge.ops) > 1}
    return next(iter(sets)) if len(sets) == 1 else ()


def _words(edge: Edge, common: tuple[str, ...]) -> str:
    """An edge's op, or how many candidates it has; nothing where it has those that all have."""
    if edge.ops == common:
        return ""
    return edge.ops[0] if len(edge.ops) == 1 else f"one of {len(edge.ops)} ops"


def _contest_words(cell: Cell, node: int) -> str:
    contests = dict.fromkeys(filter(None, (cell.contest_of(index) for index in cell.entering(node))))
    return "; ".join(f"keeps {c.keep} of {len(c.edges)}" for c in contests if c.keep < len(c.edges))
