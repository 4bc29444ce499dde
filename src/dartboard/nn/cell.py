"""A cell as a module: the same class for supernets and for discrete networks.

Two ways of computing it give the same result: `plain_nodes` is the formula as papers write it,
`dartboard.nn.fast.fanout` shares work between the edges that leave a node.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.fast.fanout import Candidate, fused_nodes, times
from dartboard.nn.mixture import Blend, Live
from dartboard.nn.ops import FactorizedReduce, Op, ReLUConvNorm, Site, build_op
from dartboard.space.spec import Cell


@dataclass(frozen=True)
class FeatureInfo:
    """The output of a slot: its channels, and how many times smaller than the image it is."""

    channels: int
    scale: int


@dataclass(frozen=True)
class BatchRows:
    """Where the examples of a forward pass lie in a batch that passes in several parts.

    Args:
        total: Examples of the complete batch.
        start: The first of them that is in this pass.
    """

    total: int
    start: int


@dataclass(frozen=True)
class CellOptions:
    """How a cell is built.

    Args:
        width: Channels of the cell's nodes.
        stride: 2 for a reduction cell.
        affine: Whether batch-norms have a scale and a shift to learn.
        pool_norm: Whether poolings end in a batch-norm.
        partial: Only one in this many channels passes the candidates (PC-DARTS' K).
        plain: Whether to compute by the plain formula.
    """

    width: int
    stride: int = 1
    affine: bool = True
    pool_norm: bool = False
    partial: int = 1
    plain: bool = False


class CellModule(nn.Module):
    """The ops of one cell, discrete or not: all candidates of all edges. `features` enter its inputs."""

    def __init__(self, cell: Cell, features: Sequence[FeatureInfo], options: CellOptions) -> None:
        super().__init__()
        self.cell, self.options = cell, options
        self._shape = cell.shape
        width, scale = options.width, max(feature.scale for feature in features)
        if width % options.partial:
            raise NetworkError(
                f"partial channels: {options.partial} does not divide a cell's {width} channels"
            )
        self.partial = [1 if edge.target in cell.joins else options.partial for edge in cell.edges]
        """One in how many channels pass the candidates of each edge."""
        self.entering = [cell.entering(node) for node in range(cell.nodes)]
        """The edges that enter each node, by position."""
        self.leaving: list[list[list[int]]] = []
        """The edges that leave each node, by position, in groups that read the same channels of it."""
        for node in range(cell.nodes):
            edges = [index for index, edge in enumerate(cell.edges) if edge.source == node]
            partials = sorted({self.partial[index] for index in edges})
            self.leaving.append([[i for i in edges if self.partial[i] == each] for each in partials])
        self.adapt = nn.ModuleList()
        self.channels = [feature.channels for feature in features]
        """The channels of every node."""
        if cell.adapt:
            self.adapt.extend(adapter(feature, width, scale, options.affine) for feature in features)
            self.channels = [width] * len(features)
        for node in cell.inner:
            self.channels.append(width * (len(self.entering[node]) if node in cell.concat else 1))
        self.edges = nn.ModuleList()
        for edge, partial in zip(cell.edges, self.partial, strict=True):
            inputs, stride = self.channels[edge.source], options.stride if edge.source < cell.inputs else 1
            if partial > 1 and inputs != width:
                raise NetworkError(
                    f"partial channels on edge {edge}: its source has {inputs} channels, the cell {width}"
                )
            site = Site(inputs // partial, width // partial, stride, options.affine, options.pool_norm)
            self.edges.append(nn.ModuleDict({name: build_op(name, site) for name in edge.ops}))
        outputs = sum(self.channels[node] for node in cell.output)
        self.project = ReLUConvNorm(Site(outputs, width, affine=options.affine), 1) if cell.project else None
        self.feature_info = FeatureInfo(width if cell.project else outputs, scale * options.stride)

    def forward(
        self, entering: Sequence[Tensor], blend: Blend, drop_path: float = 0.0, rows: BatchRows | None = None
    ) -> Tensor:
        """The cell's output [B, C, H, W].

        Args:
            entering: One tensor per cell input.
            blend: How the candidates are blended.
            drop_path: The probability with which an edge is dropped for an example, in training.
            rows: Where the examples lie in a larger batch, for which random draws are made.
        """
        shape = self._shape if blend.ops is None else tuple(blend.ops.shape[-2:])
        if len(blend.live) != self._shape[0] or shape != self._shape:
            raise NetworkError(
                f"the mixture is for another cell: weights {list(shape)} and {len(blend.live)} edges, where "
                f"this cell takes {list(self._shape)} and {self._shape[0]}"
            )
        if self.cell.adapt:
            entering = [adapt(x) for adapt, x in zip(self.adapt, entering, strict=True)]
        drop = None
        if self.training and drop_path > 0:
            # drawn for the complete batch, so that an example gets the same whichever pass it is in
            keep, batch = 1 - drop_path, entering[0].shape[0]
            rows = rows or BatchRows(batch, 0)
            mask = entering[0].new_empty(rows.total, len(self.cell.edges)).bernoulli_(keep)
            drop = mask[rows.start : rows.start + batch] / keep
            for index, edge in enumerate(self.cell.edges):
                if edge.target in self.cell.joins:  # connections into joins are never dropped
                    drop[:, index] = 1.0
        compute = plain_nodes if self.options.plain else fused_nodes
        nodes = compute(self, entering, blend, drop)
        outputs = [nodes[node] for node in self.cell.output]
        result = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)
        return result if self.project is None else self.project(result)

    def candidates(self, edge: int, blend: Blend) -> list[Candidate]:
        """The live candidates of the edge at position `edge`."""
        names, candidates = self.cell.edges[edge].ops, []
        ops: nn.ModuleDict = self.edges._modules[str(edge)]  # type: ignore[assignment]
        for place in blend.live[edge]:
            try:
                op: Op = ops._modules[names[place]]  # type: ignore[assignment]  # far quicker than indexing
            except KeyError:
                removed = f"{names[place]} on edge {self.cell.edges[edge]}"
                raise NetworkError(f"{removed} has been removed") from None
            candidates.append(Candidate(edge, place, op))
        return candidates

    def prune(self, live: Live) -> list[nn.Parameter]:
        """Removes all candidates but those in `live`; returns the parameters of the removed ones."""
        removed: list[nn.Parameter] = []
        for edge, ops, places in zip(self.cell.edges, self.edges, live, strict=True):
            names = {edge.ops[place] for place in places}
            for name in [name for name in ops if name not in names]:  # type: ignore[attr-defined]
                removed += ops.pop(name).parameters()  # type: ignore[operator]
        return removed

    def divide(self, edge: int, x: Tensor) -> tuple[Tensor, Tensor | None]:
        """The channels of the source node that pass the candidates, and those that bypass them, if any."""
        partial = self.partial[edge]
        if partial == 1:
            return x, None
        head, rest = x.split([x.shape[1] // partial, x.shape[1] - x.shape[1] // partial], dim=1)
        strided = self.options.stride == 2 and self.cell.edges[edge].source < self.cell.inputs
        return head, F.max_pool2d(rest, 2, ceil_mode=True) if strided else rest

    def shuffle(self, x: Tensor) -> Tensor:
        """PC-DARTS' channel shuffle: channel i of group g of K becomes channel g of group i."""
        batch, channels, height, width = x.shape
        groups = x.view(batch, self.options.partial, channels // self.options.partial, height, width)
        return groups.transpose(1, 2).flatten(1, 2)

    def join(self, node: int, values: Mapping[int, Tensor | None], first: Tensor) -> Tensor:
        """A node from the values of its edges: their sum, or their concatenation with zeros for absent ones.

        Args:
            node: Which node.
            values: The values of the edges, by position; those that are absent may be left out.
            first: The first input node, for the shape where there is no value at all.
        """
        if node in self.cell.concat:
            parts = [values.get(edge) for edge in self.entering[node]]
            return torch.cat([self._zeros(first) if part is None else part for part in parts], dim=1)
        present = [value for value in values.values() if value is not None]
        return sum(present[1:], present[0]) if present else self._zeros(first)

    def _zeros(self, first: Tensor) -> Tensor:
        stride = self.options.stride
        return torch.zeros_like(first[:, :1, ::stride, ::stride]).expand(-1, self.options.width, -1, -1)


def adapter(feature: FeatureInfo, width: int, scale: int, affine: bool) -> Op:
    """A module that brings a slot's output to a cell's width, and to the size of the smaller input."""
    if feature.scale == scale:
        return ReLUConvNorm(Site(feature.channels, width, affine=affine), 1)
    return FactorizedReduce(Site(feature.channels, width, 2, affine))


def plain_nodes(
    module: CellModule, entering: Sequence[Tensor], blend: Blend, drop: Tensor | None
) -> list[Tensor]:
    """All nodes of a cell, the inputs included: edges are weighted sums of their ops, nodes sums of edges.

    This is the readable reference that the default path is tested against, and what most code bases run.
    `entering` are the input nodes, `drop` are drop-path factors [B, E].
    """
    nodes = list(entering)
    for node in module.cell.inner:
        values = {}
        for edge in module.entering[node]:
            candidates = module.candidates(edge, blend)
            if not candidates:
                continue
            x, rest = module.divide(edge, nodes[module.cell.edges[edge].source])
            outputs = [candidate.op(x) for candidate in candidates]
            weights: Sequence[Tensor | None] = [None] * len(candidates)
            if blend.attend is not None:
                weights = blend.attend(edge, outputs).unbind(-1)
            elif blend.ops is not None:
                weights = [blend.ops[..., edge, candidate.place] for candidate in candidates]
            terms = [times(output, weight) for output, weight in zip(outputs, weights, strict=True)]
            if drop is not None:
                terms = [
                    term if candidate.op.passthrough else times(term, drop[:, edge])
                    for term, candidate in zip(terms, candidates, strict=True)
                ]
            total = sum(terms[1:], terms[0])
            if rest is not None:
                total = module.shuffle(torch.cat([total, rest], dim=1))
            values[edge] = times(total, None if blend.edges is None else blend.edges[..., edge])
        nodes.append(module.join(node, values, entering[0]))
    return nodes
