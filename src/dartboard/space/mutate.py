"""Neighbours of a genotype: one op or one edge chosen otherwise."""

from collections.abc import Iterator, Mapping
from random import Random

from dartboard.errors import SpaceError
from dartboard.space.genotype import Genotype, decided, decisions, winners
from dartboard.space.spec import Cell, SearchSpace

Move = tuple[int, list[tuple[int, str]]]
"""The position of an edge that is given up, and what may take its place: positions of edges with ops."""


def mutate(space: SearchSpace, genotype: Genotype, rng: Random) -> Genotype:
    """The genotype with one op, or one edge of a contest, changed (Real et al. 2019's two mutations).

    What is to change is drawn uniformly from all ops and all contested edges that can, what it becomes
    uniformly from the rest.

    Raises:
        SpaceError: If the space has nothing left to choose.
    """
    taken = decisions(space, genotype)
    moves = [(arch, move) for arch, cell in space.archs for move in _moves(cell, taken[arch])]
    if not moves:
        raise SpaceError(f"space {space.name!r} has nothing left to choose, so nothing can change")
    arch, (edge, others) = rng.choice(moves)
    del taken[arch][edge]
    taken[arch].update([rng.choice(others)])
    return Genotype(tuple((name, decided(cell, tuple(taken[name].items()))) for name, cell in space.archs))


def _moves(cell: Cell, taken: Mapping[int, str]) -> Iterator[Move]:
    for edge, op in taken.items():
        contest = cell.contest_of(edge)
        ops = cell.edges[edge].ops if contest is None else winners(cell.edges[edge])
        if len(ops) > 1:
            yield edge, [(edge, other) for other in ops if other != op]
        rivals = [] if contest is None else [index for index in contest.edges if index not in taken]
        entries = [(rival, own) for rival in rivals for own in winners(cell.edges[rival])]
        source = cell.edges[edge].source  # a parallel edge with the same op would be no change
        others = [(rival, own) for rival, own in entries if (cell.edges[rival].source, own) != (source, op)]
        if others:
            yield edge, others
