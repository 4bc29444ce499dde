"""Builds what a search works with: loaders of its images, the objective, the optimizer of the weights."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch.optim import SGD

from dartboard.arch.objective import Objective, Precision
from dartboard.data import Batch, BatchLoader, Dataset, Images, evaluation_batches, split
from dartboard.data.sampler import generator
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.config import DataOptions, LoopOptions, WeightOptions
from dartboard.errors import CompositionError, DataError
from dartboard.nn.fast.norm import synchronize
from dartboard.nn.network import CellNet, NetConfig
from dartboard.relax.base import Relaxation
from dartboard.search.config import SearchOptions
from dartboard.search.method import Method
from dartboard.space.spec import SearchSpace
from dartboard.tasks import Classification

PRECISIONS = {"full": None, "bf16": torch.bfloat16, "fp16": torch.float16}


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
    make = partial(
        make_train_loader,
        data=data,
        chosen=options.data,
        batch=options.batch,
        seed=options.seed,
        device=device,
        group=group,
    )
    judged = method.gradient is not None and not method.joint
    arch = make(valid if method.bilevel else train, name="arch") if judged else None
    return SearchLoaders(make(train, name="train"), arch, valid)


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
    """Endless batches of images of a data set, or of a part of it, varied and normalized.

    Args:
        images: Those to take.
        data: The data set, which has their mean and std.
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

    At most `limit` images are taken, spread evenly; the last batch can be smaller. Each rank of the group has
    some of the batches. Who trains on parts of images is shown the middle of others.
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
    """Images to train on and images held out, on the device; all of them twice where none are held out."""
    if chosen.valid is None and data.valid is not None:
        return data.train.to(device), data.valid.to(device)
    fraction = chosen.valid
    if fraction is None:
        fraction = 0.5 if method.bilevel else 0.1
    elif method.bilevel and not fraction:
        raise CompositionError("bilevel judges the architecture by held-out images; set data.valid > 0")
    if not fraction:
        train = data.train.to(device)
        return train, train
    rest, held_out = hold_out(data, fraction, chosen.seed)
    return rest.to(device), held_out.to(device)


def hold_out(data: Dataset, fraction: float, seed: int) -> tuple[Images, Images]:
    """The training images that are left, and the fraction that is held out; raises if that is none."""
    rest, chosen = split(data.train.labels, fraction, seed)
    if not len(chosen):
        raise DataError(
            f"a share of {fraction:g} of the {len(rest):,} training images of {data.name!r} holds out none; "
            "set a larger data.valid, or 0 to hold out none"
        )
    return data.train.take(rest), data.train.take(chosen)


def build_objective(
    space: SearchSpace,
    method: Method,
    data: Dataset,
    options: SearchOptions,
    device: torch.device,
    group: Group = SINGLE,
) -> Objective:
    """The supernet of a space under the method's relaxation; draws the start from torch's generator."""
    # The relaxation has a generator of its own, so that the start of the network does not depend on it.
    relaxation = method.compose(space, generator("relaxation", options.seed))
    if options.compile and relaxation.stochastic:
        raise CompositionError(
            f"{type(relaxation).__name__} draws another network for every step, and each would be compiled "
            "anew; set compile=false"
        )
    relaxation = relaxation.to(device)
    net = CellNet(
        space,
        replace(
            net_config(data, options), partial=method.partial_channels(options.net.channels), search=True
        ),
    )
    if method.trains:
        check_micro_batches(net, options, group)
    return make_objective(net.to(device), relaxation, options, group)


def make_objective(
    net: CellNet, relaxation: Relaxation, options: LoopOptions, group: Group = SINGLE
) -> Objective:
    """The objective of a network as the options say: losses, precision, pieces, compiled or not."""
    if options.sync_norms:
        synchronize(net, group.norm_reducer)
    classification = Classification(options.net.auxiliary, options.weights.smoothing)
    precision = Precision(PRECISIONS[options.precision])
    objective = Objective(net, relaxation, classification, precision=precision, group=group)
    objective.micro_batches = min(options.pieces, group.local_batch(options.batch))
    if options.compile:
        objective.forward = torch.compile(net)  # type: ignore[assignment]
    return objective


def net_config(data: Dataset, options: LoopOptions) -> NetConfig:
    """What the network for a data set is built with."""
    chosen = options.net
    return NetConfig(
        channels=chosen.channels,
        classes=len(data.classes),
        input=data.shape,
        stem=chosen.stem,
        auxiliary=chosen.auxiliary > 0,
        drop_path=chosen.drop_path,
        mix="plain" if options.compile else chosen.mix,  # one graph; the fused path is many small ones
    )


def check_micro_batches(net: CellNet, options: LoopOptions, group: Group = SINGLE) -> None:
    """Raises if a batch-norm would be given one value per channel: one pixel of one example."""
    (height, width), slots = net.config.input[1:], net.space.slots
    scale = net.stem.scales[-1] * 2 ** sum(slot.stride == 2 for slot in slots)
    one_pixel = max(height, width) <= scale or net.auxiliary is not None
    rows = torch.arange(group.local_batch(options.batch))
    if one_pixel and min(map(len, rows.chunk(options.pieces))) == 1:
        together = f" in {group.size} processes" if group.size > 1 else ""
        small = f"images of {height}x{width} come down to"
        what = small if max(height, width) <= scale else "the auxiliary classifier sees"
        raise CompositionError(
            f"{what} one pixel, of which batch-norms need two examples at a time; with "
            f"batch={options.batch} and pieces={options.pieces}{together} some pass alone: set a larger "
            "batch or fewer pieces"
        )


def build_optimizer(objective: Objective, chosen: WeightOptions) -> SGD:
    """The optimizer of all that is trained as weights."""
    return SGD(
        objective.weights,
        chosen.lr,
        momentum=chosen.momentum,
        weight_decay=chosen.weight_decay,
        nesterov=chosen.nesterov,
    )
