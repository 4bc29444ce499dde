"""The default way to compute a cell: node by node, all candidates that leave a node together.

The plain formula runs every candidate of every edge by itself. Here the copies of an op on the edges that
leave a node run as one bank (their channels side by side), an op without weights (pooling, skip) is computed
once, the mixing weights are folded into the batch-norms, and banks on the same edges are summed before they
are split by edge.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dartboard.nn.fast.norm import normalize, normalize_once, scale_blocks
from dartboard.nn.mixture import Blend
from dartboard.nn.ops import Op, SourceNode, Zero

if TYPE_CHECKING:
    from dartboard.nn.cell import CellModule


@dataclass(frozen=True)
class Candidate:
    """A live candidate: the position of its edge, its position among the edge's ops, and the module."""

    edge: int
    place: int
    op: Op


@dataclass
class EdgeTerms:
    """The terms of one edge's value: tensors to add, and tensors to add times a weight (0-d or [B])."""

    tensors: list[Tensor] = field(default_factory=list)
    weighted: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def add(self, tensor: Tensor, weight: Tensor | None) -> None:
        if weight is None:
            self.tensors.append(tensor)
        else:
            self.weighted.append((tensor, weight))


class CandidateWeights:
    """The weight of every candidate of a cell, drop-path included.

    Args:
        blend: How the cell is blended; with attention the ops have no weight here.
        drop: The drop-path factor of each edge [B, E], or None.
    """

    def __init__(self, blend: Blend, drop: Tensor | None) -> None:
        weights = blend.ops if blend.attend is None else None
        self._by_op = weights is not None
        if weights is not None and blend.edges is not None:
            weights = weights * blend.edges[..., None]
        elif blend.edges is not None:
            weights = blend.edges[..., None]
        dropped = weights
        if drop is not None:
            dropped = drop[..., None] if weights is None else weights * drop[..., None]
        self._weights, self._dropped = _by_edge(weights), _by_edge(dropped)

    def of(self, candidate: Candidate) -> Tensor | None:
        """The candidate's weight, 0-d or [B]; None is one."""
        table = self._weights if candidate.op.passthrough else self._dropped
        if table is None:
            return None
        return table[candidate.edge][candidate.place if self._by_op else 0]

    def of_bank(self, bank: Sequence[Candidate]) -> Tensor | None:
        """The weights of several candidates, [n] or [B, n]; None is one."""
        weights = [weight for candidate in bank if (weight := self.of(candidate)) is not None]
        return torch.stack(weights, dim=-1) if weights else None


def _by_edge(weights: Tensor | None) -> list[tuple[Tensor, ...]] | None:
    return None if weights is None else [row.unbind(-1) for row in weights.unbind(-2)]


