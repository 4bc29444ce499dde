"""All candidates that leave one node, computed together.

The plain formula runs every candidate of every edge by itself. Here the copies of an op on the edges that
leave a node run as one bank (their channels side by side), what has no weights of its own (pooling, skip) is
computed once, the mixing weights are folded into the batch-norms, and banks on the same edges are summed
before they are taken apart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dartboard.nn.fast.norm import normalise, normalise_once, scaled
from dartboard.nn.mixture import Blend
from dartboard.nn.node_source import Source
from dartboard.nn.ops import Op


@dataclass(frozen=True)
class Candidate:
    """A live candidate: the position of its edge, its place among the edge's ops, and the module."""

    edge: int
    place: int
    op: Op


@dataclass
class Parts:
    """What has arrived along one edge: tensors to add, and tensors to add times a weight (0-d or [B])."""

    tensors: list[Tensor] = field(default_factory=list)
    weighted: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def add(self, tensor: Tensor, weight: Tensor | None) -> None:
        if weight is None:
            self.tensors.append(tensor)
        else:
            self.weighted.append((tensor, weight))


class Weights:
    """The weight of every candidate of a cell, drop-path included.

    Args:
        blend: How the cell is blended; attention takes the place of the ops' weights.
        drop: The drop-path factor of each edge [B, E], or None.
    """

    def __init__(self, blend: Blend, drop: Tensor | None) -> None:
        kept = blend.ops if blend.attend is None else None
        self._by_place = kept is not None
        if kept is not None and blend.edges is not None:
            kept = kept * blend.edges[..., None]
        elif blend.edges is not None:
            kept = blend.edges[..., None]
        dropped = kept if drop is None else drop[..., None] if kept is None else kept * drop[..., None]
        self._kept, self._dropped = _table(kept), _table(dropped)

    def of(self, candidate: Candidate) -> Tensor | None:
        """The candidate's weight, 0-d or [B]; None is one."""
        table = self._kept if candidate.op.passthrough else self._dropped
        if table is None:
            return None
        return table[candidate.edge][candidate.place if self._by_place else 0]

    def of_bank(self, bank: Sequence[Candidate]) -> Tensor | None:
        """The weights of several candidates, [n] or [B, n]; None is one."""
        weights = [self.of(candidate) for candidate in bank]
        found = [weight for weight in weights if weight is not None]
        return torch.stack(found, dim=-1) if found else None


def _table(weights: Tensor | None) -> list[tuple[Tensor, ...]] | None:
    return None if weights is None else [row.unbind(-1) for row in weights.unbind(-2)]


def banks(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates grouped into what can run as one."""
    groups: dict[object, list[Candidate]] = {}
    for candidate in candidates:
        bank = candidate.op.bank
        groups.setdefault(id(candidate.op) if bank is None else bank, []).append(candidate)
    return list(groups.values())


def spread(source: Source, candidates: Sequence[Candidate], weights: Weights, parts: Sequence[Parts]) -> None:
    """Computes the candidates that leave `source` and leaves their weighted outputs in `parts`, by edge."""
    sums: dict[tuple[int, ...], list[Tensor]] = {}
    shared: dict[tuple[int, ...], list[tuple[Tensor, Tensor | None]]] = {}
    for bank in banks(candidates):
        edges = tuple(candidate.edge for candidate in bank)
        y = bank[0].op.fan_out([candidate.op for candidate in bank], source)
        weight = weights.of_bank(bank)
        if bank[0].op.shared and (y_once := _once(y, bank)) is not None:
            shared.setdefault(edges, []).append((y_once, weight))
        else:
            y = _weighted(y, bank, weight)
            sums.setdefault(edges, []).append(y)
    for edges, values in sums.items():
        for edge, part in zip(edges, add_up(values).chunk(len(edges), dim=1), strict=True):
            parts[edge].add(part, None)
    for edges, terms in shared.items():
        for edge, part in zip(edges, _combine(terms, len(edges)), strict=True):
            parts[edge].add(part, None)


def _combine(terms: Sequence[tuple[Tensor, Tensor | None]], count: int) -> Sequence[Tensor]:
    """For each of `count` edges the weighted sum of the same tensors, as one matrix product.

    Args:
        terms: Tensors [B, C, H, W], each with a weight for every edge, [count] or [B, count], or none.
        count: How many edges there are.
    """
    plain = [tensor for tensor, weight in terms if weight is None]
    weighted = [(tensor, weight) for tensor, weight in terms if weight is not None]
    if not weighted:
        return [add_up(plain)] * count
    batch, channels, height, width = terms[0][0].shape
    weight = torch.stack(torch.broadcast_tensors(*(weight for _, weight in weighted)), dim=-1)
    rows = [tensor.permute(0, 2, 3, 1).reshape(*weight.shape[:-2], -1) for tensor, _ in weighted]
    mixed = weight @ torch.stack(rows, dim=-2)  # [(B,) count, terms] @ [(B,) terms, (B *) H * W * C]
    parts = [row.view(batch, height, width, channels).permute(0, 3, 1, 2) for row in mixed.unbind(-2)]
    return [add_up([part, *plain]) for part in parts]


def outputs(source: Source, candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, Tensor]]:
    """Each candidate that leaves `source` with its own output [B, C, H, W], not weighted."""
    for bank in banks(candidates):
        y = bank[0].op.fan_out([candidate.op for candidate in bank], source)
        if bank[0].op.shared and (y_once := _once(y, bank)) is not None:
            yield from ((candidate, y_once) for candidate in bank)
        else:
            yield from zip(bank, _weighted(y, bank, None).chunk(len(bank), dim=1), strict=True)


def _once(y: Tensor, bank: Sequence[Candidate]) -> Tensor | None:
    """A shared body with its norm, where that is the same for the whole bank; else None."""
    norms = [candidate.op.norm for candidate in bank if candidate.op.norm is not None]
    return normalise_once(y, norms) if norms else y


def _weighted(y: Tensor, bank: Sequence[Candidate], weight: Tensor | None) -> Tensor:
    norms = [candidate.op.norm for candidate in bank if candidate.op.norm is not None]
    if bank[0].op.shared:
        y = torch.cat([y] * len(bank), dim=1)
    return normalise(y, norms, weight) if norms else scaled(y, weight)


def times(x: Tensor, weight: Tensor | None) -> Tensor:
    """[B, C, H, W] times one weight (0-d) or one an example [B]; None leaves it."""
    if weight is None:
        return x
    return x * (weight if weight.dim() == 0 else weight[:, None, None, None])


def gather(parts: Sequence[Parts]) -> Tensor | None:
    """The sum of all that has arrived, or None where nothing has."""
    terms = [tensor for part in parts for tensor in part.tensors]
    terms += [times(tensor, weight) for part in parts for tensor, weight in part.weighted]
    return add_up(terms) if terms else None


def add_up(terms: Sequence[Tensor]) -> Tensor:
    """The sum of at least one tensor; intermediate sums are reused, the terms are left alone."""
    if len(terms) == 1:
        return terms[0]
    total = terms[0] + terms[1]
    for term in terms[2:]:
        total += term
    return total
