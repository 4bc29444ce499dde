"""Everything that says what a training does, gathered from several places and turned into its parts.

In YAML a training reads like this; what is left out has a default:

    cell: Genotype(normal=[...], ...)     # a genotype in any notation
    space: darts                          # whose stack it goes into
    data: {name: cifar10, cutout: 16}
    epochs: 600
    net: {channels: 36, cells: 20}
"""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from dartboard.config.loader import Form
from dartboard.config.schema import Options
from dartboard.data import DATASETS, Dataset
from dartboard.engine.schedule import SCHEDULES
from dartboard.plugins import check_plugins
from dartboard.search.config import SOURCE, DataChoice, full_name, load_images
from dartboard.space import SPACES, SearchSpace, adopt, decode
from dartboard.train.options import TrainDataOptions, TrainOptions
from dartboard.train.recipes import RECIPES
from dartboard.utils.progress import Progress


class StackChoice(Options):
    """What the cells are stacked in."""

    name: str | None = Field(
        default=None, description="the space whose stack the cells go into, or a file; by default their own"
    )


class TrainDataChoice(TrainDataOptions, DataChoice):
    """The images, how they are loaded, divided and varied."""


class TrainSettings(TrainOptions):
    """Everything about a training but its cell."""

    kind: Literal["train"] = Field(default="train", description="what this is the configuration of")
    space: StackChoice = StackChoice()
    data: TrainDataChoice = TrainDataChoice()
    plugins: tuple[str, ...] = Field(
        default=(), description="full paths of Python files that must have been loaded"
    )


class TrainConfig(TrainSettings):
    """Everything it takes to repeat a training: the same values give the same result."""

    cell: str = Field(description="a genotype, in any notation")


TRAIN = Form(TrainConfig, RECIPES, "DARTBOARD_TRAIN_")


@dataclass(frozen=True)
class TrainParts:
    """What a training is made of."""

    space: SearchSpace
    data: Dataset
    options: TrainOptions
    facts: dict[str, Any]


def build(config: TrainConfig, space: SearchSpace, progress: Progress | None = None) -> TrainParts:
    """The parts that a configuration names.

    Args:
        config: What is asked for.
        space: The space whose stack the cells go into.
        progress: Is told how far the loading of images is.

    Raises:
        DartboardError: If there is no such data set, or the cell or an option does not fit.
    """
    check_plugins(config.plugins)
    SCHEDULES[config.weights.schedule]  # a wrong name is better known before the first epoch
    space = adopt(space, decode(config.cell))
    data = load_images(config.data.name, config.data.loading(progress))
    return TrainParts(space, data, train_options(config), facts(config))


def facts(config: TrainConfig) -> dict[str, Any]:
    """What the models of a training say of where they come from."""
    return {"data": full_name(config.data.name, DATASETS), "seed": config.seed}


def train_options(config: TrainConfig) -> TrainOptions:
    """The options of the training loop: everything but the names."""
    names: dict[str, Any] = {"kind": True, "cell": True, "space": True, "plugins": True, "data": SOURCE}
    return TrainOptions.model_validate(config.model_dump(exclude=names))


def resolved(config: TrainConfig, space: str, cells: int) -> dict[str, Any]:
    """The configuration as plain values, nothing left to defaults that depend on something else.

    Args:
        config: What was asked for.
        space: The name of the space whose stack the cells go into.
        cells: How many there are.
    """
    values = config.model_dump(mode="json")
    values["space"]["name"] = full_name(space, SPACES)
    values["net"]["cells"] = cells
    values["data"]["name"] = full_name(config.data.name, DATASETS)
    first = ("kind", "cell", "space", "data")
    return {key: values[key] for key in (*first, *(key for key in values if key not in first))}
