"""What the steps of a training are made of: its loaders, mixup, its objective, and its learning rate."""

import math
from dataclasses import dataclass
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.arch.objective import Objective
from dartboard.data import Batch, BatchLoader, Dataset, Images, generator, send
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.config import SCHEDULES
from dartboard.errors import DataError
from dartboard.nn.network import CellNet
from dartboard.relax import Fixed
from dartboard.search.build import (
    check_classes,
    check_micro_batches,
    hold_out,
    make_objective,
    make_train_loader,
    net_config,
)
from dartboard.space.spec import SearchSpace
from dartboard.train.config import TrainOptions, TrainWeightOptions

VALID, TEST = "valid", "test"
SHARE = 0.1
"""Of the training images, held out where there is nothing else to measure with."""
ROUNDING = 1e-9
"""Fractions of a training are quotients: 3 / 10 * 10 can fall short of 3."""


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
    share, train, valid = options.data.valid, data.train, data.valid
    if share is None and valid is None and data.test is None:
        share = SHARE
    if share is not None:
        train, valid = hold_out(data, share, options.data.seed) if share else (data.train, None)
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


def mix(batch: Batch, alpha: float, *, classes: int, seed: int, step: int) -> tuple[Tensor, Tensor]:
    """Mixup (Zhang et al. 2018): images blended with others of the same batch, and the shares of the classes,
    float32 [B, classes].

    All pairs of a batch have one share, from Beta(alpha, alpha), as in the paper. What is drawn depends on
    seed and step alone.
    """
    share = Random(f"mixup {seed} {step}").betavariate(alpha, alpha)
    other = send(torch.randperm(batch.size, generator=generator(seed, "mixup", step)), batch.x.device)
    labels = F.one_hot(batch.y, classes).to(batch.x.dtype)
    x = torch.lerp(batch.x[other], batch.x, share)
    return x, torch.lerp(labels[other], labels, share)


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


def learning_rate(weights: TrainWeightOptions, fraction: float, epochs: int) -> float:
    """The learning rate when this fraction of a training of `epochs` epochs is done, from 0 to 1.

    Each of the cycles falls from its height to `lr_end` by the schedule; a cycle is `cycle_decay` times as
    high above `lr_end` as the one before (xnas, section 4.1: five cycles, halved each time). In the first
    `warmup` epochs the rate is the part of it that an epoch has of them: 1/5, 2/5, ... of it for five.
    """
    cycle = min(int(fraction * weights.cycles + ROUNDING), weights.cycles - 1)
    height = (weights.lr - weights.lr_end) * weights.cycle_decay**cycle
    left = SCHEDULES[weights.schedule](1.0, 0.0, max(fraction * weights.cycles - cycle, 0.0))
    rate = weights.lr_end + height * powered(left, weights.power)
    epoch = int(fraction * epochs + ROUNDING)
    return rate * min((epoch + 1) / weights.warmup, 1.0) if weights.warmup else rate


def powered(left: float, power: float) -> float:
    """What is left of a learning rate under power annealing with the paper's p, from 1 at the start to 0.

    With what a cosine leaves for `left` this is cosine power annealing (Hundt, Jain & Hager 2019,
    sharpDARTS), which xnas names without giving p: (p^(s + 1) - p) / (p^2 - p), or (p^s - 1) / (p - 1). It
    tends to `left` itself as p tends to 1.
    """
    if power == 1:
        return left
    return math.expm1(left * math.log(power)) / math.expm1(math.log(power))
