"""From the arguments of a trainer, names or objects, to the parts of the training."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dartboard.config.loader import merge_layers
from dartboard.data import Dataset
from dartboard.engine.schedule import SCHEDULES
from dartboard.plugins import check_plugins
from dartboard.runs import Run, RunReader
from dartboard.runs.lookup import data_of_run, find_genotype, home_of, space_name, space_of_run
from dartboard.runs.store import RunDirectory
from dartboard.search.config import (
    Named,
    check_recordable,
    check_settings,
    path_names,
    recorded_name,
)
from dartboard.search.record import SearchResult
from dartboard.space import GENOTYPE_FORMATS, Genotype, SearchSpace, adopt, decode, load_space
from dartboard.train.config import (
    TRAIN,
    TrainConfig,
    TrainOptions,
    TrainParts,
    build,
    resolved,
    train_options,
)

CellArgument = SearchSpace | Genotype | SearchResult | RunReader | str | Path
"""Cells to train: as a discrete space, a genotype, what a search has found, or a text for one of them."""


def load_config(
    cell: CellArgument,
    *,
    recipe: str | None = None,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    words: Iterable[str] = (),
) -> tuple[TrainConfig, SearchSpace]:
    """The settings of a training, and the space whose stack the cells go into.

    The cell of a search is trained on the images of the search, in the size that they had there, unless other
    images are named.

    Args:
        cell: A discrete space, a genotype, a result, or the text for a run, a file, a published cell or a
            genotype.
        recipe: As for `ConfigLoader.load`, like all that follow.
        file: A YAML file.
        environment: Environment variables.
        flags: Values by key.
        words: Each `key=value`.

    Raises:
        DartboardError: If there is no such cell, recipe or setting.
    """
    genotype, space, place = _find_cell(cell)
    layer = {"cell": GENOTYPE_FORMATS["json"].encode(genotype), **(flags or {})}
    load = partial(
        TRAIN.load, recipe=recipe, file=file, environment=environment, flags=layer, words=list(words)
    )
    data = data_of_run(place) if place else {}
    config = load(base={"data": {key: value for key, value in data.items() if key == "name"}})
    if config.data.name == data.get("name"):
        config = load(base={"data": data})
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
) -> tuple[TrainParts, RunDirectory | None]:
    """The parts of a training, and the run directory to create or to resume; see `Trainer` for the arguments.

    Raises:
        DartboardError: If a name is unknown, a setting does not fit, or the directory cannot be used.
    """
    check_settings(options, recipe, settings)
    plain = not settings and recipe is None and not isinstance(run, str | Path)
    if plain and isinstance(cell, SearchSpace) and isinstance(data, Dataset):
        return TrainParts(cell, data, options or TrainOptions(), {}), None
    settings = dict(settings)
    named = {} if data is None or isinstance(data, Dataset) else {"data": data}
    stack = settings.pop("space", None)
    if stack is not None and not isinstance(stack, SearchSpace):
        named["space"] = stack
    layers = [{} if options is None else options.model_dump(), settings, path_names(named)]
    flags = merge_layers([TRAIN.normalize(layer) for layer in layers])
    config, space = load_config(cell, recipe=recipe, flags=flags)
    space = stack if isinstance(stack, SearchSpace) else space
    check_plugins(config.plugins)
    SCHEDULES[config.weights.schedule]  # fail fast on an unknown schedule
    directory = None
    if isinstance(run, str | Path):
        check_recordable({"data"} if isinstance(data, Dataset) else set())
        place = "" if isinstance(stack, SearchSpace) else _find_cell(cell)[2]
        directory = _run_directory(Path(run), config, space, place)
    if isinstance(data, Dataset):
        cells = adopt(space, decode(config.cell))
        return TrainParts(cells, data, train_options(config), {}), directory
    return build(config, space), directory


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
