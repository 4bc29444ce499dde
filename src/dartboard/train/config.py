"""The settings of a training, where they come from, and the parts they name; defaults are DARTS' own.

In YAML a training reads like this; what is left out has a default:

    cell: Genotype(normal=[...], ...)     # a genotype in any notation
    space: darts                          # whose stack it goes into
    data: {name: cifar10, cutout: 16}
    epochs: 600
    net: {channels: 36, cells: 20}
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dartboard.config.loader import ConfigLoader, merge_layers
from dartboard.config.schema import Count, Options
from dartboard.data import DATASETS, Dataset
from dartboard.engine.config import SCHEDULES, DataOptions, LoopOptions, NetOptions, WeightOptions
from dartboard.errors import OptionError
from dartboard.nn.model_file import BEST
from dartboard.plugins import check_plugins
from dartboard.runs import Run, RunReader
from dartboard.runs.directory import INIT
from dartboard.runs.lookup import data_of_run, find_genotype, home_of, space_name, space_of_run
from dartboard.runs.store import RunDirectory
from dartboard.search.config import (
    SOURCE,
    DataChoice,
    Named,
    check_recordable,
    check_settings,
    full_name,
    load_images,
    path_names,
    recorded_name,
)
from dartboard.search.record import SearchResult
from dartboard.space import (
    GENOTYPE_FORMATS,
    SPACES,
    Genotype,
    SearchSpace,
    adopt,
    check_connected,
    decode,
    load_space,
)
from dartboard.train.initial_weights import InitialWeights, read_weights, recorded_weights
from dartboard.train.recipes import RECIPES
from dartboard.train.record import TrainResult
from dartboard.utils.progress import Progress


class TrainNetOptions(NetOptions):
    """The network around the cells."""

    channels: Count = Field(default=36, description="channels of the first stage")
    cells: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="cells in the stack; by default the space's own"
    )
    auxiliary: float = Field(
        default=0.4, ge=0, description="weight of an auxiliary classifier's loss; 0 for none"
    )
    drop_path: float = Field(default=0.2, ge=0, lt=1, description="drop-path probability at its largest")
    drop_path_schedule: Literal["linear", "constant"] = Field(
        default="linear", description="whether the drop-path probability grows with the epochs or is constant"
    )
    channels_last: bool = Field(default=True, description="channels-last memory format")


class TrainDataOptions(DataOptions):
    """How images are divided and varied."""

    valid: float | None = Field(
        default=None,
        ge=0,
        le=0.9,
        description="fraction held out to choose the best epoch; by default the data's own validation "
        "images, else none where there are test images, else 0.1",
    )
    pad: int = Field(
        default=4, ge=0, description="zero padding in pixels before a random crop; 0 for no crops"
    )
    flip: bool = Field(default=True, description="random horizontal flips")
    cutout: int = Field(default=0, ge=0, description="side of the square of cutout in pixels; 0 for none")
    mixup: float = Field(
        default=0.0,
        ge=0,
        description="mixup: images are mixed in pairs with weights from Beta(mixup, mixup); 0 for none",
    )


class TrainWeightOptions(WeightOptions):
    """How the weights are trained: stochastic gradient descent."""

    lr_end: float = Field(default=0.0, ge=0, description="learning rate at the end of a cycle")
    by: Literal["epoch", "step"] = Field(
        default="epoch", description="whether the learning rate changes every epoch or every step"
    )
    power: float = Field(
        default=1.0, gt=0, description="p of power annealing: above 1 the rate falls sooner; 1 for none"
    )
    cycles: Count = Field(default=1, description="number of cycles of the learning rate schedule")
    cycle_decay: float = Field(
        default=1.0, gt=0, le=1, description="start of each cycle as a fraction of the one before"
    )
    warmup: int = Field(default=0, ge=0, description="epochs of linear warmup of the learning rate")
    ema: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="decay of an exponential moving average of the weights; 0 for none",
    )


class EvaluationOptions(Options):
    """When the network is measured."""

    every: Count = Field(default=1, description="evaluate every N epochs, and after the last")


class TrainOptions(LoopOptions):
    """Everything about a training but its cells and its images."""

    epochs: Count = Field(default=600, description="passes over the training images")
    batch: Count = Field(default=96, description="batch size: examples in a step")
    net: TrainNetOptions = TrainNetOptions()
    data: TrainDataOptions = TrainDataOptions()
    weights: TrainWeightOptions = TrainWeightOptions()
    evaluation: EvaluationOptions = EvaluationOptions()


class StackChoice(Options):
    """What the cells are stacked in."""

    name: str | None = Field(
        default=None, description="the space whose stack the cells go into, or a file; by default their own"
    )


class TrainDataChoice(TrainDataOptions, DataChoice):
    """The images, how they are loaded, divided and varied."""


class TrainSettings(TrainOptions):
    """Everything about a training but its cell."""

    kind: Literal["train"] = Field(default="train", description="kind of configuration")
    space: StackChoice = StackChoice()
    data: TrainDataChoice = TrainDataChoice()
    plugins: tuple[str, ...] = Field(default=(), description="full paths of the plugins it needs")


class InitOptions(Options):
    """What the weights are at the start."""

    weights: str | None = Field(
        default=None,
        description="a run of a training or a .safetensors file to take them from; by default they are drawn",
    )
    sha256: str | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", description="checksum that their file must have"
    )


class TrainConfig(TrainSettings):
    """Everything it takes to repeat a training: the same values give the same result."""

    cell: str = Field(description="a genotype, in any notation")
    init: InitOptions = InitOptions()


TRAIN = ConfigLoader(TrainConfig, RECIPES, "DARTBOARD_TRAIN_")


@dataclass(frozen=True)
class TrainParts:
    """What a training is made of."""

    space: SearchSpace
    data: Dataset
    options: TrainOptions
    facts: dict[str, Any]
    init: InitialWeights | None = None


def build(
    config: TrainConfig, space: SearchSpace, progress: Progress | None = None, *, run: Path | None = None
) -> TrainParts:
    """The parts that a configuration names; the cells go into the stack of `space`.

    `run` is the run that is resumed, which has the weights that it started from.

    Raises:
        DartboardError: If there is no such data set, or the cell or an option does not fit.
    """
    check_plugins(config.plugins)
    SCHEDULES[config.weights.schedule]  # fail fast on an unknown schedule
    space = adopt(space, decode(config.cell))
    data = load_images(config.data.name, config.data.loading(progress))
    return TrainParts(space, data, train_options(config), facts(config), initial_weights(config, run))


def facts(config: TrainConfig) -> dict[str, Any]:
    """What the models of a training say of where they come from."""
    origin = {} if config.init.weights is None else {"init": config.init.model_dump()}
    return {"data": full_name(config.data.name, DATASETS), "seed": config.seed} | origin


def initial_weights(config: TrainConfig, run: Path | None = None) -> InitialWeights | None:
    """The weights that a training starts from, None if they are drawn; a run that exists has its own copy."""
    if config.init.weights is None:
        return None
    if run is not None:
        return recorded_weights(run, config.init.weights)
    return read_weights(config.init.weights, config.init.sha256)


def train_options(config: TrainConfig) -> TrainOptions:
    """The options of the training loop: everything but the names."""
    names: dict[str, Any] = {
        "data": SOURCE,
        **dict.fromkeys(("kind", "cell", "init", "space", "plugins"), True),
    }
    return TrainOptions.model_validate(config.model_dump(exclude=names))


def resolved(config: TrainConfig, space: str, cells: int) -> dict[str, Any]:
    """The configuration as plain values, nothing left to defaults that depend on something else: the cells
    go into the stack of the space of this name, and there are `cells` of them.
    """
    values = config.model_dump(mode="json")
    values["space"]["name"] = full_name(space, SPACES)
    values["net"]["cells"] = cells
    values["data"]["name"] = full_name(config.data.name, DATASETS)
    if config.init.weights is not None:
        values["init"]["weights"] = str(Path(config.init.weights).resolve())
    first = ("kind", "cell", "space", "data")
    return {key: values[key] for key in (*first, *(key for key in values if key not in first))}


CellArgument = SearchSpace | Genotype | SearchResult | RunReader | str | Path
"""Cells to train: as a discrete space, a genotype, what a search has found, or a text for one of them."""
InitArgument = str | Path | RunReader | TrainResult | InitialWeights | Mapping[str, Any]
"""Weights to start from: a run of a training, its result, a file, or the settings `weights` and `sha256`."""


def load_config(
    cell: CellArgument,
    *,
    recipe: str | None = None,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    words: Iterable[str] = (),
    run: Path | None = None,
) -> tuple[TrainConfig, SearchSpace]:
    """The settings of a training, and the space whose stack the cells go into.

    The cell of a search is trained on the images of the search, in the size that they had there, unless other
    images are named. Where weights are taken from a file, its checksum is recorded, and the width and depth
    of the network are those of the file unless others are named. `run` is a run that has these weights.
    The other arguments are those of `ConfigLoader.load`.

    Raises:
        DartboardError: If there is no such cell, recipe or setting.
    """
    genotype, space, place = _find_cell(cell)
    check_connected(genotype)
    layer = {"cell": GENOTYPE_FORMATS["json"].encode(genotype), **(flags or {})}
    load = partial(
        TRAIN.load, recipe=recipe, file=file, environment=environment, flags=layer, words=list(words)
    )
    data = data_of_run(place) if place else {}
    base: dict[str, Any] = {"data": {key: value for key, value in data.items() if key == "name"}}
    config = load(base=base)
    if config.data.name == data.get("name"):
        base = {"data": data}
        config = load(base=base)
    if (weights := initial_weights(config, run)) is not None:
        init = InitOptions(weights=weights.path, sha256=weights.sha256)
        config = load(base=base | {"net": weights.net_settings}).model_copy(update={"init": init})
    if config.space.name is not None:
        return config, load_space(config.space.name)
    return config, space or (space_of_run(place) if place else None) or home_of(genotype)


def _find_cell(cell: CellArgument) -> tuple[Genotype, SearchSpace | None, str]:
    """The genotype, the space whose stack it has, if known, and the run or the text it comes from, or ''."""
    if isinstance(cell, SearchSpace):
        return Genotype(cell.groups), cell, ""
    if isinstance(cell, Genotype):
        return cell, None, ""
    if isinstance(cell, SearchResult):
        space = None if cell.supernet is None else cell.supernet.space
        return cell.genotype, space, "" if cell.run is None else str(cell.run)
    place = str(cell.path if isinstance(cell, RunReader) else cell)
    return find_genotype(place), None, place


def resolve_training(
    cell: CellArgument,
    data: Dataset | Named | None,
    options: TrainOptions | None,
    *,
    recipe: str | None,
    run: Run | str | Path | None,
    settings: Mapping[str, Any],
    init: InitArgument | None = None,
) -> tuple[TrainParts, RunDirectory | None]:
    """The parts of a training, and the run directory to create or to resume; see `Trainer` for the arguments.

    Raises:
        DartboardError: If a name is unknown, a setting does not fit, or the directory cannot be used.
    """
    check_settings(options, recipe, settings)
    plain = not settings and recipe is None and not isinstance(run, str | Path)
    weights, source = _find_weights(init)
    if plain and isinstance(cell, SearchSpace) and isinstance(data, Dataset):
        weights = weights or (None if source.weights is None else read_weights(source.weights, source.sha256))
        return TrainParts(cell, data, options or TrainOptions(), {}, weights), None
    kept = None
    if isinstance(run, str | Path):
        if weights is not None:
            raise OptionError(
                "a run directory records the file of the weights it starts from; give init a path"
            )
        source, kept = _kept_weights(source, Path(run))
    settings = {**settings, "init": source.model_dump()}
    named = {} if data is None or isinstance(data, Dataset) else {"data": data}
    stack = settings.pop("space", None)
    if stack is not None and not isinstance(stack, SearchSpace):
        named["space"] = stack
    shape = {} if weights is None else {"net": weights.net_settings}
    layers = [shape, {} if options is None else options.model_dump(), settings, path_names(named)]
    flags = merge_layers([TRAIN.normalize(layer) for layer in layers])
    config, space = load_config(cell, recipe=recipe, flags=flags, run=kept)
    weights = weights or initial_weights(config, kept)
    space = stack if isinstance(stack, SearchSpace) else space
    check_plugins(config.plugins)
    SCHEDULES[config.weights.schedule]  # fail fast on an unknown schedule
    directory = None
    if isinstance(run, str | Path):
        check_recordable({"data"} if isinstance(data, Dataset) else set())
        place = "" if isinstance(stack, SearchSpace) else _find_cell(cell)[2]
        directory = _run_directory(Path(run), config, space, place)
        directory = replace(directory, initial=b"" if weights is None else weights.data)
    if isinstance(data, Dataset):
        cells = adopt(space, decode(config.cell))
        return TrainParts(cells, data, train_options(config), {}, weights), directory
    return replace(build(config, space, run=kept), init=weights), directory


def _find_weights(init: InitArgument | None) -> tuple[InitialWeights | None, InitOptions]:
    """Weights that are at hand, and the settings that name those which are not."""
    if isinstance(init, TrainResult):
        if init.run is None:
            return InitialWeights("", init.models[BEST]), InitOptions()
        init = init.run
    if isinstance(init, InitialWeights):
        return init, InitOptions()
    if isinstance(init, Mapping):
        return None, TRAIN.validate({"cell": "", "init": path_names(init)}).init
    source = init.path if isinstance(init, RunReader) else init
    return None, InitOptions(weights=None if source is None else str(source))


def _kept_weights(source: InitOptions, run: Path) -> tuple[InitOptions, Path | None]:
    """The same source, and the run that has a copy of its weights if they are not there any more."""
    if source.weights is None or Path(source.weights).exists() or not (run / INIT).is_file():
        return source, None
    recorded = TRAIN.validate(RunReader.read(run).config).init
    path = Path(source.weights).resolve()
    return (recorded, run) if recorded.weights in (str(path), str(path / BEST)) else (source, None)


def _run_directory(path: Path, config: TrainConfig, space: SearchSpace, place: str) -> RunDirectory:
    """The directory of a run of these settings; `place` is the run that the space is of, or ''."""
    if place or config.space.name is not None:
        name = space_name(place, config.space.name, space)
    else:
        name = recorded_name(space, path)
    directory = RunDirectory(path, resolved(config, name, config.net.cells or space.stack.cells))

    def normalize(values: Mapping[str, Any]) -> dict[str, Any]:
        before = TRAIN.validate(values)
        return resolved(before, before.space.name or "", before.net.cells or 0)

    directory.check(normalize)
    return directory
