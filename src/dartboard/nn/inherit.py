"""A discrete network with the weights of the supernet that it was restricted from.

Where the supernet has channels that the network has not (a node that concatenates has fewer edges left), what
reads them keeps the weights of the channels that stay.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

import torch
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.cell import CellModule
from dartboard.nn.heads import ResidualReduction
from dartboard.nn.mixture import match_edges
from dartboard.nn.network import CellNet
from dartboard.space.spec import Cell

Pair = tuple[Tensor, Tensor]
"""A tensor of the network, and the values it is to get."""
Kept = tuple[int, ...]
"""Which of a supernet tensor's channels the network has, in order."""

_NORMS = (nn.BatchNorm2d, nn.SyncBatchNorm)


@torch.no_grad()
def inherit(net: CellNet, supernet: CellNet) -> None:
    """Copies weights and buffers of `supernet` into `net`, whose space is a part of the supernet's.

    Built with `NetConfig(search=True)` both, the network then computes what the supernet computes under
    the one-hot mixture (unless a batch-norm before the classifier reads channels that the network has
    not, and shifts their zeros). The scale and shift of a batch-norm, the batch-norm of a pooling and the
    auxiliary head stay as they are where only one of the networks has them.

    Args:
        net: The network that gets the weights: of a restriction of the supernet's space, or of the same
            space with fewer candidates.
        supernet: The network that gives them.

    Raises:
        NetworkError: If the networks do not fit; nothing is copied then.
    """
    for own, values in _pairs(net, supernet):
        own.copy_(values)


def _pairs(net: CellNet, supernet: CellNet) -> list[Pair]:
    _check_networks(net, supernet)
    pairs = _copied(net.stem, supernet.stem)
    kept = [_all(net.stem.channels)] * 2
    for index, (own, other) in enumerate(zip(net.slots, supernet.slots, strict=True)):
        try:
            found, leaving = _slot(own, other, kept)
        except NetworkError as error:
            raise NetworkError(f"the networks do not fit in slot {index}: {error}") from None
        kept = [kept[-1], leaving]
        if index == net._auxiliary_slot and net.auxiliary is not None and supernet.auxiliary is not None:
            found += _copied(net.auxiliary, supernet.auxiliary, leaving)
        pairs += found
    return pairs + _copied(net.head, supernet.head, kept[-1])


def _check_networks(net: CellNet, supernet: CellNet) -> None:
    for name in ("channels", "classes", "partial", "stem_name"):
        own, other = getattr(net.config, name), getattr(supernet.config, name)
        if own != other:
            raise NetworkError(f"the networks do not fit: {name} is {own!r}, and {other!r} in the supernet")
    if net.config.input[0] != supernet.config.input[0]:
        counts = f"{net.config.input[0]} channels, and of {supernet.config.input[0]} in the supernet"
        raise NetworkError(f"the networks do not fit: images are of {counts}")
    if net.space.stack != supernet.space.stack:
        names = f"{net.space.name!r} and {supernet.space.name!r}"
        raise NetworkError(f"the networks do not fit: the spaces {names} stack their cells differently")


def _all(channels: int) -> Kept:
    return tuple(range(channels))


def _slot(own: nn.Module, other: nn.Module, entering: Sequence[Kept]) -> tuple[list[Pair], Kept]:
    """What to copy in a slot, and the channels that leave it."""
    if isinstance(own, CellModule) and isinstance(other, CellModule):
        return _cell(own, other, entering[-own.cell.inputs :])
    pairs = _copied(own, other, entering[-1])
    return pairs, _all(own.second.conv.out_channels) if isinstance(own, ResidualReduction) else entering[-1]


def _cell(own: CellModule, other: CellModule, entering: Sequence[Kept]) -> tuple[list[Pair], Kept]:
    _check_cells(own.cell, other.cell)
    places = match_edges(own.cell, other.cell)
    nodes = _node_channels(own, other, places, entering)
    pairs: list[Pair] = []
    for adapter, giving, kept in zip(own.adapt, other.adapt, entering, strict=False):
        pairs += _copied(adapter, giving, kept)
    for edge, place in enumerate(places):
        pairs += _edge(own, edge, other, place, nodes[own.cell.edges[edge].source])
    output = own.cell.output
    leaving = _side_by_side([nodes[node] for node in output], [other.channels[node] for node in output])
    if own.project is None or other.project is None:
        return pairs, leaving
    return pairs + _copied(own.project, other.project, leaving), _all(own.options.width)


def _check_cells(own: Cell, other: Cell) -> None:
    for name in ("inputs", "nodes", "output", "joins", "concat", "adapt", "project"):
        if getattr(own, name) != getattr(other, name):
            raise NetworkError(f"{name} is {getattr(own, name)}, and {getattr(other, name)} in the supernet")


def _node_channels(
    own: CellModule, other: CellModule, places: Sequence[int], entering: Sequence[Kept]
) -> list[Kept]:
    """The channels that the network has of each of the supernet's nodes."""
    cell, width = own.cell, own.options.width
    nodes = [_all(width) if cell.adapt else kept for kept in entering]
    for node in cell.inner:
        if node not in cell.concat:
            nodes.append(_all(width))
            continue
        ranks = [other.cell.entering(node).index(places[edge]) for edge in cell.entering(node)]
        if ranks != sorted(ranks):
            raise NetworkError(f"the edges that enter node {node} come in another order in the supernet")
        nodes.append(tuple(rank * width + channel for rank in ranks for channel in range(width)))
    return nodes


def _side_by_side(parts: Sequence[Kept], channels: Sequence[int]) -> Kept:
    """The channels kept of several tensors in a row, of which the supernet's have `channels`."""
    starts = accumulate(channels, initial=0)
    return tuple(start + channel for start, part in zip(starts, parts, strict=False) for channel in part)


def _edge(own: CellModule, edge: int, other: CellModule, place: int, kept: Kept) -> Iterator[Pair]:
    for name in own.cell.edges[edge].ops:
        try:
            yield from _copied(own.edges[edge][name], other.edges[place][name], kept)  # type: ignore[index]
        except NetworkError as error:
            raise NetworkError(f"{name} on edge {own.cell.edges[edge]}: {error}") from None


def _copied(own: nn.Module, other: nn.Module, kept: Kept = ()) -> list[Pair]:
    """Pairs for all tensors of a module that reads the channels `kept` of what the supernet's reads."""
    if type(own) is not type(other):
        raise NetworkError(f"it is {type(own).__name__} here, and {type(other).__name__} in the supernet")
    mine, theirs = _tensors(own), _tensors(other)
    for name in mine.keys() ^ theirs.keys():
        if not isinstance((own if name in mine else other).get_submodule(name.rpartition(".")[0]), _NORMS):
            raise NetworkError(f"only one of the networks has {name}")
    return [(mine[name], _taken(name, theirs[name], mine[name], kept)) for name in mine if name in theirs]


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    return dict(chain(module.named_parameters(), module.named_buffers()))


def _taken(name: str, values: Tensor, like: Tensor, kept: Kept) -> Tensor:
    """Values for a tensor shaped as `like`: all, or those of the channels that are kept.

    Channels are read along dimension 1 of a weight [out, in, ...] and along the one dimension of a vector.
    """
    if values.shape == like.shape:
        return values
    dim = min(1, values.dim() - 1)
    own, other = list(like.shape), list(values.shape)
    if own != [*other[:dim], len(kept), *other[dim + 1 :]]:
        raise NetworkError(f"{name} has the shape {own}, and {other} in the supernet")
    return values.index_select(dim, torch.tensor(kept, device=values.device))
