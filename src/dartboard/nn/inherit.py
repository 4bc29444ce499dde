"""A discrete network with the weights of the supernet that it was restricted from.

Where the supernet has channels that the network has not (a node that concatenates has fewer edges left), the
layers that read them keep the weights of the channels that stay.
"""

from collections.abc import Sequence
from itertools import accumulate, chain

import torch
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.cell import CellModule
from dartboard.nn.mixture import match_edges
from dartboard.nn.network import CellNet, ResidualReduction

Pair = tuple[Tensor, Tensor]
"""A tensor of the network, and the values to copy into it."""
Channels = tuple[int, ...]
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
        net: The network to copy into: of a restriction of the supernet's space, or of the same space with
            fewer candidates.
        supernet: The network to copy from.

    Raises:
        NetworkError: If the networks do not fit; nothing is copied then.
    """
    for name in ("channels", "classes", "partial", "stem_name"):
        value, expected = getattr(net.config, name), getattr(supernet.config, name)
        if value != expected:
            raise NetworkError(
                f"the networks do not fit: {name} is {value!r}, and {expected!r} in the supernet"
            )
    if net.config.input[0] != supernet.config.input[0]:
        counts = f"{net.config.input[0]} channels, and of {supernet.config.input[0]} in the supernet"
        raise NetworkError(f"the networks do not fit: images are of {counts}")
    if net.space.stack != supernet.space.stack:
        names = f"{net.space.name!r} and {supernet.space.name!r}"
        raise NetworkError(f"the networks do not fit: the spaces {names} stack their cells differently")
    for tensor, values in _network_pairs(net, supernet):
        tensor.copy_(values)


def _network_pairs(net: CellNet, supernet: CellNet) -> list[Pair]:
    pairs = _module_pairs(net.stem, supernet.stem)
    entering = [tuple(range(net.stem.channels))] * 2
    for index, (module, supermodule) in enumerate(zip(net.slots, supernet.slots, strict=True)):
        leaving = entering[-1]
        try:
            if isinstance(module, CellModule) and isinstance(supermodule, CellModule):
                slot_pairs, leaving = _cell_pairs(module, supermodule, entering[-module.cell.inputs :])
            else:
                slot_pairs = _module_pairs(module, supermodule, entering[-1])
        except NetworkError as error:
            raise NetworkError(f"the networks do not fit in slot {index}: {error}") from None
        if isinstance(module, ResidualReduction):
            leaving = tuple(range(module.second.conv.out_channels))
        pairs += slot_pairs
        entering = [entering[-1], leaving]
        if index == net.auxiliary_slot and net.auxiliary is not None and supernet.auxiliary is not None:
            pairs += _module_pairs(net.auxiliary, supernet.auxiliary, leaving)
    return pairs + _module_pairs(net.head, supernet.head, entering[-1])


def _cell_pairs(
    module: CellModule, supermodule: CellModule, entering: Sequence[Channels]
) -> tuple[list[Pair], Channels]:
    """The pairs of a cell, and the channels that leave it."""
    cell, supercell = module.cell, supermodule.cell
    for name in ("inputs", "nodes", "output", "joins", "concat", "adapt", "project"):
        value, expected = getattr(cell, name), getattr(supercell, name)
        if value != expected:
            raise NetworkError(f"{name} is {value}, and {expected} in the supernet")
    matches = match_edges(cell, supercell)
    whole = tuple(range(module.options.width))
    nodes = [
        whole if cell.adapt else channels for channels in entering
    ]  # of the supernet's, what the net has
    for node in cell.inner:
        if node not in cell.concat:
            nodes.append(whole)
            continue
        places = [supermodule.entering[node].index(matches[edge]) for edge in module.entering[node]]
        if places != sorted(places):
            raise NetworkError(f"the edges that enter node {node} come in another order in the supernet")
        nodes.append(tuple(place * len(whole) + channel for place in places for channel in whole))
    pairs: list[Pair] = []
    for adapter, superadapter, channels in zip(module.adapt, supermodule.adapt, entering, strict=False):
        pairs += _module_pairs(adapter, superadapter, channels)
    for edge, index, ops in zip(cell.edges, matches, module.edges, strict=True):
        for name in edge.ops:
            op, superop = ops[name], supermodule.edges[index][name]  # type: ignore[index]
            try:
                pairs += _module_pairs(op, superop, nodes[edge.source])
            except NetworkError as error:
                raise NetworkError(f"{name} on edge {edge}: {error}") from None
    # the output is several nodes one after the other
    starts = accumulate((supermodule.channels[node] for node in cell.output), initial=0)
    outputs = zip(starts, (nodes[node] for node in cell.output), strict=False)
    leaving = tuple(start + channel for start, channels in outputs for channel in channels)
    if module.project is None or supermodule.project is None:
        return pairs, leaving
    return pairs + _module_pairs(module.project, supermodule.project, leaving), whole


def _module_pairs(module: nn.Module, supermodule: nn.Module, channels: Channels = ()) -> list[Pair]:
    """The pairs of a module that reads only `channels` of what the supernet's module reads."""
    if type(module) is not type(supermodule):
        names = f"{type(module).__name__} here, and {type(supermodule).__name__}"
        raise NetworkError(f"it is {names} in the supernet")
    tensors, values = (
        dict(chain(each.named_parameters(), each.named_buffers())) for each in (module, supermodule)
    )
    for name in tensors.keys() ^ values.keys():
        owner = (module if name in tensors else supermodule).get_submodule(name.rpartition(".")[0])
        if not isinstance(owner, _NORMS):
            raise NetworkError(f"only one of the networks has {name}")
    pairs = []
    for name in [name for name in tensors if name in values]:
        tensor, value = tensors[name], values[name]
        if value.shape != tensor.shape:
            # channels are along dimension 1 of a weight [out, in, ...], and along the only one of a vector
            dim = min(1, value.dim() - 1)
            shape, supershape = list(tensor.shape), list(value.shape)
            if shape != [*supershape[:dim], len(channels), *supershape[dim + 1 :]]:
                raise NetworkError(f"{name} has the shape {shape}, and {supershape} in the supernet")
            value = value.index_select(dim, torch.tensor(channels, device=value.device))
        pairs.append((tensor, value))
    return pairs
