"""How long a training will take and how much memory, from a few real steps that leave no trace."""

import math
from statistics import median

from dartboard.distributed.group import SINGLE
from dartboard.engine.memory import peak_memory
from dartboard.search.forecast import Forecast, put_back, seconds_of
from dartboard.train.trainer import Trainer


def forecast(trainer: Trainer, steps: int = 3) -> Forecast:
    """Times a few steps and one batch of an evaluation, then puts everything back.

    Args:
        trainer: A training that has not begun; afterwards it goes as if this had not been.
        steps: How many steps are timed; one more comes before them.
    """
    plan, device = trainer.plan, trainer.device
    with put_back(trainer):
        trainer.net.train()
        step = median([seconds_of(device, trainer.train_step) for _ in range(steps + 1)][1:])
        look = _evaluation_seconds(trainer)
    every = trainer.options.evaluation.every
    looks = math.ceil(plan.epochs / every) + 2  # the last network and the best are measured at the end
    return Forecast(plan.epochs * plan.steps * step + looks * look, step, peak_memory(device))


def _evaluation_seconds(trainer: Trainer) -> float:
    """The time of one pass over the images that epochs are measured on, from one batch of it."""
    images = trainer.loaders.held_out[trainer.measured_on]
    x, _ = next(trainer.batches(trainer.measured_on, SINGLE))
    net, batches = trainer.net.eval(), math.ceil(len(images) / len(x))
    return seconds_of(trainer.device, lambda: net(x)) * math.ceil(batches / trainer.group.size)
