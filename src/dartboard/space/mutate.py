"""Mutation of genotypes: one op or one edge changed."""

from collections.abc import Iterator, Mapping
from random import Random

from dartboard.errors import SpaceError
from dartboard.space.genotype import Genotype, decided, decisions, winners
from dartboard.space.spec import Cell, SearchSpace

Move = tuple[int, list[tuple[int, str]]]
"""Index of an edge to remove, and its possible replacements: indices of edges with ops."""


def mutate(space: SearchSpace, genotype: Genotype, rng: Random) -> Genotype:
    """The genotype with one op, or one edge of a contest, changed (Real et al. 2019's two mutations).

    The op or edge to change is drawn uniformly from all that can change, its replacement uniformly from the
    alternatives.

    Raises:
        SpaceError: If the space has nothing left to choose.
    """
    chosen = decisions(space, genotype)
    moves = [(group, move) for group, cell in space.groups for move in _moves(cell, chosen[group])]
    if not moves:
        raise SpaceError(f"space {space.name!r} has nothing left to choose, so nothing can change")
    group, (edge, replacements) = rng.choice(moves)
    del chosen[group][edge]
    chosen[group].update([rng.choice(replacements)])
    return Genotype(tuple((name, decided(cell, tuple(chosen[name].items()))) for name, cell in space.groups))


def _moves(cell: Cell, chosen: Mapping[int, str]) -> Iterator[Move]:
    for edge, op in chosen.items():
        contest = cell.contest_of(edge)
        ops = cell.edges[edge].ops if contest is None else winners(cell.edges[edge])
        if len(ops) > 1:
            yield edge, [(edge, new_op) for new_op in ops if new_op != op]
        rivals = [] if contest is None else [index for index in contest.edges if index not in chosen]
        candidates = [(rival, new_op) for rival in rivals for new_op in winners(cell.edges[rival])]
        source = cell.edges[edge].source  # a parallel edge with the same op would be no change
        replacements = [
            (rival, new_op)
            for rival, new_op in candidates
            if (cell.edges[rival].source, new_op) != (source, op)
        ]
        if replacements:
            yield edge, replacements
