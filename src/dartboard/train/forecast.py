"""How long a training will take and how much memory, from a few real steps that leave no trace."""

import math
from statistics import median

from dartboard.distributed.group import SINGLE
from dartboard.engine.process import peak_memory
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
        # The time of one pass over the images that epochs are measured on, from one batch of it.
        x, _ = next(trainer.batches(trainer.measured_on, SINGLE))
        net, images = trainer.net.eval(), trainer.loaders.held_out[trainer.measured_on]
        batches = math.ceil(math.ceil(len(images) / len(x)) / trainer.group.size)
        look = seconds_of(device, lambda: net(x)) * batches
    every = trainer.options.evaluation.every
    looks = math.ceil(plan.epochs / every) + 2  # the last network and the best are measured at the end
    return Forecast(plan.epochs * plan.steps * step + looks * look, step, peak_memory(device))
