"""Batches for a network: endless shuffled ones to train on, and one pass in order to measure with."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dartboard.data._check import check_count
from dartboard.data.augment import PLAIN, Augmentation, normalise
from dartboard.data.chance import generator, send
from dartboard.data.sets import Images, ImageSet
from dartboard.errors import DataError

Scale = Sequence[float] | Tensor
"""A number for each channel, in pixel units."""


class Batch(NamedTuple):
    """Examples for one step; unpacks as `x, y`.

    Args:
        x: Normalised images, float32 [B, C, H, W].
        y: Labels, int64 [B].
    """

    x: Tensor
    y: Tensor

    @property
    def size(self) -> int:
        """How many examples there are; `len` counts the two fields."""
        return len(self.y)


class Stream:
    """Endless batches of a set: batch number t depends on nothing but (seed, name, t).

    A pass takes every example at most once, in an order of its own; the examples that do not fill a batch
    are left out of that pass. Nothing needs to be saved: whoever goes on at step t asks for batch t.

    Args:
        images: The examples; all of them are moved to `device`.
        batch: Examples in a batch.
        seed: Settles all chance, together with `name`.
        name: What the stream is for, such as "train"; streams with different names are independent.
        mean: Of each channel, in pixel units.
        deviation: Of each channel, in pixel units.
        augment: What is done to the images, normalisation included.
        device: Where batches are made.

    Attributes:
        steps: Batches in one pass.
    """

    def __init__(
        self,
        images: ImageSet,
        *,
        batch: int,
        seed: int,
        name: str,
        mean: Scale,
        deviation: Scale,
        augment: Augmentation = PLAIN,
        device: torch.device | str = "cpu",
    ) -> None:
        check_count("batch", batch)
        if batch > len(images):
            raise DataError(f"a batch of {batch:,} needs more than the {len(images):,} examples of {name!r}")
        self.images = images.to(device)
        self.steps = len(images) // batch
        self._batch, self._key, self._augment = batch, (seed, name), augment
        self._mean, self._deviation = _scales(self.images, mean, deviation)
        self._current = (0, self._shuffled(0))

    def batch(self, step: int) -> Batch:
        """Batch number `step`, from 0; the same bits whenever it is asked for."""
        check_count("step", step, least=0)
        lap, place = divmod(step, self.steps)
        indices = self._order(lap)[place * self._batch : (place + 1) * self._batch]
        x, y = (part.index_select(0, indices) for part in (self.images.images, self.images.labels))
        chance = generator(*self._key, "augment", step)
        return Batch(self._augment(x, self._mean, self._deviation, chance), y)

    def _order(self, lap: int) -> Tensor:
        """The order of the examples in a pass, int64 [N] on the device; the last one asked for is kept."""
        if self._current[0] != lap:
            self._current = (lap, self._shuffled(lap))
        return self._current[1]

    def _shuffled(self, lap: int) -> Tensor:
        order = torch.randperm(len(self.images), generator=generator(*self._key, "order", lap))
        return send(order, self.images.device)


def sweep(
    images: Images,
    *,
    batch: int,
    mean: Scale,
    deviation: Scale,
    device: torch.device | str = "cpu",
    limit: int | None = None,
) -> Iterator[Batch]:
    """One pass over a set in its order, nothing changed by chance; the last batch can be smaller.

    Args:
        images: The examples; a set that is on `device` already is not copied.
        batch: Examples in a batch.
        mean: Of each channel, in pixel units.
        deviation: Of each channel, in pixel units.
        device: Where batches are made.
        limit: At most so many examples, spread evenly over the set; None for all.
    """
    check_count("batch", batch)
    if limit is not None:
        check_count("limit", limit)
        images = images.spread(limit)
    held = images.load().to(device)
    mean, deviation = _scales(held, mean, deviation)
    pairs = zip(held.images.split(batch), held.labels.split(batch), strict=True)
    return (Batch(normalise(x, mean, deviation), y) for x, y in pairs if len(y) > 0)


def _scales(images: ImageSet, *scales: Scale) -> tuple[Tensor, ...]:
    """Numbers for each channel as float32 [C] beside the images."""
    tensors = tuple(torch.as_tensor(scale, dtype=torch.float32, device=images.device) for scale in scales)
    channels = images.images.shape[1]
    for tensor in tensors:
        if tensor.shape != (channels,):
            raise DataError(
                f"mean and deviation need one number for each of {channels} channels, "
                f"got the shape {list(tensor.shape)}"
            )
    return tensors
