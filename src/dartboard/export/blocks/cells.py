# mypy: disable-error-code="no-any-return"
"""Cells of exported networks, and the blocks between stages of cells."""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.export.blocks.ops import FactorizedReduce, ReLUConvNorm

OPS: dict[str, Callable[[int, int, int], nn.Module]] = {}
"""Placeholder for the table of an exported file."""


class CellSpec(NamedTuple):
    """The graph of a cell.

    The first nodes are its inputs: the outputs of the previous blocks. Every other node is the sum of the
    edges that enter it, or their concatenation if it is in `concat`. The output of the cell is the
    concatenation of the nodes in `output`.
    """

    inputs: int
    nodes: int
    edges: tuple[tuple[int, int, str], ...]  # source, target and op
    output: tuple[int, ...]
    concat: tuple[int, ...] = ()
    adapt: bool = False  # whether a 1x1 convolution converts each input to the cell's width
    project: bool = False  # whether a 1x1 convolution converts the output to the cell's width


class CellBlock(nn.Module):
    """A graph of ops.

    Args:
        spec: Graph of the cell.
        features: Channels and reduction (image size over its size) of the outputs of the previous blocks.
        width: Channels of the nodes.
        stride: 2 where the cell halves the resolution.
    """

    def __init__(self, spec: CellSpec, features: list[tuple[int, int]], width: int, stride: int) -> None:
        super().__init__()
        self.spec, features = spec, features[-spec.inputs :]
        channels = [count for count, _ in features]
        for node in range(spec.inputs, spec.nodes):
            entering = sum(target == node for _, target, _ in spec.edges)
            channels.append(width * entering if node in spec.concat else width)
        self.ops = nn.ModuleList(
            OPS[op](channels[source], width, stride if source < spec.inputs else 1)
            for source, _, op in spec.edges
        )
        reduction = max(value for _, value in features) * stride
        self.features = sum(channels[node] for node in spec.output), reduction

    def forward(self, *states: Tensor) -> Tensor:
        nodes = list(states[-self.spec.inputs :])
        for node in range(self.spec.inputs, self.spec.nodes):
            edges = zip(self.ops, self.spec.edges, strict=True)
            entering = [op(nodes[source]) for op, (source, target, _) in edges if target == node]
            nodes.append(torch.cat(entering, 1) if node in self.spec.concat else reduce(torch.add, entering))
        return torch.cat([nodes[node] for node in self.spec.output], 1)


def adapter(features: tuple[int, int], width: int, reduction: int) -> nn.Module:
    """Converts the output of a block to a cell's width, and to the size of the smaller input."""
    channels, own_reduction = features
    if own_reduction == reduction:
        return ReLUConvNorm(channels, width, kernel=1)
    return FactorizedReduce(channels, width)


class AdaptedCell(nn.Module):
    """A cell with 1x1 convolutions before it, if its spec has `adapt`, and after it, if it has `project`.

    Args:
        spec: Graph of the cell.
        features: Channels and reduction (image size over its size) of the outputs of the previous blocks.
        width: Channels of the nodes.
        stride: 2 where the cell halves the resolution.
    """

    def __init__(self, spec: CellSpec, features: list[tuple[int, int]], width: int, stride: int) -> None:
        super().__init__()
        self.spec, features = spec, features[-spec.inputs :]
        reduction = max(value for _, value in features)
        self.adapt = nn.ModuleList(adapter(each, width, reduction) for each in features if spec.adapt)
        adapted = [(width, reduction)] * spec.inputs
        self.cell = CellBlock(spec, adapted if spec.adapt else features, width, stride)
        self.features = (width if spec.project else self.cell.features[0], reduction * stride)
        self.project: nn.Module = nn.Identity()
        if spec.project:
            self.project = ReLUConvNorm(self.cell.features[0], width, kernel=1)

    def forward(self, *states: Tensor) -> Tensor:
        states = states[-self.spec.inputs :]
        if self.spec.adapt:
            states = tuple(adapt(x) for adapt, x in zip(self.adapt, states, strict=True))
        return self.project(self.cell(*states))


class ResidualReduction(nn.Module):
    """The block between stages: two 3x3 convolutions plus a pooled 1x1 convolution."""

    def __init__(self, features: list[tuple[int, int]], width: int, stride: int) -> None:
        super().__init__()
        inputs, reduction = features[-1]
        self.first = ReLUConvNorm(inputs, width, stride, kernel=3)
        self.second = ReLUConvNorm(width, width, kernel=3)
        self.shortcut = nn.Conv2d(inputs, width, 1, bias=False)
        self.features = width, stride * reduction

    def forward(self, *states: Tensor) -> Tensor:
        pooled = F.avg_pool2d(states[-1], 2, ceil_mode=True, count_include_pad=False)
        return self.second(self.first(states[-1])) + self.shortcut(pooled)


class PoolReduction(nn.Module):
    """The block between stages: a 2x2 max-pooling."""

    def __init__(self, features: list[tuple[int, int]], _width: int, stride: int) -> None:
        super().__init__()
        channels, reduction = features[-1]
        self.features = channels, stride * reduction

    def forward(self, *states: Tensor) -> Tensor:
        return F.max_pool2d(states[-1], 2, ceil_mode=True)
