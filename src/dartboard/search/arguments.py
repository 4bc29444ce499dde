"""From the arguments of a searcher, names or objects, to the parts of the search."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dartboard.data import Dataset
from dartboard.engine.run_directory import RunDirectory
from dartboard.engine.schedule import SCHEDULES
from dartboard.errors import OptionError
from dartboard.plugins import check_plugins
from dartboard.runs import SPACE, Run
from dartboard.search.config import (
    SEARCH,
    ImageCache,
    SearchConfig,
    SearchOptions,
    SearchParts,
    build_space,
    resolved,
    search_options,
)
from dartboard.search.method import Method, make_method
from dartboard.space import SPACES, SearchSpace, get_space

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
        directory = _run_directory(Path(run), config, chosen_space if "space" in objects else None)
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
    """The name of a space in a configuration: that of the catalogue, else the file in the run directory."""
    known = space.name in SPACES and get_space(space.name) == space
    return space.name if known else str((run / SPACE).resolve())


def _run_directory(path: Path, config: SearchConfig, space: SearchSpace | None) -> RunDirectory:
    """The directory of a run of these settings; `space` if it was given as an object."""
    if space is not None:
        choice = config.space.model_copy(update={"name": recorded_name(space, path)})
        config = config.model_copy(update={"space": choice})
    directory = RunDirectory(path, resolved(config))
    directory.check(lambda values: resolved(SEARCH.validate(values)))
    return directory
