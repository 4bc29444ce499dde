"""Which edge of a cell is which edge of the cell that it is a part of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dartboard.errors import NetworkError
from dartboard.space.genotype import Genotype, restrict
from dartboard.space.spec import Cell, Edge, SearchSpace


def match_edges(cell: Cell, whole: Cell) -> tuple[int, ...]:
    """For each edge of `cell` its position in `whole`, the cell that it is a part of.

    An edge fits one between the same nodes that has all its ops. Parallel edges keep their order.

    Raises:
        NetworkError: If an edge fits none.
    """
    found: list[int] = []
    for edge in cell.edges:
        left = (place for place in range(len(whole.edges)) if place not in found)
        place = next((place for place in left if _fits(edge, whole.edges[place])), None)
        if place is None:
            raise NetworkError(f"the supernet has no edge {edge} with {', '.join(edge.ops)}")
        found.append(place)
    return tuple(found)


def _fits(edge: Edge, other: Edge) -> bool:
    return (edge.source, edge.target) == (other.source, other.target) and {*edge.ops} <= {*other.ops}


Live = tuple[tuple[int, ...], ...]
"""For each edge the candidates that take part, by position in `Edge.ops`; an empty tuple is no edge."""


@dataclass(frozen=True)
class Blend:
    """How the candidates of the E edges of one cell are blended.

    Args:
        live: Which candidates take part; the others cost nothing.
        ops: Their weights [E, N], or [B, E, N] for weights per example, N being the most candidates an
            edge has; None for a sum without weights.
        edges: Weights of whole edges [E] or [B, E] on top; None for none.
        attend: Weights that depend on the candidates' outputs: called with the position of the edge and
            the outputs of its live candidates, it gives their weights [B, live]. Takes the place of `ops`.
    """

    live: Live
    ops: Tensor | None = None
    edges: Tensor | None = None
    attend: Callable[[int, Sequence[Tensor]], Tensor] | None = None


class Mixture(Protocol):
    """What the network asks how to blend."""

    def blend(self, slot: int) -> Blend:
        """The blend for the cell in the slot at this position of the stack."""
        ...


class ArchMixture:
    """The same blend in every slot that reads the same arch.

    Args:
        space: The space whose slots are asked for.
        blends: The blend of each arch.
    """

    def __init__(self, space: SearchSpace, blends: Mapping[str, Blend]) -> None:
        self._archs = [slot.arch for slot in space.slots]
        self._blends = blends

    def blend(self, slot: int) -> Blend:
        return self._blends[self._archs[slot]]


def all_live(cell: Cell) -> Live:
    """Every candidate of every edge."""
    return tuple(tuple(range(len(edge.ops))) for edge in cell.edges)


def uniform(space: SearchSpace, *, like: Tensor | None = None) -> ArchMixture:
    """Every candidate of an edge with the same weight, and every edge of a weighted contest too.

    Args:
        space: The space whose cells are blended.
        like: A tensor whose type and device the weights get.
    """
    like = torch.empty(0) if like is None else like
    return ArchMixture(space, {arch: _uniform_blend(cell, like) for arch, cell in space.archs})


def _uniform_blend(cell: Cell, like: Tensor) -> Blend:
    if cell.discrete:
        return Blend(all_live(cell))
    ops = like.new_zeros(cell.shape)
    for row, edge in zip(ops, cell.edges, strict=True):
        row[: len(edge.ops)] = 1 / len(
            edge.ops
        )  # filled in place: a list would have to be sent to the device
    edges = like.new_ones(len(cell.edges))
    for contest in cell.contests:
        for index in contest.edges if contest.weighted else ():
            edges[index] = 1 / len(contest.edges)
    return Blend(all_live(cell), ops, edges)


def one_hot(space: SearchSpace, genotype: Genotype, *, like: Tensor | None = None) -> ArchMixture:
    """The mixture that gives the ops of `genotype` weight one and everything else none at all."""
    like = torch.empty(0) if like is None else like
    chosen = restrict(space, genotype).cells
    blends = {arch: one_hot_blend(cell, chosen[arch], like) for arch, cell in space.archs}
    return ArchMixture(space, blends)


def one_hot_blend(cell: Cell, chosen: Cell, like: Tensor) -> Blend:
    """The blend that gives the ops of `chosen`, a cell restricted from `cell`, weight one."""
    kept = {place: edge.ops[0] for place, edge in zip(match_edges(chosen, cell), chosen.edges, strict=True)}
    live = tuple(
        (edge.ops.index(kept[index]),) if index in kept else () for index, edge in enumerate(cell.edges)
    )
    ops = [[float(place in own) for place in range(cell.shape[1])] for own in live]
    return Blend(live, like.new_tensor(ops).view(cell.shape))
