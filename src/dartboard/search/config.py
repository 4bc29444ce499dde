"""The settings of a search, where they come from and the parts they name; defaults are first-order DARTS'.

In YAML a search reads like this; what is left out has a default:

    space: {name: nb201, cells: 3, without: [none]}   # or the name alone
    method: {name: gaea-darts, lr: 0.1}               # the method's own options beside its name
    data: {name: digits, pad: 1}
    epochs: 25
    weights: {lr: 0.05}
"""

from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, ConfigDict, Field

from dartboard.config.loader import ConfigLoader
from dartboard.config.schema import NAMED, Count, Options
from dartboard.data import DATASETS, Dataset, LoadOptions, load_dataset
from dartboard.engine.config import SCHEDULES, DataOptions, LoopOptions, SourceOptions
from dartboard.engine.process import is_out_of_memory
from dartboard.errors import DataError, OptionError
from dartboard.plugins import check_plugins
from dartboard.runs import SPACE, Run
from dartboard.runs.store import RunDirectory
from dartboard.search.method import METHODS, Method, check_options, make_method, options_before
from dartboard.search.recipes import RECIPES
from dartboard.space import SPACES, SearchSpace, get_space, load_space
from dartboard.utils.progress import Progress


class HealthOptions(Options):
    """What is measured after every epoch."""

    examples: int = Field(
        default=2000, ge=1, description="largest number of held-out images to evaluate after an epoch"
    )
    discrete: bool = Field(default=True, description="also evaluate the supernet with the chosen ops alone")
    hessian: bool = Field(
        default=False,
        description="also compute the largest eigenvalue of the Hessian in the architecture parameters; slow",
    )


class SearchOptions(LoopOptions):
    """Everything about a search but its space, its method and its images."""

    health: HealthOptions = HealthOptions()


class SpaceChoice(Options):
    """What is searched."""

    name: str = Field(default="nano", description="a space of the catalog, or a file")
    cells: Count | None = Field(default=None, description="cells in the stack; by default the space's own")
    without: Annotated[
        tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
    ] = Field(default=(), description="ops to leave out")


class MethodChoice(Options):
    """How it is searched; the method's own options stand beside its name."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(default="darts", description="a search method")

    @property
    def options(self) -> dict[str, Any]:
        """The method's own options."""
        return dict(self.model_extra or {})


class DataChoice(DataOptions, SourceOptions):
    """The images, how they are loaded, divided and varied."""

    def loading(self, progress: Progress | None = None) -> LoadOptions:
        """What the source is asked with; parts of images are parts of what is in files, at its own size."""
        loading = super().loading(progress)
        return replace(loading, memory=0) if self.area else loading


class SearchConfig(SearchOptions):
    """Everything it takes to repeat a search: the same values give the same result."""

    kind: Literal["search"] = Field(default="search", description="kind of configuration")
    space: SpaceChoice = SpaceChoice()
    method: MethodChoice = MethodChoice()
    data: DataChoice = DataChoice()
    plugins: tuple[str, ...] = Field(default=(), description="full paths of the plugins it needs")


class SearchParts(NamedTuple):
    """What a search is made of."""

    space: SearchSpace
    method: Method
    data: Dataset
    options: SearchOptions


def build(
    config: SearchConfig,
    space: SearchSpace | None = None,
    progress: Progress | None = None,
    images: "ImageCache | None" = None,
) -> SearchParts:
    """The parts that a configuration names.

    Args:
        config: What is asked for.
        space: Taken in the place of the one that is named, if given.
        progress: Is told how far the loading of images is.
        images: Loads them, if others may have asked for the same.

    Raises:
        DartboardError: If there is no such space, method or data set, or an option does not fit it.
    """
    check_plugins(config.plugins)
    SCHEDULES[config.weights.schedule]  # fail fast on an unknown schedule
    method = make_method(config.method.name, config.method.options)
    space = space or build_space(config.space)
    data = (images or ImageCache(progress)).images(config.data)
    return SearchParts(space, method, data, search_options(config))


def load_images(name: str, loading: LoadOptions) -> Dataset:
    """The data set that is meant.

    Raises:
        DataError: If there is none, something is wrong with it, or it does not fit in memory.
    """
    try:
        return load_dataset(name, loading)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
    if Path(name).is_file():
        raise DataError(f"{name}: its images do not fit in memory; make a file of fewer or smaller images")
    raise DataError(
        f"the images of {name!r} do not fit in memory; set a smaller data.size, or data.memory=0, which "
        "leaves images that have a file each on the disk"
    )


