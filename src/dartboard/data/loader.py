"""Batches for a network: endless shuffled ones to train on, and one pass in order to evaluate."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dartboard.data.batch_reader import (
    AugmentedReader,
    BatchTask,
    BatchTasks,
    CenterCropReader,
    step_generator,
)
from dartboard.data.dataset import Images, ImageSet, check_count
from dartboard.data.image_files import ImageFiles
from dartboard.data.prefetch import PREFETCH_FACTOR, Prefetcher
from dartboard.data.rng import send
from dartboard.data.sampler import EpochSampler
from dartboard.data.transforms import (
    PLAIN,
    Augment,
    Augmentation,
    center_box,
    check_policy,
    crop_and_resize,
    normalize,
)
from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DataError

ChannelValues = Sequence[float] | Tensor
"""A number for each channel, in pixel units."""
CENTER_CROP = 0.875
"""`crop_pct` for networks that were trained on random resized crops, as usual on ImageNet: objects then look
as large as they did in training."""


class Batch(NamedTuple):
    """Examples of one step; unpacks as `x, y`.

    Attributes:
        x: Normalized images, float32 [B, C, H, W].
        y: Labels, int64 [B].
    """

    x: Tensor
    y: Tensor

    @property
    def size(self) -> int:
        """Number of examples; `len` counts the two fields."""
        return len(self.y)


class BatchLoader:
    """Endless shuffled batches of a set: batch number t depends on nothing but (seed, name, t).

    An epoch uses every example at most once, in an order of its own; the examples that do not fill a batch
    are left out of that epoch. There is no state to save: to resume at step t, request batch t.

    Images in memory are augmented on the device, a batch at a time. Worker processes read images that are
    in files, and apply AutoAugment, which takes one image at a time, ahead of the step that is requested.

    Where several processes share a loop, each makes its rows of every batch, augmented as they would be in
    the full batch; an augmentation other than `Augment` is applied to full batches, of which the rows are
    kept.

    Args:
        images: The examples; those in memory are moved to `device`, unless workers need them.
        batch: Examples in a batch, over all processes.
        seed: Random seed, together with `name`.
        name: What the batches are for, such as "train"; loaders with different names are independent.
        mean: Mean of each channel, in pixel units.
        std: Standard deviation of each channel, in pixel units.
        augment: Augmentation, normalization included.
        device: Device of the batches.
        workers: Number of worker processes where any are needed; 0 for none. Results do not depend on it.
        group: The processes that share the batches.

    Attributes:
        steps: Batches in one epoch.
    """

    def __init__(
        self,
        images: Images,
        *,
        batch: int,
        seed: int,
        name: str,
        mean: ChannelValues,
        std: ChannelValues,
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
        self._mean, self._std = _channel_tensors(images.shape[0], self._device, mean, std)
        self._batch, self._rows = batch, group.local_rows(batch)
        self._by_rows = isinstance(augment, Augment)  # whether some rows can be augmented by themselves
        worker_augment = augment if isinstance(augment, Augment) else PLAIN
        check_policy(worker_augment.autoaugment, images.shape[0])
        source = _set_or_files(images)
        uses_workers = isinstance(source, ImageFiles) or worker_augment.autoaugment != "none"
        source_device = torch.device("cpu") if uses_workers else self._device
        rows = self._rows if self._by_rows else slice(0, batch)
        prefetch = PREFETCH_FACTOR * workers if uses_workers else 0
        self.images = source.to(source_device)
        self._sampler = EpochSampler(
            len(images), batch, self._key, source_device, rows=rows, prefetch=prefetch
        )
        self._prefetcher: Prefetcher[BatchTask] | None = None
        if uses_workers:
            reader = AugmentedReader(images.shape, worker_augment, self._key, batch, rows)
            tasks, pinned = BatchTasks(self.images, self._sampler), self._device.type == "cuda"
            self._prefetcher = Prefetcher(reader, tasks, workers=workers, pinned=pinned)

    def batch(self, step: int) -> Batch:
        """Batch number `step`, from 0; the same bits whenever it is requested.

        Raises:
            DataError: If an image cannot be read.
        """
        check_count("step", step, least=0)
        indices = self._sampler(step)
        y = send(self.images.labels.index_select(0, indices), self._device)
        if self._prefetcher is None:
            x = self.images.load().images.index_select(0, indices)
        else:
            x = send(self._prefetcher.get(step), self._device)
        rng = step_generator(self._key, step)
        if not isinstance(self._augment, Augment):
            x = self._augment(x, self._mean, self._std, rng)
            return Batch(x[self._rows], y[self._rows])
        # Draws are made for the full batch, whichever rows are made here.
        draws = self._augment.draw(self._batch, x.shape[2:], rng).rows(self._rows)
        if self._prefetcher is None:
            x = self._augment.transform_pixels(self._augment.random_resized_crop(x, draws), draws)
        return Batch(self._augment.normalize_and_cutout(x, self._mean, self._std, draws), y)

    def close(self) -> None:
        """Stop the worker processes, if there are any; the next batch starts new ones."""
        if self._prefetcher is not None:
            self._prefetcher.close()


def evaluation_batches(
    images: Images,
    *,
    batch: int,
    mean: ChannelValues,
    std: ChannelValues,
    device: torch.device | str = "cpu",
    limit: int | None = None,
    crop_pct: float = 1.0,
    workers: int = 0,
    group: Group = SINGLE,
) -> Iterator[Batch]:
    """One pass over a set in its order without augmentation; the last batch can be smaller.

    Args:
        images: The examples; a set that is on `device` already is not copied.
        batch: Examples in a batch.
        mean: Mean of each channel, in pixel units.
        std: Standard deviation of each channel, in pixel units.
        device: Device of the batches.
        limit: At most so many examples, evenly spaced over the set; None for all.
        crop_pct: Fraction of the sides of an image, around its center, that is resized to the image's size;
            `CENTER_CROP` for a network that was trained on random resized crops.
        workers: Number of processes that read images from files; 0 for none.
        group: The processes that share the batches; of n processes each gets every n-th.
    """
    check_count("batch", batch)
    if not 0 < crop_pct <= 1:
        raise DataError(f"crop_pct must be a fraction above 0, at most 1, got {crop_pct!r}")
    if limit is not None:
        check_count("limit", limit)
        images = images.spread(limit)
    device = torch.device(device)
    mean, std = _channel_tensors(images.shape[0], device, mean, std)
    source = _set_or_files(images.to(device))
    shard = slice(group.rank, None, group.size)
    if isinstance(source, ImageSet):
        batches = _memory_batches(source, batch, crop_pct, shard)
    else:
        batches = _file_batches(source, batch, crop_pct, workers, shard)
    return (Batch(normalize(send(x, device), mean, std), send(y, device)) for x, y in batches)


def _memory_batches(
    images: ImageSet, batch: int, crop_pct: float, shard: slice
) -> Iterator[tuple[Tensor, Tensor]]:
    """Pixels and labels of the batches of a set in memory that belong to this process."""
    box = send(center_box(crop_pct, *images.shape[1:]).float(), images.device)
    for x, y in zip(images.images.split(batch)[shard], images.labels.split(batch)[shard], strict=True):
        if len(y):
            yield x if crop_pct == 1 else crop_and_resize(x, box.expand(len(x), -1)), y


def _file_batches(
    images: ImageFiles, batch: int, crop_pct: float, workers: int, shard: slice
) -> Iterator[tuple[Tensor, Tensor]]:
    """Pixels and labels of the batches of a set in files that belong to this process."""
    indices = torch.arange(len(images)).split(batch)[shard] if len(images) else ()
    reader, tasks = CenterCropReader(images.shape, crop_pct), BatchTasks(images, indices.__getitem__)
    prefetcher = Prefetcher(reader, tasks, count=len(indices), workers=workers)
    for step, batch_indices in enumerate(indices):
        yield prefetcher.get(step), images.labels[batch_indices]


def _set_or_files(images: Images) -> ImageSet | ImageFiles:
    """The images in one of the two forms that batches are made from."""
    return images if isinstance(images, ImageSet | ImageFiles) else images.load()


def _channel_tensors(channels: int, device: torch.device, *values: ChannelValues) -> tuple[Tensor, ...]:
    """Numbers for each channel as float32 [C] on the device."""
    tensors = tuple(torch.as_tensor(value, dtype=torch.float32, device=device) for value in values)
    for tensor in tensors:
        if tensor.shape != (channels,):
            raise DataError(
                f"mean and std need one number for each of {channels} channels, "
                f"got the shape {list(tensor.shape)}"
            )
    return tensors
