"""Short searches and trainings that are taken alone and by several processes, to be compared."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from dartboard.data import Batch, BatchLoader, load_dataset
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.state import capture, copied, restore
from dartboard.runs import digest
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import adopt, decode, get_space
from dartboard.train import Trainer, TrainOptions

SIZES: dict[str, Any] = {
    "epochs": 4,
    "batch": 16,
    "net": {"channels": 4, "drop_path": 0.2},
    "data": {"workers": 0, "pad": 1, "flip": True, "cutout": 2},
    "weights": {"lr": 0.05},
}
CELL = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_3x3~1|+|none~0|avg_pool_3x3~1|nor_conv_3x3~2|"


@dataclass(frozen=True)
class Case:
    """A search, or without a method a training.

    Args:
        method: The method.
        space: The space.
        options: Of the method.
        more: Options of the loop.
        steps: How many are taken.
    """

    method: str | None
    space: str = "nano"
    options: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    steps: int = 20


CASES = {
    "darts": Case("darts"),
    "darts-2nd": Case("darts-2nd"),
    "gdas": Case("gdas"),
    "pc-darts": Case("pc-darts", options={"warmup": 0, "partial": 4}),
    "gaea-darts": Case("gaea-darts"),
    "gaea-darts-erm": Case("gaea-darts-erm"),
    "gaea-darts-erm, joint": Case("gaea-darts-erm", options={"joint": True}, steps=8),
    "gaea-pc-darts": Case("gaea-pc-darts", options={"warmup": 0, "partial": 4}),
    "gaea-gdas": Case("gaea-gdas"),
    "xnas": Case("xnas", options={"lr": 0.05}),
    "xnas, wipeout": Case("xnas", options={"lr": 0.05, "zeta": 3e-4, "bound": 1.0}, steps=12),
    "asm": Case("asm"),
    "amended-darts": Case("amended-darts"),
    "random-ws": Case("random-ws", options={"samples": 3, "epoch_samples": 2}),
    "darts, auxiliary": Case("darts", more={"net": {"channels": 4, "auxiliary": 0.4}}, steps=4),
    "training": Case(None, "nb201", more={"weights": {"lr": 0.05, "ema": 0.9}}),
    "training, mixup": Case(None, "nb201", more={"data": {**SIZES["data"], "mixup": 0.4}}, steps=8),
}

MICRO_BATCH_CASES = {
    f"darts in {pieces}": Case("darts", more={"pieces": pieces}, steps=8) for pieces in (2, 4)
}
"""Those in which batch-norms see a part of what a process has."""


def make_loop(case: Case, group: Group, *, sync: bool) -> Searcher | Trainer:
    """The loop of a case, in float64."""
    values = SIZES | case.more | {"sync_norms": sync}
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        loop = _make(case, values, group)
    finally:
        torch.set_default_dtype(before)
    for stream in vars(loop.loaders).values():
        if isinstance(stream, BatchLoader):
            stream.batch = _wide(stream.batch)  # type: ignore[method-assign]
    if isinstance(loop, Searcher):
        narrow = loop.valid_batches
        loop.valid_batches = lambda: map(_widened, narrow())  # type: ignore[method-assign]
    return loop


def _wide(narrow: Callable[[int], Batch]) -> Callable[[int], Batch]:
    return lambda step: _widened(narrow(step))


def _widened(batch: Batch) -> Batch:
    return Batch(batch.x.double(), batch.y)


def _make(case: Case, values: dict[str, Any], group: Group) -> Searcher | Trainer:
    data, space = load_dataset("digits"), get_space(case.space)
    if case.method is None:
        options = TrainOptions.model_validate(values | {"net": {"cells": 1, **values["net"]}})
        return Trainer(adopt(space, decode(CELL)), data, options, group=group)
    health = {"examples": 64, "hessian": case.method == "darts"}
    options = SearchOptions.model_validate(values | {"health": health})
    return Searcher(space, make_method(case.method, case.options), data, options, group=group)


def run_case(
    case: Case, group: Group = SINGLE, *, sync: bool = True, start: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Where the steps of a case lead: all that is trained after each step, and what would be chosen.

    Args:
        case: Which.
        group: The processes that share it.
        sync: Whether batch-norms are synchronized.
        start: The state in the middle of the same, to go on from.
    """
    loop = make_loop(case, group, sync=sync)
    trail, half = [], start
    with loop._rng_scope():
        if start is not None:
            restore(loop, start)
        loop._start_epoch()
        for hook in loop.hooks:
            hook.on_epoch_start(loop)
        while loop.step < case.steps:
            loop.train_step()
            for hook in loop.hooks:
                hook.on_step_end(loop)
            trail.append(state(loop))
            if loop.step == case.steps // 2:
                half = copied(capture(loop))
        record = loop._measure() if isinstance(loop, Searcher) else None
    genotype = None if record is None else record.genotype
    measured = {} if record is None else {k: v for k, v in record.metrics.items() if k != "seconds"}
    return {
        "trail": trail,
        "genotype": None if genotype is None else str(genotype),
        "meter": loop.meter.read(),
        "digest": digest({"trail": trail, "measured": measured}),
        "half": half,
    }


def state(loop: Searcher | Trainer) -> dict[str, Any]:
    """Weights, statistics, and what the architecture is."""
    own = {f"net.{name}": value.clone() for name, value in loop.net.state_dict().items()}
    if isinstance(loop, Searcher):
        relaxation = loop.relaxation.state_dict().items()
        own |= {f"arch.{name}": value.clone() for name, value in relaxation if torch.is_tensor(value)}
        strengths = loop.relaxation.strengths().items()
        own |= {f"strength.{arch}": strength.ops.clone() for arch, strength in strengths}
    elif loop.average is not None:
        own |= {f"average.{name}": value.clone() for name, value in loop.average.state_dict().items()}
    return own


def largest_difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    """The largest difference of any number after any step."""
    gaps = [
        float((mine[name].double() - theirs[name].double()).abs().max())
        for mine, theirs in zip(one["trail"], other["trail"], strict=True)
        for name in mine
        if mine[name].numel()
    ]
    return max(gaps)