class ImageCache:
    """Loads images; those that several ask for one after the other are loaded once.

    Args:
        progress: Is told how far the loading of images is.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = progress
        self._images: tuple[object, Dataset] | None = None

    def images(self, choice: DataChoice) -> Dataset:
        """The images that are meant."""
        source = (choice.name, choice.loading())
        if self._images is None or self._images[0] != source:
            self._images = None  # before others are loaded: there may be room for one alone
            self._images = source, load_images(choice.name, choice.loading(self.progress))
        return self._images[1]


def check_names(space: str | None, data: str) -> None:
    """Fails fast on names of a space or a data set that are neither registered nor those of files.

    Raises:
        DartboardError: Says which name was probably meant.
    """
    if space is not None and space not in SPACES:
        load_space(space)
    if data not in DATASETS and not Path(data).exists():
        load_dataset(data)


def build_space(choice: SpaceChoice) -> SearchSpace:
    """The space that is meant, resized and without the ops that are left out."""
    space = load_space(choice.name)
    for op in choice.without:
        space = space.without(op)
    return space if choice.cells is None else space.resized(choice.cells)


SOURCE = set(SourceOptions.model_fields)
"""What is said of images before there are any."""
NAMES: dict[str, Any] = {"kind": True, "space": True, "method": True, "plugins": True, "data": SOURCE}
"""What a configuration has beyond the options of the loop."""


def search_options(config: SearchConfig) -> SearchOptions:
    """The options of the search loop: everything but the names."""
    values = config.model_dump(exclude=NAMES)
    return SearchOptions.model_validate(values)


def resolved(config: SearchConfig) -> dict[str, Any]:
    """The configuration as plain values, every default of the method written out and files by full paths."""
    values = config.model_dump(mode="json")
    parameters = signature(METHODS[config.method.name]).parameters
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    options = check_options(config.method.name, config.method.options)
    values["method"] = {"name": config.method.name} | defaults | options
    values["space"]["name"] = full_name(config.space.name, SPACES)
    values["data"]["name"] = full_name(config.data.name, DATASETS)
    return {key: values[key] for key in (*NAMED, *(key for key in values if key not in NAMED))}


def full_name(name: str, known: Mapping[str, object]) -> str:
    """A name that is known as it is, that of a file as a full path."""
    return name if name in known else str(Path(name).resolve())


SEARCH = ConfigLoader(SearchConfig, RECIPES, "DARTBOARD_SEARCH_")
load_config, merge, validate = SEARCH.load, SEARCH.merge, SEARCH.validate


def recorded_config(values: Mapping[str, Any]) -> SearchConfig:
    """The configuration that a run or a record has on disk, as `resolved` wrote it.

    Every option of the method was written out, so one that is missing did not exist: it has the value that
    counted then, which need not be today's default.
    """
    config = SEARCH.validate(values)
    if config.method.name not in METHODS:
        return config
    options = options_before(config.method.name) | config.method.options
    method = MethodChoice.model_validate({"name": config.method.name} | options)
    return config.model_copy(update={"method": method})


Named = str | Path | Mapping[str, Any]
"""A name, the path of a file, or a group of settings such as `{"name": "nano", "cells": 3}`."""


def resolve_search(
    space: SearchSpace | Named | None,
    method: Method | Named | None,
    data: Dataset | Named | None,
    options: SearchOptions | None,
    *,
    recipe: str | None,
    run: Run | str | Path | None,
    settings: Mapping[str, Any],
) -> tuple[SearchParts, RunDirectory | None]:
    """The parts of a search, and the run directory to create or to resume; see `Searcher` for the arguments.

    Raises:
        DartboardError: If a name is unknown, a setting does not fit, or the directory cannot be used.
    """
    check_settings(options, recipe, settings)
    plain = not settings and recipe is None and not isinstance(run, str | Path)
    if plain and isinstance(space, SearchSpace) and isinstance(method, Method) and isinstance(data, Dataset):
        return SearchParts(space, method, data, options or SearchOptions()), None
    values = {"space": space, "method": method, "data": data}
    objects = {key for key, value in values.items() if isinstance(value, SearchSpace | Method | Dataset)}
    names = {key: value for key, value in values.items() if key not in objects and value is not None}
    base = {} if options is None else options.model_dump()
    config = SEARCH.load(recipe=recipe, base=base, flags={**settings, **path_names(names)})
    check_plugins(config.plugins)
    SCHEDULES[config.weights.schedule]  # fail fast on an unknown schedule
    chosen_space = space if isinstance(space, SearchSpace) else build_space(config.space)
    chosen_method = (
        method if isinstance(method, Method) else make_method(config.method.name, config.method.options)
    )
    directory = None
    if isinstance(run, str | Path):
        check_recordable({"method", "data"} & objects)
        recorded = config
        if "space" in objects:
            choice = config.space.model_copy(update={"name": recorded_name(chosen_space, Path(run))})
            recorded = config.model_copy(update={"space": choice})
        directory = RunDirectory(Path(run), resolved(recorded))
        directory.check(lambda values: resolved(recorded_config(values)))
    images = data if isinstance(data, Dataset) else ImageCache().images(config.data)
    return SearchParts(chosen_space, chosen_method, images, search_options(config)), directory


def check_settings(options: object, recipe: str | None, settings: Mapping[str, Any]) -> None:
    """Raises if there are both options and settings by name."""
    if options is not None and (settings or recipe is not None):
        names = ", ".join([*settings, *(["recipe"] if recipe is not None else [])])
        raise OptionError(f"options hold every setting; leave out either options or {names}")


def check_recordable(objects: set[str]) -> None:
    """Raises if something without a name would have to be recorded in a run directory."""
    for kind in sorted(objects):
        raise OptionError(
            f"a run directory records the {kind} by name, and an object has none; give the name (see "
            f"dartboard.register_{'dataset' if kind == 'data' else kind}), or leave out run"
        )


def path_names(names: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as settings: paths as text, groups as dictionaries."""
    return {
        key: str(value) if isinstance(value, Path) else dict(value) if isinstance(value, Mapping) else value
        for key, value in names.items()
    }


def recorded_name(space: SearchSpace, run: Path) -> str:
    """The name of a space in a configuration: that of the catalog, else the file in the run directory."""
    known = space.name in SPACES and get_space(space.name) == space
    return space.name if known else str((run / SPACE).resolve())
