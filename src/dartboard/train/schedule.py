"""The learning rate of a training at every moment: warm-up, cycles, and the schedule within a cycle."""

import math

from dartboard.engine.schedule import SCHEDULES
from dartboard.train.config import TrainWeightOptions

ROUNDING = 1e-9
"""Shares are quotients: 3 / 10 * 10 can fall short of 3."""


def learning_rate(weights: TrainWeightOptions, fraction: float, epochs: int) -> float:
    """The learning rate when this fraction of a training of so many epochs is done, from 0 to 1.

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
    """What is left of a learning rate under power annealing, from 0 to 1.

    With what a cosine leaves for `left` this is cosine power annealing (Hundt, Jain & Hager 2019,
    sharpDARTS), which xnas names without giving p: (p^(s + 1) - p) / (p^2 - p), or (p^s - 1) / (p - 1). It
    tends to `left` itself as p tends to 1.

    Args:
        left: From 1 at the start to 0 at the end.
        power: The paper's p.
    """
    if power == 1:
        return left
    return math.expm1(left * math.log(power)) / math.expm1(math.log(power))
