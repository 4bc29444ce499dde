"""The numbers of a training, checked when they are given; defaults are DARTS' own, without cutout."""

from typing import Annotated, Literal

from pydantic import Field

from dartboard.config.schema import Count, Options
from dartboard.engine.options import DataOptions, LoopOptions, NetOptions, WeightOptions


class TrainNetOptions(NetOptions):
    """The network around the cells."""

    channels: Count = Field(default=36, description="channels of the first stage")
    cells: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="cells in the stack; by default the space's own"
    )
    auxiliary: float = Field(
        default=0.4, ge=0, description="weight of an auxiliary classifier's loss; 0 for none"
    )
    drop_path: float = Field(
        default=0.2, ge=0, lt=1, description="chance of an edge to be dropped, at its largest"
    )
    drop_path_schedule: Literal["linear", "constant"] = Field(
        default="linear", description="whether the chance grows with the epochs, or is the same in all"
    )
    channels_last: bool = Field(default=True, description="weights with channels last in memory")


class TrainDataOptions(DataOptions):
    """How images are divided and varied."""

    valid: float | None = Field(
        default=None,
        ge=0,
        le=0.9,
        description="share held out to choose the best epoch; by default the data's own validation "
        "images, else none where there are test images, else 0.1",
    )
    pad: int = Field(default=4, ge=0, description="random crops of images with so many zeros around them")
    flip: bool = Field(default=True, description="random horizontal flips")
    cutout: int = Field(default=0, ge=0, description="side of a square that is cut out; 0 for none")
    mixup: float = Field(
        default=0.0,
        ge=0,
        description="images are mixed in pairs by shares from Beta(mixup, mixup); 0 for not",
    )


class TrainWeightOptions(WeightOptions):
    """How the weights are trained: stochastic gradient descent."""

    lr_end: float = Field(default=0.0, ge=0, description="learning rate at the end of a cycle")
    by: Literal["epoch", "step"] = Field(default="epoch", description="when the learning rate changes")
    power: float = Field(
        default=1.0, gt=0, description="p of power annealing: above 1 the rate falls sooner; 1 for none"
    )
    cycles: Count = Field(default=1, description="how many times the learning rate falls")
    cycle_decay: float = Field(
        default=1.0, gt=0, le=1, description="how high each cycle is, as a share of the one before"
    )
    warmup: int = Field(default=0, ge=0, description="epochs in which the learning rate rises from nothing")
    ema: float = Field(
        default=0.0, ge=0, lt=1, description="decay of a moving average of the weights; 0 for none"
    )


class EvaluationOptions(Options):
    """When the network is measured."""

    every: Count = Field(default=1, description="after every so many epochs, and after the last")


class TrainOptions(LoopOptions):
    """Everything about a training but its cells and its images."""

    epochs: Count = Field(default=600, description="passes over the training images")
    batch: Count = Field(default=96, description="examples in a step")
    net: TrainNetOptions = TrainNetOptions()
    data: TrainDataOptions = TrainDataOptions()
    weights: TrainWeightOptions = TrainWeightOptions()
    evaluation: EvaluationOptions = EvaluationOptions()
