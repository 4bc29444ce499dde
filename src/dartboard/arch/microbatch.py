"""A batch that passes a network in pieces, as it would in so many processes with a piece each."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from dartboard.arch.buffers import running_statistics
from dartboard.distributed.group import Group
from dartboard.relax import RngState
from dartboard.relax.base import Relaxation


class Piece(Group):
    """What is to be known of a piece where chance is drawn for the whole batch.

    Args:
        whole: How many rows the batch of all ranks has.
        start: The first row of the piece.
        size: How many rows it has.
    """

    def __init__(self, whole: int, start: int, size: int) -> None:
        self._whole, self._rows = whole, slice(start, start + size)

    def global_batch(self, local: int) -> int:  # noqa: ARG002  # pieces need not be equally large
        return self._whole

    def local_rows(self, batch: int) -> slice:  # noqa: ARG002
        return self._rows


class Passes:
    """Has several passes start from the same statistics and the same chance, and takes the mean.

    Args:
        net: What they pass.
        relaxation: What blends its candidates.
    """

    def __init__(self, net: nn.Module, relaxation: Relaxation) -> None:
        self._means = [*running_statistics(net.modules()), *relaxation.running_means()]
        self._touched = [*net.buffers(), *relaxation.running_means()]
        self._start = [own.clone() for own in self._touched]
        self._sums = [torch.zeros_like(own) for own in self._means]
        self._dice = [own.generator for own in relaxation.modules() if isinstance(own, RngState)]
        self._devices = sorted({own.device.index for own in self._touched if own.is_cuda})
        self._chance = list(self._states())

    def _states(self) -> Iterator[Tensor]:
        yield torch.get_rng_state()
        yield from map(torch.cuda.get_rng_state, self._devices)
        yield from (dice.get_state() for dice in self._dice)

    @torch.no_grad()
    def again(self) -> None:
        """Puts statistics and chance back, before another pass."""
        _copy(self._touched, self._start)
        first, *others = self._chance
        torch.set_rng_state(first)
        for device, state in zip(self._devices, others, strict=False):
            torch.cuda.set_rng_state(state, device)
        for dice, state in zip(self._dice, others[len(self._devices) :], strict=True):
            dice.set_state(state)

    @torch.no_grad()
    def add(self, share: float) -> None:
        """Counts what a pass has made of the statistics, by its share of all passes."""
        if self._means:
            torch._foreach_add_(self._sums, torch._foreach_mul(self._means, share))

    @torch.no_grad()
    def settle(self) -> None:
        """Makes the statistics the mean of what the passes have made of them."""
        _copy(self._means, self._sums)


def _copy(into: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for own, value in zip(into, values, strict=True):
        own.copy_(value)
