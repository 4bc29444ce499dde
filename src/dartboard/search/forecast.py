"""How long a search will take and how much memory, from a few real steps that leave no trace."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import torch

from dartboard.engine.loop import UNSTARTED, Loop
from dartboard.engine.process import peak_memory
from dartboard.engine.state import capture, copied, restore
from dartboard.errors import Stopped
from dartboard.search.health import accuracy
from dartboard.search.searcher import Searcher


@dataclass(frozen=True)
class Forecast:
    """What a search will need.

    Args:
        seconds: For all of it.
        step_seconds: For one step, when the architecture moves too.
        memory_bytes: The most that tensors on the device, or this process on a CPU, take.
    """

    seconds: float
    step_seconds: float
    memory_bytes: int


def forecast(searcher: Searcher, steps: int = 3) -> Forecast:
    """Times a few steps and one batch of each evaluation, then puts everything back.

    Args:
        searcher: A search that has not begun; afterwards it goes as if this had not been.
        steps: How many steps are timed; one more comes before them.
    """
    plan, device = searcher.plan, searcher.device
    if not plan.epochs:
        return Forecast(0.0, 0.0, peak_memory(device))
    objective, method, health = searcher.objective, searcher.method, searcher.options.health
    with put_back(searcher):
        moving = _step_seconds(searcher, plan.warmup, steps)
        frozen = _step_seconds(searcher, 0, steps) if plan.warmup else 0.0
        batch, rng = next(iter(searcher.valid_batches())), Random(0)
        select = seconds_of(device, lambda: method.select(objective, lambda: [batch], rng))
        preview = select
        if (early := method.preview) is not None:
            preview = seconds_of(device, lambda: early(objective, lambda: [batch], rng))
        measure = seconds_of(device, lambda: accuracy(objective, objective.relaxation, [batch]))
    batches = math.ceil(min(len(searcher.loaders.valid), health.examples) / batch.size)
    training = plan.steps * (plan.warmup * frozen + (plan.epochs - plan.warmup) * moving)
    epoch, end = batches * (preview + measure * (1 + health.discrete)), batches * (select + measure)
    return Forecast(training + plan.epochs * epoch + end, moving, peak_memory(device))


@contextmanager
def put_back(loop: Loop[Any, Any]) -> Iterator[None]:
    """Restores the loop and torch's generators when the block ends; who is stopped in it has not begun."""
    state = copied(capture(loop))
    try:
        yield
    except Stopped:
        raise Stopped(UNSTARTED) from None
    finally:
        restore(loop, state)


def _step_seconds(searcher: Searcher, epoch: int, steps: int) -> float:
    """The time of a step in an epoch; the first step does not count, for it makes things ready."""
    searcher.epoch = epoch
    searcher.net.train()
    searcher.relaxation.train()
    return median([seconds_of(searcher.device, searcher.train_step) for _ in range(steps + 1)][1:])


def seconds_of(device: torch.device, act: Callable[[], object]) -> float:
    """How long it takes to do something, the device's part included."""
    start = perf_counter()
    act()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return perf_counter() - start
