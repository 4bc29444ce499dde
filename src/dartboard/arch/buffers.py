"""Buffers of networks: running statistics of normalization layers, snapshots, means over ranks."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from dartboard.distributed.group import Group


def running_statistics(modules: Iterable[nn.Module]) -> list[Tensor]:
    """The running means and variances of those modules that are normalization layers, of whatever kind."""
    return [
        statistic
        for module in modules
        for name in ("running_mean", "running_var")
        if isinstance(statistic := getattr(module, name, None), Tensor)
    ]


def local_statistics(net: nn.Module) -> list[Tensor]:
    """The running statistics that each rank computes from its own part of a batch.

    These are all but those of layers whose `sees_all_ranks` is true.
    """
    return running_statistics(
        module for module in net.modules() if not getattr(module, "sees_all_ranks", False)
    )


@torch.no_grad()
def average_over_ranks(tensors: Sequence[Tensor], group: Group) -> None:
    """Makes each tensor its mean over all ranks, in place."""
    for tensor, total in zip(tensors, group.all_reduce(tensors), strict=True):
        tensor.copy_(total / group.size)


class BufferSnapshot:
    """The buffers of a network at one time; memory is allocated once.

    Args:
        net: The network.
    """

    def __init__(self, net: nn.Module) -> None:
        buffers = list(net.buffers())
        self._buffers = [[b for b in buffers if b.dtype is dtype] for dtype in {b.dtype for b in buffers}]
        self._saved = [[torch.empty_like(buffer) for buffer in group] for group in self._buffers]

    @torch.no_grad()
    def save(self) -> None:
        """Copies the buffers."""
        for saved, buffers in zip(self._saved, self._buffers, strict=True):
            torch._foreach_copy_(saved, buffers)

    @torch.no_grad()
    def restore(self) -> None:
        """Puts back what `save` has copied."""
        for buffers, saved in zip(self._buffers, self._saved, strict=True):
            torch._foreach_copy_(buffers, saved)
