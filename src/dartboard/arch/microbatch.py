"""Batches in parts: micro-batches of a rank, and the statistics that all parts have in common.

A batch that passes a network in micro-batches gives what it would give in as many processes with one each.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dartboard.nn.cell import BatchRows
from dartboard.relax import RngState
from dartboard.relax.base import Relaxation
from dartboard.utils.torch_rng import rng_states, set_rng_states

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


def average_passes(
    parts: Sequence[MicroBatch], net: nn.Module, relaxation: Relaxation, *, ranks: int = 1
) -> Iterator[MicroBatch]:
    """Micro-batches that pass from the same statistics and random state; statistics become their mean.

    Args:
        parts: The micro-batches of this rank; each is to pass before the next is asked for.
        net: The network.
        relaxation: What blends its candidates.
        ranks: The number of processes with as many micro-batches.
    """
    means = [*running_statistics(net.modules()), *relaxation.running_means()]
    buffers = [*net.buffers(), *relaxation.running_means()]
    start = [buffer.clone() for buffer in buffers]
    sums = [torch.zeros_like(mean) for mean in means]
    device = parts[0].batch[0].device
    generators = [module.generator for module in relaxation.modules() if isinstance(module, RngState)]
    rng = rng_states(device)
    generator_states = [(generator, generator.get_state()) for generator in generators]
    for part in parts:
        _copy(buffers, start)
        set_rng_states(device, rng)
        for generator, state in generator_states:
            generator.set_state(state)
        yield part
        if means:
            with torch.no_grad():
                torch._foreach_add_(sums, torch._foreach_mul(means, part.weight * ranks))
    _copy(means, sums)


@torch.no_grad()
def _copy(targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def sum_lists(lists: Iterable[Sequence[Tensor]]) -> list[Tensor]:
    """The sum of lists of tensors, entry by entry."""
    return [
        torch.stack(tensors).sum(0) if len(tensors) > 1 else tensors[0]
        for tensors in zip(*lists, strict=True)
    ]


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
