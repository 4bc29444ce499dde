"""Schedules: how a number goes from its start to its end, and how long searches and trainings are."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dartboard.registry import Registry

Schedule = Callable[[float, float, float], float]
"""The number from its start, its end and the fraction done."""

SCHEDULES: Registry[Schedule] = Registry("schedule")


@SCHEDULES.register("cosine")
def cosine(start: float, end: float, fraction: float) -> float:
    """Half a wave down: slow, quick, slow."""
    left = (1 + math.cos(math.pi * fraction)) / 2
    return start * left + end * (1 - left)


@SCHEDULES.register("linear")
def linear(start: float, end: float, fraction: float) -> float:
    """A straight line."""
    return start * (1 - fraction) + end * fraction  # in this form both ends are exact


@SCHEDULES.register("exponential")
def exponential(start: float, end: float, fraction: float) -> float:
    """The same factor every epoch; an end of zero is reached as a millionth of the start."""
    return float(start * (max(end, 1e-6 * start) / start) ** fraction)


@SCHEDULES.register("constant")
def constant(start: float, _end: float, _fraction: float) -> float:
    """The start, all the way."""
    return start


@dataclass(frozen=True)
class ScheduleLengths:
    """The lengths of a search or a training, known before it starts.

    Args:
        epochs: Passes over the training images.
        steps: Steps in an epoch.
        batch: Examples in a step.
        warmup: Epochs at the start in which the architecture is frozen.
    """

    epochs: int
    steps: int
    batch: int
    warmup: int = 0

    @property
    def arch_steps(self) -> int:
        """How many times the architecture is updated."""
        return max(self.epochs - self.warmup, 0) * self.steps
