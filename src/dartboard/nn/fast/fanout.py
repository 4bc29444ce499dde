"""All candidates that leave one node, computed together.

The plain formula runs every candidate of every edge by itself. Here the copies of an op on the edges that
leave a node run as one bank (their channels side by side), what has no weights of its own (pooling, skip) is
computed once, the mixing weights are folded into the batch-norms, and banks on the same edges are summed
before they are taken apart.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dartboard.nn.fast.norm import normalise, normalise_once, scaled
from dartboard.nn.mixture import Blend
from dartboard.nn.node_source import Source
from dartboard.nn.ops import Op, Zero

if TYPE_CHECKING:
    from dartboard.nn.cell import CellModule


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


def fused_nodes(
    module: "CellModule", entering: Sequence[Tensor], blend: Blend, drop: Tensor | None
) -> list[Tensor]:
    """All nodes of a cell, the inputs included; takes and gives what `plain_nodes` does."""
    return _Pass(module, blend, drop).run(entering)


class _Pass:
    """One pass through a cell: what has arrived along each edge so far."""

    def __init__(self, module: "CellModule", blend: Blend, drop: Tensor | None) -> None:
        self.module, self.cell, self.blend = module, module.cell, blend
        self.weights = Weights(blend, drop)
        self.arrived = [Parts() for _ in self.cell.edges]
        self.bypassed = [Parts() for _ in self.cell.edges]

    def run(self, entering: Sequence[Tensor]) -> list[Tensor]:
        nodes = list(entering)
        for node in range(self.cell.nodes):
            if node in self.cell.inner:
                nodes.append(self._collect(node, entering[0]))
            self._leave(node, nodes[node])
        return nodes

    def _leave(self, node: int, x: Tensor) -> None:
        """Computes every live candidate on the edges that leave `node`."""
        edges = [i for i, edge in enumerate(self.cell.edges) if edge.source == node and self.blend.live[i]]
        for partial in sorted({self.module.partial(edge) for edge in edges}):
            own = [edge for edge in edges if self.module.partial(edge) == partial]
            head, rest = self.module.divide(own[0], x)
            self._spread(Source(head), own)
            if rest is not None:
                for edge in own:
                    weight = None if self.blend.edges is None else self.blend.edges[..., edge]
                    self.bypassed[edge].add(rest, weight)

    def _spread(self, source: Source, edges: Sequence[int]) -> None:
        candidates = [candidate for edge in edges for candidate in self.module.candidates(edge, self.blend)]
        present = [candidate for candidate in candidates if not isinstance(candidate.op, Zero)]
        if self.blend.attend is None:
            spread(source, present, self.weights, self.arrived)
            return
        found = dict(outputs(source, present))
        for edge in edges:
            own = [candidate for candidate in candidates if candidate.edge == edge]
            values = [found[c] if c in found else c.op(source.x) for c in own]
            weights = self.blend.attend(edge, values).unbind(-1)
            self._add(own, values, weights)

    def _add(
        self, candidates: Sequence[Candidate], values: Sequence[Tensor], weights: Sequence[Tensor]
    ) -> None:
        """Adds the outputs of an edge's candidates with the weights that attention gives them."""
        for candidate, value, weight in zip(candidates, values, weights, strict=True):
            if not isinstance(candidate.op, Zero):
                factor = self.weights.of(candidate)
                self.arrived[candidate.edge].add(value, weight if factor is None else weight * factor)

    def _collect(self, node: int, first: Tensor) -> Tensor:
        """A node from what has arrived along its edges; what is summed anyway is summed at once."""
        edges = self.cell.entering(node)
        groups = [(edge,) for edge in edges] if node in self.cell.concat else [edges]
        values = {group[0]: value for group in groups if group and (value := self._total(group)) is not None}
        return self.module.join(node, values, first)

    def _total(self, edges: Sequence[int]) -> Tensor | None:
        """The sum of some edges, the channels that bypass the candidates included; None for nothing."""
        total = gather([self.arrived[edge] for edge in edges])
        rest = gather([self.bypassed[edge] for edge in edges])
        if rest is None:
            return total
        if total is None:
            total = torch.zeros_like(rest[:, :1]).expand(
                -1, self.module.options.width - rest.shape[1], -1, -1
            )
        return self.module.shuffle(torch.cat([total, rest], dim=1))
