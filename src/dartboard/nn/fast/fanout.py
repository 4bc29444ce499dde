"""The default way to compute a cell: node by node, all candidates that leave a node together.

The plain formula runs every candidate of every edge by itself. Here the copies of an op on the edges that
leave a node run as one bank (their channels side by side), an op without weights (pooling, skip) is computed
once, the mixing weights are folded into the batch-norms, and banks on the same edges are summed before they
are split by edge.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dartboard.nn.fast.norm import normalize, normalize_once, scale_blocks
from dartboard.nn.mixture import Blend
from dartboard.nn.ops import Op, SourceNode, Zero

if TYPE_CHECKING:
    from dartboard.nn.cell import CellModule

Terms = list[tuple[Tensor, Tensor | None]]
"""The value of an edge: tensors [B, C, H, W] to add up, each times a weight, 0-d or [B]; None is one."""


@dataclass(frozen=True)
class Candidate:
    """A live candidate: the position of its edge, its position among the edge's ops, and the module."""

    edge: int
    place: int
    op: Op


def fused_nodes(
    module: "CellModule", entering: Sequence[Tensor], blend: Blend, drop: Tensor | None
) -> list[Tensor]:
    """All nodes of a cell, the inputs included; same arguments and result as `plain_nodes`."""
    cell, weights = module.cell, CandidateWeights(blend, drop)
    terms: list[Terms] = [[] for _ in cell.edges]
    bypass: list[Terms] = [[] for _ in cell.edges]  # the channels that pass no candidate
    nodes = list(entering)
    for node in range(cell.nodes):
        if node >= cell.inputs:
            incoming = module.entering[node]
            # edges that are summed anyway are summed at once
            groups = [(edge,) for edge in incoming] if node in cell.concat else [incoming]
            values = {group[0]: sum_edges(module, group, terms, bypass) for group in groups if group}
            nodes.append(module.join(node, values, entering[0]))
        for outgoing in module.leaving[node]:
            edges = [edge for edge in outgoing if blend.live[edge]]
            if not edges:
                continue
            head, rest = module.divide(edges[0], nodes[node])
            source, live = SourceNode(head), [c for edge in edges for c in module.candidates(edge, blend)]
            if blend.attend is None:
                add_outputs(source, [c for c in live if not isinstance(c.op, Zero)], weights, terms)
            else:
                add_attended_outputs(source, live, blend.attend, weights, terms)
            if rest is not None:
                for edge in edges:
                    bypass[edge].append((rest, None if blend.edges is None else blend.edges[..., edge]))
    return nodes


class CandidateWeights:
    """The weight of every candidate of a cell, drop-path included.

    Args:
        blend: How the cell is blended; with attention the ops have no weight here.
        drop: The drop-path factor of each edge [B, E], or None.
    """

    def __init__(self, blend: Blend, drop: Tensor | None) -> None:
        weights = blend.ops if blend.attend is None else None
        self._by_op = weights is not None
        if blend.edges is not None:
            edges = blend.edges[..., None]
            weights = edges if weights is None else weights * edges
        dropped = weights
        if drop is not None:
            dropped = drop[..., None] if weights is None else weights * drop[..., None]
        # by edge and place, for candidates that drop-path leaves alone and for the others
        self._weights, self._dropped = (
            None if table is None else [row.unbind(-1) for row in table.unbind(-2)]
            for table in (weights, dropped)
        )

    def of(self, candidate: Candidate) -> Tensor | None:
        """The candidate's weight, 0-d or [B]; None is one."""
        table = self._weights if candidate.op.passthrough else self._dropped
        if table is None:
            return None
        return table[candidate.edge][candidate.place if self._by_op else 0]


