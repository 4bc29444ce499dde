"""A batch that passes a network in micro-batches, as it would in as many processes with one each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dartboard.arch.buffers import running_statistics
from dartboard.distributed.group import Group
from dartboard.nn.cell import BatchRows
from dartboard.relax import RngState
from dartboard.relax.base import Relaxation

Batch = tuple[Tensor, Tensor]
"""Images [B, C, H, W] and labels [B]."""


@dataclass(frozen=True)
class MicroBatch:
    """A part of the batch of all ranks.

    Args:
        batch: Images and labels.
        weight: Its fraction of the examples of all ranks.
        rows: Where its examples lie in the batch of all ranks; None if it is all of that.
    """

    batch: Batch
    weight: float
    rows: BatchRows | None = None


def split_batch(batch: Batch, count: int, group: Group) -> list[MicroBatch]:
    """The micro-batches of this rank's batch.

    Args:
        batch: Images and labels.
        count: The number of micro-batches.
        group: The processes that have the other parts of the batch.
    """
    x, y = batch
    total, start, found = group.global_batch(len(y)), group.rank * len(y), []
    for part in zip(x.chunk(count), y.chunk(count), strict=True):
        size = len(part[1])
        rows = None if size == total else BatchRows(total, start)
        found.append(MicroBatch(part, size / total, rows))
        start += size
    return found


class AveragedPasses:
    """Several passes that start from the same statistics and random state; statistics become their mean.

    Args:
        net: The network.
        relaxation: What blends its candidates.
    """

    def __init__(self, net: nn.Module, relaxation: Relaxation) -> None:
        self._means = [*running_statistics(net.modules()), *relaxation.running_means()]
        self._buffers = [*net.buffers(), *relaxation.running_means()]
        self._start = [buffer.clone() for buffer in self._buffers]
        self._sums = [torch.zeros_like(mean) for mean in self._means]
        devices = sorted({buffer.device.index for buffer in self._buffers if buffer.is_cuda})
        generators = [module.generator for module in relaxation.modules() if isinstance(module, RngState)]
        self._cpu_rng = torch.get_rng_state()
        self._cuda_rng = [(device, torch.cuda.get_rng_state(device)) for device in devices]
        self._generators = [(generator, generator.get_state()) for generator in generators]

    @torch.no_grad()
    def reset(self) -> None:
        """Puts statistics and random state back, before another pass."""
        _copy(self._buffers, self._start)
        torch.set_rng_state(self._cpu_rng)
        for device, state in self._cuda_rng:
            torch.cuda.set_rng_state(state, device)
        for generator, state in self._generators:
            generator.set_state(state)

    @torch.no_grad()
    def add(self, weight: float) -> None:
        """Adds the statistics that a pass has left, weighted by its fraction of all passes."""
        if self._means:
            torch._foreach_add_(self._sums, torch._foreach_mul(self._means, weight))

    @torch.no_grad()
    def finish(self) -> None:
        """Makes the statistics the mean over the passes."""
        _copy(self._means, self._sums)


def _copy(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def sum_lists(lists: Iterable[Sequence[Tensor]]) -> list[Tensor]:
    """The sum of lists of tensors, entry by entry."""
    return [
        torch.stack(tensors).sum(0) if len(tensors) > 1 else tensors[0]
        for tensors in zip(*lists, strict=True)
    ]
