"""Builds the loaders and the objective of a training."""

from dataclasses import dataclass

import torch

from dartboard.arch.objective import Objective
from dartboard.data import BatchLoader, Dataset, Images
from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DataError
from dartboard.nn.network import CellNet
from dartboard.relax import Fixed
from dartboard.search.build import check_micro_batches, make_objective, net_config
from dartboard.search.loaders import check_classes, hold_out, make_train_loader
from dartboard.space.spec import SearchSpace
from dartboard.train.config import TrainOptions

VALID, TEST = "valid", "test"
SHARE = 0.1
"""Of the training images, held out where there is nothing else to measure with."""


@dataclass(frozen=True)
class TrainLoaders:
    """The images of a training, divided.

    Args:
        train: Batches to train on: this rank's parts of them, or whole ones where images are blended.
        held_out: Images to measure with, by what they are for: `valid` to choose the best epoch, `test` to
            report. The first is what every epoch is measured on.
    """

    train: BatchLoader
    held_out: dict[str, Images]


def make_loaders(
    data: Dataset, options: TrainOptions, device: torch.device, group: Group = SINGLE
) -> TrainLoaders:
    """Divides the images.

    Held out to choose with are a share of the training images, if one is asked for; else the validation
    images that the data set has, if any; else a tenth of the training images where there are no test images.

    Raises:
        DataError: If all images are of one class, or there are too few for a batch or to hold out.
    """
    check_classes(data)
    train, valid = _split(data, options)
    parts = {VALID: valid, TEST: data.test}
    held_out = {name: part.to(device) for name, part in parts.items() if part is not None and len(part)}
    if not held_out:
        raise DataError(
            f"no images of {data.name!r} are left to measure with; set data.valid to a share, such as 0.1"
        )
    group.local_batch(options.batch)  # fail fast on a batch that cannot be split evenly
    batches = make_train_loader(
        train,
        data,
        options.data,
        batch=options.batch,
        seed=options.seed,
        name="train",
        device=device,
        group=SINGLE if options.data.mixup else group,
    )
    return TrainLoaders(batches, held_out)


def _split(data: Dataset, options: TrainOptions) -> tuple[Images, Images | None]:
    share = options.data.valid
    if share is None and data.valid is not None:
        return data.train, data.valid
    if share is None:
        share = 0.0 if data.test is not None else SHARE
    if not share:
        return data.train, None
    return hold_out(data, share, options.data.seed)


def build_objective(
    space: SearchSpace, data: Dataset, options: TrainOptions, device: torch.device, group: Group = SINGLE
) -> Objective:
    """The network of a discrete space; draws the start from torch's generator."""
    relaxation = Fixed(space)
    net = CellNet(space, net_config(data, options)).to(device)
    check_micro_batches(net, options, group)
    if options.net.channels_last:
        net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return make_objective(net, relaxation, options, group)
