"""What `info` knows of a cell, a network or a space: plain values, ready for JSON."""

from dataclasses import dataclass

from dartboard.space import SearchSpace, count, count_cell, depth, mean_source, width
from dartboard.space.spec import Cell


@dataclass(frozen=True)
class Build:
    """The numbers a network is built with, apart from its space."""

    channels: int
    classes: int
    input: tuple[int, int, int]


@dataclass(frozen=True)
class NetworkFacts:
    """How large a network is: learnt numbers, and operations for one image, two a multiply-add."""

    parameters: int
    parameters_auxiliary: int
    flops: int


@dataclass(frozen=True)
class CellFacts:
    """The shape of a discrete cell as a graph."""

    width: float
    depth: int
    mean_source: float


@dataclass(frozen=True)
class ChoiceFacts:
    """What there is to choose in a cell."""

    nodes: int
    inputs: int
    edges: int
    ops: tuple[str, ...]
    architectures: int


@dataclass(frozen=True)
class SpaceFacts:
    """What there is to choose in a space; nodes and edges are those of its first cell."""

    architectures: int
    nodes: int
    edges: int
    ops: tuple[str, ...]
    cells: dict[str, ChoiceFacts]


def network_facts(space: SearchSpace, build: Build) -> NetworkFacts:
    """The size of the network of a space, counted on a network without memory."""
    import torch

    from dartboard.nn import CellNet, NetConfig, count_flops, count_parameters

    config = NetConfig(channels=build.channels, classes=build.classes, input=build.input, auxiliary=True)
    with torch.device("meta"):
        net = CellNet(space, config)
    with_head = count_parameters(net, auxiliary=True)
    return NetworkFacts(count_parameters(net), with_head, count_flops(space, config))


def cell_facts(cell: Cell) -> CellFacts:
    """The shape of a cell."""
    return CellFacts(width(cell), depth(cell), mean_source(cell))


def choice_facts(cell: Cell) -> ChoiceFacts:
    """What a cell leaves to choose."""
    ops = tuple(dict.fromkeys(op for edge in cell.edges for op in edge.ops))
    return ChoiceFacts(cell.nodes, cell.inputs, len(cell.edges), ops, count_cell(cell))


def space_facts(space: SearchSpace) -> SpaceFacts:
    """What a space leaves to choose."""
    cells = {arch: choice_facts(cell) for arch, cell in space.archs}
    first = next(iter(cells.values()))
    return SpaceFacts(count(space), first.nodes, first.edges, space.ops, cells)
