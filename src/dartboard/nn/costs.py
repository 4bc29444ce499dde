"""Cost of a network: parameters and floating-point operations."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from dartboard.nn.network import CellNet, NetConfig
from dartboard.space.spec import SearchSpace


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
