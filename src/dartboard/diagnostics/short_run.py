"""A few steps of a search or a training on small random images, and the state that they lead to."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from dartboard.data import Dataset
from dartboard.data.dataset import ImageSet
from dartboard.data.sampler import generator
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.hooks import AnyHook
from dartboard.engine.loop import Loop
from dartboard.engine.state import capture, copied, restore
from dartboard.errors import CompositionError, Stopped
from dartboard.nn.model_file import Model
from dartboard.runs.checkpoint import from_bytes, to_bytes
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.search.record import measure_epoch, to_json
from dartboard.space import Cell, Edge, SearchSpace, Stack, get_space
from dartboard.space.catalog import stacked
from dartboard.train import Trainer, TrainOptions

STEPS = 2
"""Steps after which states are compared, and one is saved to be resumed."""
SPACE, CELLS, CHANNELS = "darts", 3, 8
"""A normal cell and two reductions; 8 channels are the fewest of which a part can be passed (PC-DARTS)."""
CELL = "darts-v2"
SMALLEST = stacked(
    "smallest",
    Cell(1, 2, (Edge(0, 1, ("skip_connect", "nor_conv_1x1")),), (1,), adapt=False),
    Stack(1, reduce="residual", stages=1, stem=1, head_norm=True, pool_norm=False),
)
"""One cell with one edge, for what would take minutes on a larger space."""
CLASSES, BATCH, SIZE, EPOCH_STEPS = 4, 8, 8, 4
SETTINGS: dict[str, Any] = {
    "epochs": 25,
    "batch": BATCH,
    "net": {"channels": CHANNELS},
    "data": {"valid": 0.5, "pad": 1, "flip": True, "cutout": 2, "workers": 0},
    "deterministic": True,
}

Snapshot = dict[str, dict[str, Tensor]]
"""Mean losses, strengths of the architecture and the weights with their statistics, each by name."""


@dataclass(frozen=True)
class StepSnapshots:
    """What some steps have led to.

    Args:
        snapshots: The state after each step, by its number.
        saved: A checkpoint after `STEPS` steps, as bytes; empty if there are fewer.
        choice: The architecture that is selected, as plain values; None where none is.
    """

    snapshots: Mapping[int, Snapshot] = field(default_factory=dict)
    saved: bytes = b""
    choice: Any = None


class Probe(AnyHook):
    """Starts from a checkpoint, if it is given one, and stops after some steps.

    Args:
        stop: The number of the last step.
        start: The checkpoint, as bytes.
    """

    def __init__(self, stop: int, start: bytes | None = None) -> None:
        self._stop, self._start = stop, start
        self.saved = b""
        self.snapshots: dict[int, Snapshot] = {}

    def on_start(self, loop: Loop[Any, Any]) -> None:
        if self._start is not None:
            restore(loop, from_bytes(self._start))

    def on_step_end(self, loop: Loop[Any, Any]) -> None:
        self.snapshots[loop.step] = take_snapshot(loop)
        if loop.step == STEPS:
            self.saved = to_bytes(copied(capture(loop)))
        if loop.step == self._stop:  # the same step on all ranks
            raise Stopped("all steps have been taken")


@contextmanager
def plain_float32() -> Iterator[None]:
    """Inside, float32 is computed as such, without TF32, and kernels are not chosen by their speed."""
    cudnn = torch.backends.cudnn
    before = cudnn.allow_tf32, cudnn.benchmark, torch.get_float32_matmul_precision()
    cudnn.allow_tf32, cudnn.benchmark = False, False
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        cudnn.allow_tf32, cudnn.benchmark = before[:2]
        torch.set_float32_matmul_precision(before[2])


def take_snapshot(loop: Loop[Any, Any]) -> Snapshot:
    """The state of a loop as far as it is compared, in the host's memory."""
    losses = {name: torch.tensor(mean) for name, mean in loop.meter.read().items() if name.endswith("loss")}
    weights = {name: value for name, value in loop.net.state_dict().items() if value.is_floating_point()}
    strengths: dict[str, Tensor] = {}
    if isinstance(loop, Searcher):
        for group, strength in loop.relaxation.strengths().items():
            strengths |= {f"{group} ops": strength.ops, f"{group} edges": strength.edges}
        for number, weight in enumerate(loop.relaxation.weight_parameters()):
            weights[f"relaxation {number}"] = weight
    snapshot: Snapshot = copied({"loss": losses, "architecture": strengths, "weights": weights})
    return snapshot


def random_images() -> Dataset:
    """Small images of colored noise: enough for the steps of an epoch, and as many to hold out."""
    count, rng = 2 * EPOCH_STEPS * BATCH, generator("check", 0)
    pixels = torch.randint(256, (count, 3, SIZE, SIZE), generator=rng, dtype=torch.uint8)
    images = ImageSet(pixels, torch.arange(count) % CLASSES)
    return Dataset("noise", tuple("abcd"), images, test=images)


def can_compile(method: str) -> bool:
    """True if a method can be made without more options, and does not draw another network every step."""
    try:
        relaxation = make_method(method).compose(get_space(SPACE), generator("check", 0))
    except CompositionError:
        return False
    return not relaxation.stochastic


def run_search(
    method: str,
    device: torch.device,
    settings: Mapping[str, Any] | None = None,
    *,
    space: SearchSpace | None = None,
    steps: int = STEPS,
    start: bytes | None = None,
    group: Group = SINGLE,
) -> StepSnapshots:
    """Searches for some steps with a method, whose architecture moves from the first of them on.

    Images and initial weights are drawn on the CPU and are the same for every device.

    Args:
        method: Its name.
        device: Where to compute.
        settings: What differs from `SETTINGS`.
        space: The space; None for `SPACE` with `CELLS` cells.
        steps: The number of the last step.
        start: A checkpoint to start from.
        group: The processes that search together.

    Raises:
        CompositionError: If the method cannot be made without more options, or does not fit the settings.
    """
    parts = replace(make_method(method), warmup=0)
    options = SearchOptions.model_validate(merge(SETTINGS, {"health": {"examples": BATCH}}, settings or {}))
    probe, space = Probe(steps, start), space or get_space(SPACE).resized(CELLS)
    searcher = Searcher(space, parts, random_images(), options, device=device, hooks=[probe], group=group)
    try:
        choice = searcher.fit().genotype  # nothing is trained
    except Stopped:
        if group.size > 1 or options.compile:  # measuring would compile other graphs
            return StepSnapshots(probe.snapshots)
        choice = measure_epoch(searcher).genotype
    return StepSnapshots(probe.snapshots, probe.saved, to_json(choice))


def run_training(
    device: torch.device, settings: Mapping[str, Any] | None = None
) -> tuple[StepSnapshots, Model]:
    """Trains a published cell for some steps, with an auxiliary head; the network is on the device."""
    options = TrainOptions.model_validate(
        merge(SETTINGS, {"net": {"cells": CELLS, "auxiliary": 0.4, "drop_path": 0.0}}, settings or {})
    )
    probe, data = Probe(STEPS), random_images()
    trainer = Trainer(CELL, data, options, device=device, hooks=[probe])
    with suppress(Stopped):
        trainer.fit()
    return StepSnapshots(probe.snapshots), Model(trainer.net, data.classes, data.mean, data.std)


def merge(*groups: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of which later ones replace earlier ones, group by group."""
    merged: dict[str, Any] = {}
    for group in groups:
        for name, value in group.items():
            inner = isinstance(value, Mapping)
            merged[name] = merge(merged.get(name, {}), value) if inner else value
    return merged
