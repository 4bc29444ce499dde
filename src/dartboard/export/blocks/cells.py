# mypy: disable-error-code="no-any-return"
"""Cells of written networks, and what stands between stages of cells."""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.export.blocks.ops import FactorizedReduce, ReLUConvNorm

OPS: dict[str, Callable[[int, int, int], nn.Module]] = {}
"""Stands for the table of a written file."""


class Plan(NamedTuple):
    """What a cell is made of.

    The first nodes are its inputs: the outputs of the last blocks. Each other node is the sum of the edges
    that enter it, or has them side by side if it is in `concat`. The nodes in `output`, side by side, leave
    the cell.
    """

    inputs: int
    nodes: int
    edges: tuple[tuple[int, int, str], ...]  # source, target and op
    output: tuple[int, ...]
    concat: tuple[int, ...] = ()
    adapt: bool = False  # whether a 1x1 convolution brings each input to the cell's width
    project: bool = False  # whether a 1x1 convolution brings the output to the cell's width


class Cell(nn.Module):
    """A graph of ops.

    Args:
        plan: What the cell is made of.
        feeds: Channels of what the blocks before hand on, and how many times smaller than the image it is.
        width: Channels of the cell's own nodes.
        stride: 2 where the cell halves the resolution.
    """

    def __init__(self, plan: Plan, feeds: list[tuple[int, int]], width: int, stride: int) -> None:
        super().__init__()
        self.plan, feeds = plan, feeds[-plan.inputs :]
        channels = [own for own, _ in feeds]
        for node in range(plan.inputs, plan.nodes):
            entering = sum(target == node for _, target, _ in plan.edges)
            channels.append(width * entering if node in plan.concat else width)
        self.ops = nn.ModuleList(
            OPS[op](channels[source], width, stride if source < plan.inputs else 1)
            for source, _, op in plan.edges
        )
        self.feed = sum(channels[node] for node in plan.output), max(scale for _, scale in feeds) * stride

    def forward(self, *states: Tensor) -> Tensor:
        nodes = list(states[-self.plan.inputs :])
        for node in range(self.plan.inputs, self.plan.nodes):
            edges = zip(self.ops, self.plan.edges, strict=True)
            entering = [op(nodes[source]) for op, (source, target, _) in edges if target == node]
            nodes.append(torch.cat(entering, 1) if node in self.plan.concat else reduce(torch.add, entering))
        return torch.cat([nodes[node] for node in self.plan.output], 1)


def adapter(feed: tuple[int, int], width: int, scale: int) -> nn.Module:
    """What brings the output of a block to a cell's width, and to the size of the smaller input."""
    channels, own = feed
    return ReLUConvNorm(channels, width, kernel=1) if own == scale else FactorizedReduce(channels, width)


class AdaptedCell(nn.Module):
    """A cell with 1x1 convolutions before it, if its plan says `adapt`, and after it, if it says `project`.

    Args:
        plan: What the cell is made of.
        feeds: Channels of what the blocks before hand on, and how many times smaller than the image it is.
        width: Channels of the cell's own nodes.
        stride: 2 where the cell halves the resolution.
    """

    def __init__(self, plan: Plan, feeds: list[tuple[int, int]], width: int, stride: int) -> None:
        super().__init__()
        self.plan, feeds = plan, feeds[-plan.inputs :]
        scale = max(own for _, own in feeds)
        self.adapt = nn.ModuleList(adapter(feed, width, scale) for feed in feeds if plan.adapt)
        self.cell = Cell(plan, [(width, scale)] * plan.inputs if plan.adapt else feeds, width, stride)
        self.feed = (width if plan.project else self.cell.feed[0], scale * stride)
        self.project = ReLUConvNorm(self.cell.feed[0], width, kernel=1) if plan.project else nn.Identity()

    def forward(self, *states: Tensor) -> Tensor:
        states = states[-self.plan.inputs :]
        if self.plan.adapt:
            states = tuple(adapt(x) for adapt, x in zip(self.adapt, states, strict=True))
        return self.project(self.cell(*states))


class ResidualReduction(nn.Module):
    """The block between stages: two 3x3 convolutions beside a pooled 1x1 convolution."""

    def __init__(self, feeds: list[tuple[int, int]], width: int, stride: int) -> None:
        super().__init__()
        inputs, scale = feeds[-1]
        self.first = ReLUConvNorm(inputs, width, stride, kernel=3)
        self.second = ReLUConvNorm(width, width, kernel=3)
        self.shortcut = nn.Conv2d(inputs, width, 1, bias=False)
        self.feed = width, stride * scale

    def forward(self, *states: Tensor) -> Tensor:
        pooled = F.avg_pool2d(states[-1], 2, ceil_mode=True, count_include_pad=False)
        return self.second(self.first(states[-1])) + self.shortcut(pooled)


class PoolReduction(nn.Module):
    """The step between stages: a 2x2 max-pooling."""

    def __init__(self, feeds: list[tuple[int, int]], _width: int, stride: int) -> None:
        super().__init__()
        channels, scale = feeds[-1]
        self.feed = channels, stride * scale

    def forward(self, *states: Tensor) -> Tensor:
        return F.max_pool2d(states[-1], 2, ceil_mode=True)
