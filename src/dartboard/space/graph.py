"""What a cell looks like as a graph, and how many cells a space holds: pure functions of the data.

An edge whose only op is `none` is no edge: everything here that speaks of topology leaves it out.

Width, depth and mean source see a cell whose ops sit on its nodes (`catalog.node_ops_cell`, the form of
NAS-Bench-101 cells) as the graph the benchmark draws: a join, the edge that carries the op and the
node after it are one vertex, the plain edges between vertices are the connections, and the vertex
that only collects (the last) plays the part of the concatenation at the end of a DARTS cell. Without
that a vertex would count twice, and a cell would be twice as deep as it is drawn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from statistics import fmean

from dartboard.space.spec import NONE, Cell, Edge, SearchSpace


@dataclass(frozen=True)
class Topology:
    """Who feeds whom: connections between nodes, and the nodes that leave the cell."""

    inputs: int
    links: tuple[tuple[int, int], ...]
    output: frozenset[int]


def width(cell: Cell) -> float:
    """Width in units of a node's channels: for every inner node the share of its inputs that are cell inputs.

    A node that nothing enters adds nothing (understanding-cells 3, figure 1).
    """
    shape = topology(cell)
    entering: dict[int, list[int]] = {}
    for source, target in shape.links:
        entering.setdefault(target, []).append(source)
    return sum(fmean(source < shape.inputs for source in sources) for sources in entering.values())


def depth(cell: Cell) -> int:
    """Edges on the longest path from an input to the output, the step into the output counted.

    0 where no input reaches the output (understanding-cells 3, figure 1).
    """
    shape = topology(cell)
    longest = dict.fromkeys(range(shape.inputs), 0)
    for source, target in sorted(shape.links):  # by source: every longest path is final when it is extended
        if source in longest:
            longest[target] = max(longest.get(target, 0), longest[source] + 1)
    return max((longest[node] + 1 for node in shape.output if node in longest), default=0)


def mean_source(cell: Cell) -> float:
    """Mean index of the node an edge comes from, XNAS' measure of depth (xnas table 4); 0 without edges."""
    links = topology(cell).links
    return fmean(source for source, _ in links) if links else 0.0


def reachable(cell: Cell) -> frozenset[int]:
    """The nodes that some input reaches, the inputs themselves included."""
    return _closure(range(cell.inputs), ((edge.source, edge.target) for edge in live_edges(cell)))


def on_path(cell: Cell) -> frozenset[int]:
    """The nodes on some path from an input to an output node; the others change nothing in the output."""
    back = ((edge.target, edge.source) for edge in reversed(live_edges(cell)))
    return reachable(cell) & _closure(cell.output, back)


def is_connected(cell: Cell) -> bool:
    """Whether a path leads from an input to the output; without one all images have the same output."""
    return bool(on_path(cell))


def live_edges(cell: Cell) -> tuple[Edge, ...]:
    """The edges that can be more than `none`, in order of source, then target."""
    alive = (edge for edge in cell.edges if edge.ops != (NONE,))
    return tuple(sorted(alive, key=lambda edge: (edge.source, edge.target)))


def has_node_ops(cell: Cell) -> bool:
    """Whether the cell has the form of `catalog.node_ops_cell`: ops on nodes, plain edges between them."""
    last = cell.nodes - 1
    pairs = [(edge.source, edge.target) for edge in live_edges(cell)]
    return (
        last % 2 == 1
        and (cell.inputs, cell.joins, cell.output) == (1, tuple(range(1, cell.nodes, 2)), (last,))
        and [pair for pair in pairs if pair[1] % 2 == 0] == [(node - 1, node) for node in range(2, last, 2)]
        and all(source % 2 == 0 for source, target in pairs if target % 2)
    )


def count(space: SearchSpace) -> int:
    """How many architectures the space holds, exactly."""
    return prod(count_cell(cell) for _, cell in space.groups)


def count_cell(cell: Cell) -> int:
    """How many discrete cells the cell can become, exactly.

    A contest is a choice of the edges that stay, times an op other than `none` for each of them; an
    edge in no contest chooses among all its candidates. Two choices count as two even where they
    compute the same function.
    """
    contested = {index for contest in cell.contests for index in contest.edges}
    free = (len(edge.ops) for index, edge in enumerate(cell.edges) if index not in contested)
    ways = prod(free)
    for contest in cell.contests:
        ops = [sum(op != NONE for op in cell.edges[index].ops) for index in contest.edges]
        ways *= count_kept(ops, contest.keep)
    return ways


def count_kept(choices: Sequence[int], keep: int) -> int:
    """Ways to keep `keep` edges and choose on each: the elementary symmetric polynomial of that degree."""
    ways = [1] + [0] * keep
    for ops in choices:
        for degree in range(keep, 0, -1):
            ways[degree] += ops * ways[degree - 1]
    return ways[keep]


def topology(cell: Cell) -> Topology:
    """Who feeds whom in a cell, in order of source, then target; see above for ops on nodes."""
    links = tuple((edge.source, edge.target) for edge in live_edges(cell))
    if not has_node_ops(cell):
        return Topology(cell.inputs, links, frozenset(cell.output))
    vertices = [(source // 2, (target + 1) // 2) for source, target in links if target % 2]
    last = cell.nodes // 2
    inner = tuple(link for link in vertices if link[1] != last)
    return Topology(1, inner, frozenset(source for source, target in vertices if target == last))


def _closure(start: Iterable[int], links: Iterable[tuple[int, int]]) -> frozenset[int]:
    """All nodes reached from `start` over links that come in topological order."""
    reached = set(start)
    for source, target in links:
        if source in reached:
            reached.add(target)
    return frozenset(reached)
