"""How much accuracy a supernet loses when one mixed edge is made discrete (asm-nas 5.3.1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from dartboard.arch.objective import Objective
from dartboard.nn.mixture import Blend, Mixture
from dartboard.search.health import accuracy
from dartboard.search.select import Batches
from dartboard.space.genotype import Genotype, decisions

Attend = Callable[[int, Sequence[Tensor]], Tensor]


@dataclass(frozen=True)
class EdgeStability:
    """What became of the accuracy when one edge was decided and all others stayed mixed.

    Args:
        group: The group; the edge is decided in every slot that reads it.
        edge: The position of the edge in its cell.
        op: What was chosen for it; None if the edge was not kept.
        accuracy: With the edge decided.
        change: Against the supernet with every edge mixed; close to zero is stable.
    """

    group: str
    edge: int
    op: str | None
    accuracy: float
    change: float


def stability(objective: Objective, genotype: Genotype, valid: Batches) -> list[EdgeStability]:
    """Decides one edge at a time, all others mixed, and measures; one pass over the images for each edge.

    Args:
        objective: The trained network under its relaxation; nothing of it is changed.
        genotype: What was chosen.
        valid: Held-out images.
    """
    mixed = accuracy(objective, objective.relaxation, valid())
    stabilities = []
    for group, chosen in decisions(objective.net.space, genotype).items():
        cell = objective.net.space.cells[group]
        for index, edge in enumerate(cell.edges):
            op = chosen.get(index)
            place = None if op is None else edge.ops.index(op)
            now = accuracy(objective, partial(EdgeDecided, objective, group, index, place), valid())
            stabilities.append(EdgeStability(group, index, op, now, now - mixed))
    return stabilities


class EdgeDecided:
    """A fresh mixture of a relaxation in which one edge keeps the op at `place`, or is left out."""

    def __init__(self, objective: Objective, group: str, edge: int, place: int | None) -> None:
        self._groups = [slot.group for slot in objective.net.space.slots]
        self._mixture: Mixture = objective.relaxation()
        self._group, self._edge, self._place = group, edge, place

    def blend(self, slot: int) -> Blend:
        blend = self._mixture.blend(slot)
        return blend if self._groups[slot] != self._group else decide(blend, self._edge, self._place)


def decide(blend: Blend, edge: int, place: int | None) -> Blend:
    """The blend with one edge decided: its op has weight one, or there is no edge."""
    live = list(blend.live)
    live[edge] = () if place is None else (place,)
    ops, edges, attend = blend.ops, blend.edges, blend.attend
    if ops is not None:
        ops = ops.clone()
        ops[..., edge, :] = 0.0
        if place is not None:
            ops[..., edge, place] = 1.0
    if edges is not None:
        edges = edges.clone()
        edges[..., edge] = 1.0
    attend = None if attend is None else partial(_attend_elsewhere, attend, edge)
    return replace(blend, live=tuple(live), ops=ops, edges=edges, attend=attend)


def _attend_elsewhere(attend: Attend, decided: int, edge: int, outputs: Sequence[Tensor]) -> Tensor:
    return outputs[0].new_ones(len(outputs[0]), 1) if edge == decided else attend(edge, outputs)
