"""The images of a search, split and loaded in batches."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from dartboard.data import Batch, BatchLoader, Dataset, Images, evaluation_batches, split
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.config import DataOptions
from dartboard.errors import CompositionError, DataError
from dartboard.search.config import SearchOptions
from dartboard.search.method import Method


@dataclass(frozen=True)
class SearchLoaders:
    """The images of a search, split.

    Args:
        train: Batches for the weights.
        arch: Batches that the architecture is judged by; None if it has no parameters.
        valid: Images to measure with; those of `train` if none are held out.
    """

    train: BatchLoader
    arch: BatchLoader | None
    valid: Images

    def close(self) -> None:
        """Ends the processes that prepare images, if there are any."""
        for stream in (self.train, self.arch):
            if stream is not None:
                stream.close()


def make_loaders(
    data: Dataset, method: Method, options: SearchOptions, device: torch.device, group: Group = SINGLE
) -> SearchLoaders:
    """The images of a data set for the weights, for the architecture and to measure with.

    What is held out are the data set's own validation images where it has them and no share is given, else a
    share of the training images: half of them for a bilevel method, a tenth for others, unless the options
    say otherwise. A bilevel method judges the architecture by what is held out. A single level method judges
    it by the weights' own images, in an order of their own unless it is joint.

    Raises:
        DataError: If all images are of one class, or there are too few for a batch or to hold out.
        CompositionError: If the method needs held-out images and there shall be none.
    """
    check_classes(data)
    train, valid = _split(data, method, options.data, device)

    def make(images: Images, name: str) -> BatchLoader:
        return make_train_loader(
            images,
            data,
            options.data,
            batch=options.batch,
            seed=options.seed,
            name=name,
            device=device,
            group=group,
        )

    judged = method.gradient is not None and not method.joint
    arch = make(valid if method.bilevel else train, "arch") if judged else None
    return SearchLoaders(make(train, "train"), arch, valid)


def make_train_loader(
    images: Images,
    data: Dataset,
    chosen: DataOptions,
    *,
    batch: int,
    seed: int,
    name: str,
    device: torch.device,
    group: Group = SINGLE,
) -> BatchLoader:
    """Endless batches of images of a data set, varied and normalised.

    Args:
        images: Those to take; all of `data`, or a part.
        data: Whose mean and deviation are those of the images.
        chosen: How images are varied.
        batch: Examples in a batch, over all ranks.
        seed: Random seed, together with `name`.
        name: What the stream is for; streams with different names are independent.
        device: Where batches are made.
        group: The processes that share the batches.

    Raises:
        DataError: If there are too few images for a batch, or a cutout leaves nothing of them.
    """
    _, height, width = data.shape
    if chosen.cutout >= min(height, width):
        raise DataError(
            f"a cutout of {chosen.cutout} leaves little of images of {height}x{width}; "
            f"set data.cutout to less than {min(height, width)}, or 0 for none"
        )
    return BatchLoader(
        images,
        batch=batch,
        seed=seed,
        name=name,
        mean=data.mean,
        std=data.std,
        augment=chosen.augment,
        device=device,
        workers=chosen.workers,
        group=group,
    )


def make_evaluation_batches(
    images: Images,
    data: Dataset,
    chosen: DataOptions,
    *,
    batch: int,
    device: torch.device,
    limit: int | None = None,
    group: Group = SINGLE,
) -> Iterator[Batch]:
    """One pass over images of a data set to measure with, in their order.

    Args:
        images: Those to take.
        data: Whose mean and deviation are those of the training images.
        chosen: How training images are varied: who trains on parts of images is shown the middle of others.
        batch: Examples in a batch; the last can be smaller.
        device: Where batches are made.
        limit: At most so many examples, spread evenly; None for all.
        group: The processes that share the batches, each of which has some of them.
    """
    return evaluation_batches(
        images,
        batch=batch,
        mean=data.mean,
        std=data.std,
        device=device,
        limit=limit,
        crop_pct=chosen.crop_pct,
        workers=chosen.workers,
        group=group,
    )


def check_classes(data: Dataset) -> None:
    """Raises if all images are of one class."""
    seen = data.train.labels.unique().tolist()
    if len(seen) < 2:
        raise DataError(
            f"all training images of {data.name!r} are of one class, {data.classes[seen[0]]!r}; "
            "there must be at least 2 to tell apart"
        )


def _split(data: Dataset, method: Method, chosen: DataOptions, device: torch.device) -> tuple[Images, Images]:
    """Images to train on and images held out, each on the device once; all of them twice for no share."""
    if chosen.valid is None and data.valid is not None:
        return data.train.to(device), data.valid.to(device)
    share = chosen.valid
    if share is None:
        share = 0.5 if method.bilevel else 0.1
    elif method.bilevel and not share:
        raise CompositionError("bilevel judges the architecture by held-out images; set data.valid > 0")
    if not share:
        train = data.train.to(device)
        return train, train
    rest, held_out = hold_out(data, share, chosen.seed)
    return rest.to(device), held_out.to(device)


def hold_out(data: Dataset, share: float, seed: int) -> tuple[Images, Images]:
    """The training images that are left, and the share of them that is held out.

    Raises:
        DataError: If the share is of less than one image.
    """
    rest, chosen = split(data.train.labels, share, seed)
    if not len(chosen):
        raise DataError(
            f"a share of {share:g} of the {len(rest):,} training images of {data.name!r} holds out none; "
            "set a larger data.valid, or 0 to hold out none"
        )
    return data.train.take(rest), data.train.take(chosen)
