"""Batches for a network: endless shuffled ones to train on, and one pass in order to measure with."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dartboard.data._check import check_count
from dartboard.data.autoaugment import check_policy
from dartboard.data.batch_reader import Part, Read, Vary, chance
from dartboard.data.crops import central_box, view
from dartboard.data.dataset import Images, ImageSet
from dartboard.data.image_files import ImageFiles
from dartboard.data.prefetch import PREFETCH, Ahead
from dartboard.data.rng import send
from dartboard.data.sampler import Laps, Parts
from dartboard.data.transforms import PLAIN, Augment, Augmentation, Draws, normalise
from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DataError

Scale = Sequence[float] | Tensor
"""A number for each channel, in pixel units."""
CENTER_CROP = 0.875
"""The share of an image's sides that a network is shown when it has been trained on parts of images, as is
usual on ImageNet: objects then look as large as they did in training."""


class Batch(NamedTuple):
    """Examples for one step; unpacks as `x, y`.

    Attributes:
        x: Normalised images, float32 [B, C, H, W].
        y: Labels, int64 [B].
    """

    x: Tensor
    y: Tensor

    @property
    def size(self) -> int:
        """How many examples there are; `len` counts the two fields."""
        return len(self.y)


class BatchLoader:
    """Endless batches of a set: batch number t depends on nothing but (seed, name, t).

    A pass takes every example at most once, in an order of its own; the examples that do not fill a batch
    are left out of that pass. Nothing needs to be saved: whoever goes on at step t asks for batch t.

    Images in memory are varied on the device, all of a batch at once. Worker processes read images that are
    in files, and apply AutoAugment, which takes one image at a time, ahead of the step that is asked for.

    Where several processes share a loop, each has its part of every batch, varied as it would be in the
    whole; only what varies images in a way of its own is given whole batches, of which a part is kept.

    Args:
        images: The examples; those in memory are moved to `device`, unless workers need them.
        batch: Examples in a batch, over all ranks.
        seed: Settles all chance, together with `name`.
        name: What the stream is for, such as "train"; streams with different names are independent.
        mean: Mean of each channel, in pixel units.
        std: Standard deviation of each channel, in pixel units.
        augment: What is done to the images, normalisation included.
        device: Where batches are made.
        workers: How many processes there are where any are needed; 0 for none. It changes no bit.
        group: The processes that share the batches.

    Attributes:
        steps: Batches in one pass.
    """

    def __init__(
        self,
        images: Images,
        *,
        batch: int,
        seed: int,
        name: str,
        mean: Scale,
        std: Scale,
        augment: Augmentation = PLAIN,
        device: torch.device | str = "cpu",
        workers: int = 0,
        group: Group = SINGLE,
    ) -> None:
        check_count("batch", batch)
        if batch > len(images):
            raise DataError(f"a batch of {batch:,} needs more than the {len(images):,} examples of {name!r}")
        self.steps = len(images) // batch
        self._key, self._augment, self._device = (seed, name), augment, torch.device(device)
        self._mean, self._deviation = _scales(images.shape[0], self._device, mean, std)
        self._batch, self._rows = batch, group.local_rows(batch)
        self._apart = isinstance(augment, Augment)  # whether parts of batches can be varied by themselves
        before = augment if isinstance(augment, Augment) else PLAIN  # what workers do of it
        check_policy(before.autoaugment, images.shape[0])
        known = _known(images)
        aside = isinstance(known, ImageFiles) or before.autoaugment != "none"
        place = torch.device("cpu") if aside else self._device
        taken = self._rows if self._apart else slice(0, batch)
        ahead = PREFETCH * workers if aside else 0
        self.images = known.to(place)
        self._laps = Laps(len(images), batch, self._key, place, rows=taken, ahead=ahead)
        self._ahead: Ahead[Part] | None = None
        if aside:
            work = Vary(images.shape, before, self._key, batch, taken)
            parts, pinned = Parts(self.images, self._laps), self._device.type == "cuda"
            self._ahead = Ahead(work, parts, workers=workers, pinned=pinned)

    def batch(self, step: int) -> Batch:
        """Batch number `step`, from 0; the same bits whenever it is asked for.

        Raises:
            DataError: If an image cannot be read.
        """
        check_count("step", step, least=0)
        indices = self._laps(step)
        y = send(self.images.labels.index_select(0, indices), self._device)
        if self._ahead is not None:
            return self._own(self._finish(send(self._ahead.get(step), self._device), step), y)
        x = self.images.load().images.index_select(0, indices)
        return self._own(self._change(x, step), y)

    def _own(self, x: Tensor, y: Tensor) -> Batch:
        """This rank's part of what has been prepared."""
        return Batch(x, y) if self._apart else Batch(x[self._rows], y[self._rows])

    def _change(self, x: Tensor, step: int) -> Tensor:
        """Pixels varied and normalised, float32 [N, C, H, W]."""
        scales, own = (self._mean, self._deviation), chance(self._key, step)
        if not isinstance(self._augment, Augment):
            return self._augment(x, *scales, own)
        draws = self._draw(x, own)
        return self._augment.finish(self._augment.vary(self._augment.frame(x, draws), draws), *scales, draws)

    def close(self) -> None:
        """Ends the worker processes, if there are any; whoever asks for a batch starts new ones."""
        if self._ahead is not None:
            self._ahead.close()

    def _finish(self, x: Tensor, step: int) -> Tensor:
        """What is left to do to the pixels that come from workers, float32 [N, C, H, W]."""
        scales, own = (self._mean, self._deviation), chance(self._key, step)
        if not isinstance(self._augment, Augment):
            return self._augment(x, *scales, own)
        return self._augment.finish(x, *scales, self._draw(x, own))

    def _draw(self, x: Tensor, own: torch.Generator) -> Draws:
        """The chance of this rank's examples: drawn for all of the batch, whoever has them."""
        assert isinstance(self._augment, Augment)  # noqa: S101
        return self._augment.draw(self._batch, x.shape[2:], own).of(self._rows)


