"""All topologies that a cell of a space can become: which of its edges carry something, whatever the ops."""

from collections.abc import Iterable, Iterator
from itertools import combinations, product
from math import comb, prod

from dartboard.space import NONE, Cell
from dartboard.space.genotype import decided, winners


def count_topologies(cell: Cell) -> int:
    """How many topologies a cell has; `none` is no connection."""
    contests = prod(comb(len(_able(cell, own.edges)), own.keep) for own in cell.contests)
    free = (edge for index, edge in enumerate(cell.edges) if cell.contest_of(index) is None)
    return contests * prod(2 for edge in free if NONE in edge.ops and len(edge.ops) > 1)


def topologies(cell: Cell) -> Iterator[tuple[Cell, int]]:
    """Every topology of a cell, with some op on its edges, and the number of ways to choose its ops."""
    decided_at = [*_contested(cell), *_free(cell)]
    for kept in product(*decided_at):
        edges = [index for own in kept for index in own]
        ways = prod(max(len(winners(cell.edges[index])), 1) for index in edges)
        choice = tuple((index, (winners(cell.edges[index]) or [NONE])[0]) for index in edges)
        yield decided(cell, choice), ways


def _contested(cell: Cell) -> Iterator[list[tuple[int, ...]]]:
    for own in cell.contests:
        yield list(combinations(_able(cell, own.edges), own.keep))


def _able(cell: Cell, edges: Iterable[int]) -> list[int]:
    return [index for index in edges if winners(cell.edges[index])]


def _free(cell: Cell) -> Iterator[list[tuple[int, ...]]]:
    """For every edge in no contest: there, or not there, or both where it can be either."""
    for index, edge in enumerate(cell.edges):
        if cell.contest_of(index) is None:
            yield [(index,)] if NONE not in edge.ops or edge.ops == (NONE,) else [(index,), ()]