def banks(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates in groups that can run as one."""
    groups: dict[object, list[Candidate]] = {}
    for candidate in candidates:
        bank = candidate.op.bank
        groups.setdefault(id(candidate.op) if bank is None else bank, []).append(candidate)
    return list(groups.values())


def add_outputs(
    source: SourceNode,
    candidates: Sequence[Candidate],
    weights: CandidateWeights,
    terms: Sequence[EdgeTerms],
) -> None:
    """Computes the candidates that leave `source` and adds their weighted outputs to `terms`, by edge."""
    sums: dict[tuple[int, ...], list[Tensor]] = {}
    shared: dict[tuple[int, ...], list[tuple[Tensor, Tensor | None]]] = {}
    for bank in banks(candidates):
        edges = tuple(candidate.edge for candidate in bank)
        y = bank[0].op.fan_out([candidate.op for candidate in bank], source)
        weight = weights.of_bank(bank)
        if bank[0].op.shared and (common := _common_output(y, bank)) is not None:
            shared.setdefault(edges, []).append((common, weight))
        else:
            sums.setdefault(edges, []).append(_weighted(y, bank, weight))
    for edges, values in sums.items():
        for edge, part in zip(edges, add_up(values).chunk(len(edges), dim=1), strict=True):
            terms[edge].add(part, None)
    for edges, outputs_and_weights in shared.items():
        for edge, part in zip(edges, _combine(outputs_and_weights, len(edges)), strict=True):
            terms[edge].add(part, None)


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


def outputs(source: SourceNode, candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, Tensor]]:
    """Each candidate that leaves `source` with its output [B, C, H, W], without weights."""
    for bank in banks(candidates):
        y = bank[0].op.fan_out([candidate.op for candidate in bank], source)
        if bank[0].op.shared and (common := _common_output(y, bank)) is not None:
            yield from ((candidate, common) for candidate in bank)
        else:
            yield from zip(bank, _weighted(y, bank, None).chunk(len(bank), dim=1), strict=True)


def _common_output(y: Tensor, bank: Sequence[Candidate]) -> Tensor | None:
    """A shared body with its norm, where that is the same for all of the bank; else None."""
    norms = [candidate.op.norm for candidate in bank if candidate.op.norm is not None]
    return normalize_once(y, norms) if norms else y


def _weighted(y: Tensor, bank: Sequence[Candidate], weight: Tensor | None) -> Tensor:
    """The outputs of a bank side by side [B, n * C, H, W], from its bodies, times the weights."""
    norms = [candidate.op.norm for candidate in bank if candidate.op.norm is not None]
    if bank[0].op.shared:
        y = torch.cat([y] * len(bank), dim=1)
    return normalize(y, norms, weight) if norms else scale_blocks(y, weight)


def times(x: Tensor, weight: Tensor | None) -> Tensor:
    """[B, C, H, W] times one weight (0-d) or one an example [B]; None leaves it."""
    if weight is None:
        return x
    return x * (weight if weight.dim() == 0 else weight[:, None, None, None])


def sum_edges(edges: Sequence[EdgeTerms]) -> Tensor | None:
    """The sum of all terms of some edges, or None where there are none."""
    terms = [tensor for edge in edges for tensor in edge.tensors]
    terms += [times(tensor, weight) for edge in edges for tensor, weight in edge.weighted]
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
    """All nodes of a cell, the inputs included; same arguments and result as `plain_nodes`."""
    return _CellPass(module, blend, drop).run(entering)


class _CellPass:
    """One forward pass through a cell: the terms of each edge so far."""

    def __init__(self, module: "CellModule", blend: Blend, drop: Tensor | None) -> None:
        self.module, self.cell, self.blend = module, module.cell, blend
        self.weights = CandidateWeights(blend, drop)
        self.terms = [EdgeTerms() for _ in self.cell.edges]
        self.bypass = [EdgeTerms() for _ in self.cell.edges]

    def run(self, entering: Sequence[Tensor]) -> list[Tensor]:
        nodes = list(entering)
        for node in range(self.cell.nodes):
            if node in self.cell.inner:
                edges = self.cell.entering(node)
                # edges that are summed anyway are summed at once
                groups = [(edge,) for edge in edges] if node in self.cell.concat else [edges]
                values = {
                    group[0]: value for group in groups if group and (value := self._sum(group)) is not None
                }
                nodes.append(self.module.join(node, values, entering[0]))
            self._leave(node, nodes[node])
        return nodes

    def _leave(self, node: int, x: Tensor) -> None:
        """Computes every live candidate on the edges that leave `node`."""
        edges = [i for i, edge in enumerate(self.cell.edges) if edge.source == node and self.blend.live[i]]
        for partial in sorted({self.module.partial(edge) for edge in edges}):
            alike = [edge for edge in edges if self.module.partial(edge) == partial]
            head, rest = self.module.divide(alike[0], x)
            self._compute(SourceNode(head), alike)
            if rest is not None:
                for edge in alike:
                    weight = None if self.blend.edges is None else self.blend.edges[..., edge]
                    self.bypass[edge].add(rest, weight)

    def _compute(self, source: SourceNode, edges: Sequence[int]) -> None:
        """Computes the live candidates of edges that leave one node and adds their outputs to the terms."""
        candidates = [candidate for edge in edges for candidate in self.module.candidates(edge, self.blend)]
        present = [candidate for candidate in candidates if not isinstance(candidate.op, Zero)]
        if self.blend.attend is None:
            add_outputs(source, present, self.weights, self.terms)
            return
        computed = dict(outputs(source, present))
        for edge in edges:
            on_edge = [candidate for candidate in candidates if candidate.edge == edge]
            values = [computed[c] if c in computed else c.op(source.x) for c in on_edge]
            attention = self.blend.attend(edge, values).unbind(-1)
            for candidate, value, weight in zip(on_edge, values, attention, strict=True):
                if not isinstance(candidate.op, Zero):
                    factor = self.weights.of(candidate)
                    self.terms[edge].add(value, weight if factor is None else weight * factor)

    def _sum(self, edges: Sequence[int]) -> Tensor | None:
        """The sum of some edges, the channels that bypass the candidates included; None for nothing."""
        total = sum_edges([self.terms[edge] for edge in edges])
        rest = sum_edges([self.bypass[edge] for edge in edges])
        if rest is None:
            return total
        if total is None:
            total = torch.zeros_like(rest[:, :1]).expand(
                -1, self.module.options.width - rest.shape[1], -1, -1
            )
        return self.module.shuffle(torch.cat([total, rest], dim=1))
