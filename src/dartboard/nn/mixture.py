"""Mixtures: how the network blends its candidates, for one forward pass.

The network asks a mixture, slot by slot, for a `Blend`. A relaxation makes mixtures with gradients; the
ones here are the plain cases: blends by group, uniform weights, and the one-hot mixture under which a
supernet computes what the discrete network of a genotype computes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dartboard.errors import NetworkError
from dartboard.space.genotype import Genotype, restrict
from dartboard.space.spec import Cell, SearchSpace

Live = tuple[tuple[int, ...], ...]
"""For each edge the candidates that take part, by position in `Edge.ops`; an empty tuple is no edge."""


@dataclass(frozen=True)
class Blend:
    """How the candidates of the E edges of one cell are blended.

    Args:
        live: Which candidates take part; the others cost nothing.
        ops: Their weights [E, N], or [B, E, N] for weights per example, N being the most candidates an
            edge has; None for a sum without weights.
        edges: Weights of the edges [E] or [B, E], times those of the ops; None for none.
        attend: Weights that depend on the candidates' outputs: called with the position of the edge and
            the outputs of its live candidates, it returns their weights [B, live]. Used instead of `ops`.
    """

    live: Live
    ops: Tensor | None = None
    edges: Tensor | None = None
    attend: Callable[[int, Sequence[Tensor]], Tensor] | None = None


class Mixture(Protocol):
    """The blend of each slot, for one forward pass."""

    def blend(self, slot: int) -> Blend:
        """The blend for the cell in the slot at this position of the stack."""
        ...


class SlotMixture:
    """A blend for each slot, by its position."""

    def __init__(self, blends: Mapping[int, Blend]) -> None:
        self._blends = blends

    def blend(self, slot: int) -> Blend:
        return self._blends[slot]


class ArchMixture(SlotMixture):
    """The same blend in every slot that reads the same group."""

    def __init__(self, space: SearchSpace, blends: Mapping[str, Blend]) -> None:
        super().__init__({i: blends[slot.group] for i, slot in enumerate(space.slots) if slot.group})


def all_live(cell: Cell) -> Live:
    """Every candidate of every edge."""
    return tuple(tuple(range(len(edge.ops))) for edge in cell.edges)


def uniform(space: SearchSpace, *, like: Tensor | None = None) -> ArchMixture:
    """Every candidate of an edge with the same weight, and every edge of a weighted contest too.

    The weights get the type and device of `like`.
    """
    like = torch.empty(0) if like is None else like
    blends = {}
    for group, cell in space.groups:
        if cell.discrete:
            blends[group] = Blend(all_live(cell))
            continue
        ops = like.new_zeros(cell.shape)
        for row, edge in zip(ops, cell.edges, strict=True):
            row[: len(edge.ops)] = 1 / len(edge.ops)  # in place: a list would have to be sent to the device
        edges = like.new_ones(len(cell.edges))
        for contest in cell.contests:
            for index in contest.edges if contest.weighted else ():
                edges[index] = 1 / len(contest.edges)
        blends[group] = Blend(all_live(cell), ops, edges)
    return ArchMixture(space, blends)


def one_hot(space: SearchSpace, genotype: Genotype, *, like: Tensor | None = None) -> ArchMixture:
    """The mixture that gives the ops of `genotype` weight one and everything else none at all."""
    like = torch.empty(0) if like is None else like
    chosen = restrict(space, genotype).cells
    blends = {group: one_hot_blend(cell, chosen[group], like) for group, cell in space.groups}
    return ArchMixture(space, blends)


def one_hot_blend(cell: Cell, chosen: Cell, like: Tensor) -> Blend:
    """The blend that gives the ops of `chosen`, a cell restricted from `cell`, weight one."""
    names = {index: edge.ops[0] for index, edge in zip(match_edges(chosen, cell), chosen.edges, strict=True)}
    live = tuple(
        (edge.ops.index(names[index]),) if index in names else () for index, edge in enumerate(cell.edges)
    )
    ops = [[float(place in places) for place in range(cell.shape[1])] for places in live]
    return Blend(live, like.new_tensor(ops).view(cell.shape))


def match_edges(cell: Cell, supercell: Cell) -> tuple[int, ...]:
    """For each edge of `cell` its position in `supercell`, the cell that it is a part of.

    An edge fits one between the same nodes that has all its ops. Parallel edges keep their order.

    Raises:
        NetworkError: If an edge fits none.
    """
    matches: list[int] = []
    for edge in cell.edges:
        for index, candidate in enumerate(supercell.edges):
            same_nodes = (edge.source, edge.target) == (candidate.source, candidate.target)
            if index not in matches and same_nodes and {*edge.ops} <= {*candidate.ops}:
                matches.append(index)
                break
        else:
            raise NetworkError(f"the supernet has no edge {edge} with {', '.join(edge.ops)}")
    return tuple(matches)