def banks(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates in groups that can run as one."""
    groups: dict[object, list[Candidate]] = {}
    for candidate in candidates:
        bank = candidate.op.bank
        groups.setdefault(id(candidate.op) if bank is None else bank, []).append(candidate)
    return list(groups.values())


def run_bank(
    source: SourceNode, bank: Sequence[Candidate], weight: Tensor | None = None
) -> tuple[Tensor, bool]:
    """The outputs of candidates that run as one.

    Args:
        source: The node that they leave.
        bank: The candidates.
        weight: A weight for each, [n] or [B, n]; None is one.

    Returns:
        The weighted outputs side by side [B, n * C, H, W] and False, or where all outputs are the same that
        one [B, C, H, W], without a weight, and True.
    """
    ops = [candidate.op for candidate in bank]
    y = ops[0].fan_out(ops, source)
    norms = [op.norm for op in ops if op.norm is not None]
    if ops[0].shared:
        common = normalize_once(y, norms) if norms else y
        if common is not None:
            return common, True
        y = torch.cat([y] * len(ops), dim=1)
    return normalize(y, norms, weight) if norms else scale_blocks(y, weight), False


def add_outputs(
    source: SourceNode, candidates: Sequence[Candidate], weights: CandidateWeights, terms: Sequence[Terms]
) -> None:
    """Computes the candidates that leave `source` and adds their weighted outputs to `terms`, by edge."""
    sums: dict[tuple[int, ...], list[Tensor]] = {}
    shared: dict[tuple[int, ...], Terms] = {}
    for bank in banks(candidates):
        edges = tuple(candidate.edge for candidate in bank)
        each = [weight for candidate in bank if (weight := weights.of(candidate)) is not None]
        weight = torch.stack(each, dim=-1) if each else None
        y, is_common = run_bank(source, bank, weight)
        if is_common:
            shared.setdefault(edges, []).append((y, weight))
        else:
            sums.setdefault(edges, []).append(y)
    for edges, outputs in sums.items():
        for edge, part in zip(edges, add_up(outputs).chunk(len(edges), dim=1), strict=True):
            terms[edge].append((part, None))
    for edges, outputs_and_weights in shared.items():
        for edge, part in zip(edges, _combine(outputs_and_weights, len(edges)), strict=True):
            terms[edge].append((part, None))


def _combine(terms: Terms, count: int) -> Sequence[Tensor]:
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
    weight = torch.stack(torch.broadcast_tensors(*[weight for _, weight in weighted]), dim=-1)
    rows = [tensor.permute(0, 2, 3, 1).reshape(*weight.shape[:-2], -1) for tensor, _ in weighted]
    mixed = weight @ torch.stack(rows, dim=-2)  # [(B,) count, terms] @ [(B,) terms, (B *) H * W * C]
    parts = [row.view(batch, height, width, channels).permute(0, 3, 1, 2) for row in mixed.unbind(-2)]
    return [add_up([part, *plain]) for part in parts]


def add_attended_outputs(
    source: SourceNode,
    candidates: Sequence[Candidate],
    attend: Callable[[int, Sequence[Tensor]], Tensor],
    weights: CandidateWeights,
    terms: Sequence[Terms],
) -> None:
    """`add_outputs` with weights that depend on the outputs, those of `none` included."""
    computed = dict(outputs(source, [c for c in candidates if not isinstance(c.op, Zero)]))
    for edge in dict.fromkeys(candidate.edge for candidate in candidates):
        on_edge = [candidate for candidate in candidates if candidate.edge == edge]
        values = [computed[c] if c in computed else c.op(source.x) for c in on_edge]
        attention = attend(edge, values).unbind(-1)
        for candidate, value, weight in zip(on_edge, values, attention, strict=True):
            if candidate in computed:
                factor = weights.of(candidate)
                terms[edge].append((value, weight if factor is None else weight * factor))


def outputs(source: SourceNode, candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, Tensor]]:
    """Each candidate that leaves `source` with its output [B, C, H, W], without weights."""
    for bank in banks(candidates):
        y, is_common = run_bank(source, bank)
        yield from zip(bank, [y] * len(bank) if is_common else y.chunk(len(bank), dim=1), strict=True)


def sum_edges(
    module: "CellModule", edges: Sequence[int], terms: Sequence[Terms], bypass: Sequence[Terms]
) -> Tensor | None:
    """The sum of some edges, the channels that bypass the candidates included; None for nothing."""
    through = [times(tensor, weight) for edge in edges for tensor, weight in terms[edge]]
    total = add_up(through) if through else None
    around = [times(tensor, weight) for edge in edges for tensor, weight in bypass[edge]]
    if not around:
        return total
    rest = add_up(around)
    if total is None:
        total = torch.zeros_like(rest[:, :1]).expand(-1, module.options.width - rest.shape[1], -1, -1)
    return module.shuffle(torch.cat([total, rest], dim=1))


def times(x: Tensor, weight: Tensor | None) -> Tensor:
    """[B, C, H, W] times one weight (0-d) or one per example [B]; None leaves it."""
    if weight is None:
        return x
    return x * (weight if weight.dim() == 0 else weight[:, None, None, None])


def add_up(terms: Sequence[Tensor]) -> Tensor:
    """The sum of at least one tensor; intermediate sums are reused, the terms are left alone."""
    if len(terms) == 1:
        return terms[0]
    total = terms[0] + terms[1]
    for term in terms[2:]:
        total += term
    return total