def evaluation_batches(
    images: Images,
    *,
    batch: int,
    mean: Scale,
    std: Scale,
    device: torch.device | str = "cpu",
    limit: int | None = None,
    crop_pct: float = 1.0,
    workers: int = 0,
    group: Group = SINGLE,
) -> Iterator[Batch]:
    """One pass over a set in its order, nothing changed by chance; the last batch can be smaller.

    Args:
        images: The examples; a set that is on `device` already is not copied.
        batch: Examples in a batch.
        mean: Mean of each channel, in pixel units.
        std: Standard deviation of each channel, in pixel units.
        device: Where batches are made.
        limit: At most so many examples, spread evenly over the set; None for all.
        crop_pct: The fraction of the sides of an image, around its center, that is shown; `CENTER_CROP` for a
            network that has been trained on parts of images.
        workers: How many processes read images that are in files; 0 for none.
        group: The processes that share the batches, each of which has every so manyth.
    """
    check_count("batch", batch)
    if not 0 < crop_pct <= 1:
        raise DataError(f"centre must be a share above 0, at most 1, got {crop_pct!r}")
    if limit is not None:
        check_count("limit", limit)
        images = images.spread(limit)
    device = torch.device(device)
    scales = _scales(images.shape[0], device, mean, std)
    known = _known(images.to(device))
    dealt = slice(group.rank, None, group.size)
    if isinstance(known, ImageSet):
        pairs = _held(known, batch, crop_pct, dealt)
    else:
        pairs = _read(known, batch, crop_pct, workers, dealt)
    return (Batch(normalise(send(x, device), *scales), send(y, device)) for x, y in pairs)


def _held(images: ImageSet, batch: int, crop_pct: float, dealt: slice) -> Iterator[tuple[Tensor, Tensor]]:
    """Pixels and labels of a set in memory, batch by batch, of those that are dealt out to this rank."""
    box = send(central_box(crop_pct, *images.shape[1:]).float(), images.device)
    for x, y in zip(images.images.split(batch)[dealt], images.labels.split(batch)[dealt], strict=True):
        if len(y):
            yield x if crop_pct == 1 else view(x, box.expand(len(x), -1)), y


def _read(
    images: ImageFiles, batch: int, crop_pct: float, workers: int, dealt: slice
) -> Iterator[tuple[Tensor, Tensor]]:
    """Pixels and labels of a set in files, batch by batch, of those that are dealt out to this rank."""
    numbers = torch.arange(len(images)).split(batch)[dealt] if len(images) else ()
    work, parts = Read(images.shape, crop_pct), Parts(images, numbers.__getitem__)
    ahead = Ahead(work, parts, count=len(numbers), workers=workers)
    for step, chosen in enumerate(numbers):
        yield ahead.get(step), images.labels[chosen]


def _known(images: Images) -> ImageSet | ImageFiles:
    """The images in one of the two forms that batches are made from."""
    return images if isinstance(images, ImageSet | ImageFiles) else images.load()


def _scales(channels: int, device: torch.device, *scales: Scale) -> tuple[Tensor, ...]:
    """Numbers for each channel as float32 [C] on the device."""
    tensors = tuple(torch.as_tensor(scale, dtype=torch.float32, device=device) for scale in scales)
    for tensor in tensors:
        if tensor.shape != (channels,):
            raise DataError(
                f"mean and std need one number for each of {channels} channels, "
                f"got the shape {list(tensor.shape)}"
            )
    return tensors
