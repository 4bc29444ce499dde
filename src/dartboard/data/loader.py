"""Batches for a network: endless shuffled ones to train on, and one pass in order to evaluate.

What worker processes do of it is at the end: from files or pixels to augmented uint8 batches.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

from dartboard.data.dataset import Images, ImageSet, Shape, check_count
from dartboard.data.image_files import MODES, ImageFiles, decode, read_image, to_tensor
from dartboard.data.prefetch import PREFETCH_FACTOR, Prefetcher
from dartboard.data.sampler import EpochSampler, generator, send
from dartboard.data.transforms import (
    PLAIN,
    Augment,
    Augmentation,
    center_box,
    check_policy,
    crop_and_resize,
    normalize,
    random_boxes,
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
        x: Normalized images, float32 [B, C, H, W]; of other data what a network is called with: a tensor, or
            a tuple or a dictionary of tensors.
        y: Labels, int64 [B]; of other data what the network should give.
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
        worker_augment, rows = PLAIN, slice(0, batch)
        if isinstance(augment, Augment):  # some rows can be augmented by themselves
            worker_augment, rows = augment, self._rows
        check_policy(worker_augment.autoaugment, images.shape[0])
        source = images if isinstance(images, ImageSet | ImageFiles) else images.load()
        uses_workers = isinstance(source, ImageFiles) or worker_augment.autoaugment != "none"
        source_device = torch.device("cpu") if uses_workers else self._device
        prefetch = PREFETCH_FACTOR * workers if uses_workers else 0
        self.images = source.to(source_device)
        self._sampler = EpochSampler(
            len(images), batch, self._key, source_device, rows=rows, prefetch=prefetch
        )
        self._prefetcher: Prefetcher[BatchTask, Tensor] | None = None
        if uses_workers:
            read = partial(read_augmented, images.shape, worker_augment, self._key, batch, rows)
            task, pinned = partial(batch_task, self.images, self._sampler), self._device.type == "cuda"
            self._prefetcher = Prefetcher(read, task, workers=workers, pinned=pinned)

    def batch(self, step: int) -> Batch:
        """Batch number `step`, from 0; the same bits whenever it is requested.

        Raises:
            DataError: If an image cannot be read.
        """
        indices = self._sampler(step)
        y = send(self.images.labels.index_select(0, indices), self._device)
        if self._prefetcher is not None:
            x = send(self._prefetcher.get(step), self._device)
        else:
            assert isinstance(self.images, ImageSet)  # noqa: S101 - files are left to workers
            x = self.images.images.index_select(0, indices)
        rng = generator(*self._key, "augment", step)
        if not isinstance(self._augment, Augment):
            x = self._augment(x, self._mean, self._std, rng)
            return Batch(x[self._rows], y[self._rows])
        draws = self._augment.draw(self._batch, x.shape[2:], rng, self._rows)
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
        limit: Largest number of examples, evenly spaced over the set; None for all.
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
    images = images.to(device)
    source = images if isinstance(images, ImageSet | ImageFiles) else images.load()
    batches = _local_batches(source, batch, crop_pct, workers, slice(group.rank, None, group.size))
    return (Batch(normalize(send(x, device), mean, std), send(y, device)) for x, y in batches)


def _local_batches(
    images: ImageSet | ImageFiles, batch: int, crop_pct: float, workers: int, shard: slice
) -> Iterator[tuple[Tensor, Tensor]]:
    """Pixels and labels of those batches of a set that belong to this process."""
    if not len(images):
        return
    if isinstance(images, ImageSet):
        box = send(center_box(crop_pct, *images.shape[1:]).float(), images.device)
        for x, y in zip(images.images.split(batch)[shard], images.labels.split(batch)[shard], strict=True):
            yield x if crop_pct == 1 else crop_and_resize(x, box.expand(len(x), -1)), y
        return
    indices = torch.arange(len(images)).split(batch)[shard]
    read, task = (
        partial(read_center_crops, images.shape, crop_pct),
        partial(batch_task, images, indices.__getitem__),
    )
    prefetcher = Prefetcher(read, task, count=len(indices), workers=workers)
    for step, batch_indices in enumerate(indices):
        yield prefetcher.get(step), images.labels[batch_indices]


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


class BatchTask(NamedTuple):
    """The examples of a batch as they are sent to a worker: absolute file names, or pixels [N, C, H, W]."""

    step: int
    examples: tuple[str, ...] | NDArray[np.uint8]


def batch_task(images: ImageSet | ImageFiles, indices: Callable[[int], Tensor], step: int) -> BatchTask:
    """The task of batch `step` of a set on the CPU; `indices` gives the examples of a step, int64 [B]."""
    batch = images.take(indices(step))
    if isinstance(batch, ImageSet):
        return BatchTask(step, batch.images.numpy())
    return BatchTask(step, tuple(str(Path(file).absolute()) for file in batch.files))


def read_augmented(
    shape: Shape, augment: Augment, key: tuple[int, str], batch: int, rows: slice, task: BatchTask
) -> Tensor:
    """The examples of a task, augmented up to normalization; uint8 [N, C, H, W].

    Draws depend on nothing but `key` and the step, and are made for all `batch` examples of the step, of
    which `rows` are in the task.
    """
    draws = augment.draw(batch, shape[1:], generator(*key, "augment", task.step), rows)
    if not isinstance(task.examples, tuple):
        x = augment.random_resized_crop(torch.from_numpy(task.examples), draws)
    elif augment.area:
        pairs = zip(task.examples, draws.boxes, strict=True)
        x = torch.stack([read_random_crop(file, shape, augment.area, draw) for file, draw in pairs])
    else:
        x = torch.stack([read_image(file, shape) for file in task.examples])
    return augment.transform_pixels(x, draws)


def read_center_crops(shape: Shape, crop_pct: float, task: BatchTask) -> Tensor:
    """The centers of the images in the files of a task, uint8 [N, C, H, W]."""
    return torch.stack([read_center_crop(str(file), shape, crop_pct) for file in task.examples])


def read_random_crop(file: str, shape: Shape, area: float, draw: Tensor) -> Tensor:
    """A random crop of the image in a file, resized to the shape; uint8 [C, H, W].

    It has at least the fraction `area` of the image's area; what is drawn is uniform in [0, 1), [4].
    """
    channels, height, width = shape
    image = decode(file, MODES[channels])
    top, left, box_height, box_width = random_boxes(draw[None], area, image.height, image.width)[0].tolist()
    box = (left, top, min(left + box_width, image.width), min(top + box_height, image.height))
    return to_tensor(image.resize((width, height), Image.Resampling.BILINEAR, box))


def read_center_crop(file: str, shape: Shape, crop_pct: float) -> Tensor:
    """The center of the image in a file, resized to the shape; uint8 [C, H, W].

    Its sides are the fraction `crop_pct` of those of what `read_image` shows.
    """
    if crop_pct == 1:
        return read_image(file, shape)
    channels, height, width = shape
    image, bleed = decode(file, MODES[channels]), (1 - crop_pct) / 2
    return to_tensor(ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR, bleed=bleed))
