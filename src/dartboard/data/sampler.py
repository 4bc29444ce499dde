"""The order in which a stream takes examples, and what its workers are given of them."""

import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from dartboard.data.batch_reader import Part
from dartboard.data.dataset import ImageSet
from dartboard.data.image_files import ImageFiles
from dartboard.data.rng import generator, send


class Laps:
    """Which examples are in which batch.

    Args:
        count: How many examples there are.
        batch: Examples in a batch.
        key: Settles the orders.
        device: Where they are wanted.
        rows: Which of a batch's examples are wanted; all by default.
        ahead: How many steps before it is needed a batch may be asked for the first time.
    """

    def __init__(
        self,
        count: int,
        batch: int,
        key: tuple[int, str],
        device: torch.device,
        *,
        rows: slice = slice(None),
        ahead: int = 0,
    ) -> None:
        self._count, self._batch, self._key, self._device, self._rows = count, batch, key, device, rows
        self._steps = count // batch
        self._behind = math.ceil(ahead / self._steps)  # passes that are not over when a new one begins
        self._orders: dict[int, Tensor] = {}

    def __call__(self, step: int) -> Tensor:
        """The numbers of the examples of batch `step` that are wanted, int64 [B] on the device."""
        lap, place = divmod(step, self._steps)
        return self._order(lap)[place * self._batch : (place + 1) * self._batch][self._rows]

    def _order(self, lap: int) -> Tensor:
        """The order of the examples in a pass, int64 [N]; those that are still needed are kept."""
        if lap not in self._orders:
            needed = {own: order for own, order in self._orders.items() if 0 < lap - own <= self._behind}
            self._orders = needed | {lap: self._shuffled(lap)}
        return self._orders[lap]

    def _shuffled(self, lap: int) -> Tensor:
        order = torch.randperm(self._count, generator=generator(*self._key, "order", lap))
        return send(order, self._device)


class Parts:
    """What workers are given of a set, batch by batch.

    Args:
        images: The set, on the CPU.
        numbers: The numbers of the examples in a batch, int64 [B].
    """

    def __init__(self, images: ImageSet | ImageFiles, numbers: Callable[[int], Tensor]) -> None:
        self._images, self._numbers = images, numbers

    def __call__(self, step: int) -> Part:
        """What the workers are given for batch `step`."""
        chosen = self._images.take(self._numbers(step))
        if isinstance(chosen, ImageSet):
            return Part(step, chosen.images.numpy())
        return Part(step, tuple(str(Path(file).absolute()) for file in chosen.files))
