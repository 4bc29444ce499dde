"""Cost of a network: parameters and floating-point operations."""

from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from dartboard.nn.network import CellNet, NetConfig
from dartboard.space.spec import SearchSpace


@dataclass(frozen=True)
class NetworkCosts:
    """Parameters of a network, without and with its auxiliary head, and FLOPs for one image."""

    parameters: int
    parameters_auxiliary: int
    flops: int


def network_costs(space: SearchSpace, config: NetConfig) -> NetworkCosts:
    """The costs of the network of a space, counted on the meta device."""
    with torch.device("meta"):
        net = CellNet(space, config)
    with_head = count_parameters(net, auxiliary=True)
    return NetworkCosts(count_parameters(net), with_head, count_flops(space, config))


def count_parameters(net: CellNet, *, auxiliary: bool = False) -> int:
    """Number of trainable parameters; the auxiliary head counts only with `auxiliary`."""
    total = sum(parameter.numel() for parameter in net.parameters())
    if auxiliary or net.auxiliary is None:
        return total
    return total - sum(parameter.numel() for parameter in net.auxiliary.parameters())


def count_flops(space: SearchSpace, config: NetConfig) -> int:
    """Floating-point operations of one image's forward pass, two a multiply-add, by torch's counter.

    Convolutions and matrix products count, elementwise work does not. Runs on the meta device: nothing is
    computed and no memory is taken.
    """
    with torch.device("meta"):
        net = CellNet(space, config).eval()
        counter = FlopCounterMode(display=False)
        with counter, torch.no_grad():
            net(torch.empty(1, *config.input))
    return int(counter.get_total_flops())
