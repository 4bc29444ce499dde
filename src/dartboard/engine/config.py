"""Settings and schedules that searches and trainings share; every default is first-order DARTS' own."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from dartboard.config.schema import MAX_COUNT, MAX_RATE, Count, Options, Seed
from dartboard.data import CENTER_CROP, GIGABYTE, Augment, LoadOptions, Policy
from dartboard.registry import Registry
from dartboard.utils.progress import Progress


class NetOptions(Options):
    """The supernet around the space."""

    channels: Count = Field(default=16, description="channels of the first stage")
    stem: str = Field(default="auto", description="small, half, imagenet, or auto: by the size of the images")
    auxiliary: float = Field(
        default=0.0, ge=0, description="weight of an auxiliary classifier's loss; 0 for none"
    )
    drop_path: float = Field(default=0.0, ge=0, lt=1, description="drop-path probability in training")
    mix: Literal["fused", "plain"] = Field(default="fused", description="the fast path, or the plain formula")


class SourceOptions(Options):
    """The images, and how they are loaded."""

    name: str = Field(default="digits", description="a data set, a folder of images, or a file")
    size: Count | None = Field(
        default=None, description="height and width that images are resized to; by default their own"
    )
    memory: float = Field(
        default=2.0,
        ge=0,
        le=MAX_COUNT,
        description="images that take more GB than this stay on disk; with data.area all image files do",
    )

    def loading(self, progress: Progress | None = None) -> LoadOptions:
        """What the source is asked with."""
        return LoadOptions(size=self.size, memory=int(self.memory * GIGABYTE), progress=progress)


class DataOptions(Options):
    """How images are divided, varied and brought to the device."""

    valid: float | None = Field(
        default=None,
        ge=0,
        le=0.9,
        description="fraction of the training images held out; by default 0.5 if bilevel, else 0.1",
    )
    seed: Seed = Field(default=0, description="random seed of the split into training and held-out images")
    pad: int = Field(
        default=0,
        ge=0,
        le=MAX_COUNT,
        description="zero padding in pixels before a random crop; 0 for no crops",
    )
    flip: bool = Field(default=False, description="random horizontal flips")
    cutout: int = Field(
        default=0, ge=0, le=MAX_COUNT, description="side of the square of cutout in pixels; 0 for none"
    )
    area: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="random resized crops with at least this fraction of the area, read from the files "
        "every time; 0 for none",
    )
    autoaugment: Policy = Field(
        default="none", description="AutoAugment policy; needs torchvision (dartboard[vision])"
    )
    workers: int = Field(
        default=2, ge=0, le=1000, description="worker processes per loader that read images from disk"
    )

    @property
    def augment(self) -> Augment:
        """How images to train on are varied."""
        return Augment(self.pad, self.flip, self.cutout, self.area, self.autoaugment)

    @property
    def crop_pct(self) -> float:
        """The share of the sides of images to measure with that is seen: less for who trains on parts."""
        return CENTER_CROP if self.area else 1.0


class WeightOptions(Options):
    """How the network's weights are trained: stochastic gradient descent."""

    lr: float = Field(default=0.025, gt=0, le=MAX_RATE, description="learning rate at the start")
    lr_end: float = Field(default=0.001, ge=0, description="learning rate at the end")
    schedule: str = Field(
        default="cosine", description="schedule of the learning rate: cosine, linear, exponential or constant"
    )
    momentum: float = Field(default=0.9, ge=0, lt=1, description="momentum of SGD")
    nesterov: bool = Field(default=False, description="Nesterov's form of momentum")
    weight_decay: float = Field(default=3e-4, ge=0, description="weight decay (L2 penalty)")
    clip: float = Field(default=5.0, ge=0, description="gradient clipping: largest norm; 0 for no clipping")
    smoothing: float = Field(default=0.0, ge=0, lt=1, description="label smoothing")

    @model_validator(mode="after")
    def _check_nesterov(self) -> Self:
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov is a form of momentum, and momentum is 0; set one of them otherwise")
        return self


class CheckpointOptions(Options):
    """When the state is saved besides the end of every epoch."""

    seconds: float = Field(default=300.0, gt=0, description="save at least every so many seconds")
    steps: int = Field(default=0, ge=0, description="save every N steps; 0 for not by steps")
    keep: int = Field(default=2, ge=1, description="number of checkpoints that are kept")


class EarlierSchedule(Options):
    """The number of epochs that the schedules of a run were laid out for until it was given others."""

    until: Count = Field(description="complete epochs from which on the next entry, or `epochs`, counts")
    epochs: Count = Field(description="length of the schedules before")


class LoopOptions(Options):
    """What searches and trainings have in common."""

    epochs: Count = Field(default=50, description="passes over the training images")
    schedule_history: tuple[EarlierSchedule, ...] = Field(
        default=(), description="lengths of earlier schedules; --resume writes it when it changes epochs"
    )
    batch: Count = Field(default=64, description="batch size: examples in a step")
    pieces: Count = Field(
        default=1, description="micro-batches per batch, to save memory; gradients are accumulated"
    )
    seed: Seed = Field(
        default=0, description="random seed of initial weights, order of images, augmentation and sampling"
    )
    precision: Literal["full", "bf16", "fp16"] = Field(
        default="full", description="precision of forward passes"
    )
    compile: bool = Field(default=False, description="compile the network with torch.compile")
    deterministic: bool = Field(default=False, description="only deterministic kernels; matters on GPUs")
    sync_norms: bool = Field(
        default=False, description="batch-norms see the whole batch where several processes share it"
    )
    net: NetOptions = NetOptions()
    data: DataOptions = DataOptions()
    weights: WeightOptions = WeightOptions()
    checkpoint: CheckpointOptions = CheckpointOptions()

    @field_validator("schedule_history")
    @classmethod
    def _check_history(cls, history: tuple[EarlierSchedule, ...], info: ValidationInfo) -> Any:
        ends = [entry.until for entry in history]
        if ends != sorted(set(ends)) or max(ends, default=0) > info.data.get("epochs", MAX_COUNT):
            raise PydanticCustomError("history", "expected entries whose until rises, to epochs at most")
        return history

    def lengths(self, steps: int, *, epochs: int | None = None, warmup: int = 0) -> "ScheduleLengths":
        """The lengths of a loop with this many steps per epoch; `epochs` replaces those that are set."""
        history = tuple((entry.until, entry.epochs) for entry in self.schedule_history)
        epochs = self.epochs if epochs is None else epochs
        return ScheduleLengths(epochs, steps, self.batch, warmup, history if epochs else ())


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
        history: For a run that was given other epochs on the way, pairs of a number of complete epochs and
            the length of the schedules until then, in order.
    """

    epochs: int
    steps: int
    batch: int
    warmup: int = 0
    history: tuple[tuple[int, int], ...] = ()

    def at(self, epoch: int) -> "ScheduleLengths":
        """The lengths that the schedules of an epoch are laid out for.

        They are these, but for the epochs before a run was given another number of them.
        """
        for until, epochs in self.history:
            if epoch < until:
                return replace(self, epochs=epochs, history=())
        return replace(self, history=()) if self.history else self

    @property
    def arch_steps(self) -> int:
        """How many times the architecture is updated."""
        return max(self.epochs - self.warmup, 0) * self.steps
