"""The runs of one stage of a sweep: their names and their configurations."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dartboard.engine.config import SCHEDULES
from dartboard.errors import DartboardError, OptionError
from dartboard.plugins import check_plugins
from dartboard.runs import flat
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH, DataChoice, SearchConfig, check_names
from dartboard.space import SearchSpace, load_space
from dartboard.sweep.cells import SweepCell
from dartboard.sweep.config import StageConfig
from dartboard.sweep.grid import (
    CELL,
    FIRST,
    PlannedRun,
    Point,
    check_count,
    nested,
    overlaid,
    points,
    run_name,
)
from dartboard.train import config as train_config
from dartboard.train.build import SHARE
from dartboard.train.config import TRAIN, TrainConfig

SEED = "seed"
KNOWN = {
    "search": tuple(flat(SearchConfig().model_dump())),
    "train": tuple(flat(TrainConfig(cell="").model_dump())),
}
"""By kind of run, its settings by dotted name; methods have further ones."""
HasValid = Callable[[DataChoice], bool]
"""Returns True if a data set comes with validation images."""


@dataclass(frozen=True)
class StagePlanner:
    """Plans the runs of a stage.

    Args:
        name: Name of the stage.
        stage: Its configuration.
        common: The settings of all stages, by dotted name.
        selects: Whether networks are selected by its runs, so that these must not measure on test images.
        names: Format of the names of its runs; see `SweepPlanner`.
        spaces: Spaces by kind of run; see `SweepPlanner`.
    """

    name: str
    stage: StageConfig
    common: Mapping[str, Any]
    selects: bool = False
    names: str | None = None
    spaces: Mapping[str, SearchSpace] = field(default_factory=dict)
    _resolved: dict[str, dict[str, Any]] = field(default_factory=dict, init=False, compare=False)

    def searches(self) -> list[PlannedRun]:
        """The runs of a stage of searches.

        Raises:
            DartboardError: If one of them is impossible; says which.
        """
        if self.stage.cells:
            raise OptionError(f"{self.name}: searches find cells, and take none; leave out cells")
        runs = [
            self._plan("search", point, self._resolve_search)
            for point in points(self.stage.grid, self.stage.runs)
        ]
        return _distinct(runs)

    def trainings(self, cells: Iterable[SweepCell], has_valid: HasValid) -> list[PlannedRun]:
        """The runs of a stage of trainings of these cells.

        Raises:
            DartboardError: If one of them is impossible; says which.
        """
        cells, grid = list(cells), list(points(self.stage.grid, self.stage.runs))
        check_count(self.name, len(cells) * len(grid))
        runs = []
        for cell in cells:

            def resolve(settings: Point, cell: SweepCell = cell) -> dict[str, Any]:
                return self._resolve_training(cell, settings, has_valid)

            runs += [self._plan("train", point, resolve, cell.label) for point in grid]
        return _distinct(runs)

    def _layers(self, kind: str, settings: Point) -> list[Mapping[str, Any]]:
        recipes = (SEARCH if kind == "search" else TRAIN).recipes
        recipe = {} if self.stage.recipe is None else recipes[self.stage.recipe]()
        return [recipe, nested(overlaid(self.common, self.stage.settings, settings, self.stage.words))]

    def _resolve_search(self, settings: Point) -> dict[str, Any]:
        config = SEARCH.merge(self._layers("search", settings))
        self._check_names("search", config)
        return search_config.resolved(config)

    def _resolve_training(self, cell: SweepCell, settings: Point, has_valid: HasValid) -> dict[str, Any]:
        layers = [*self._layers("train", settings), {"cell": cell.text}]
        name = {key: value for key, value in cell.images.items() if key == "name"}
        config = TRAIN.merge([{"data": name}, *layers])
        if config.data.name == cell.images.get("name"):  # the images it was searched with, in their size
            config = TRAIN.merge([{"data": cell.images}, *layers])
        self._check_names("train", config)
        if self.selects:
            valid = has_valid(config.data)
            config = TRAIN.validate(hold_out(config.model_dump(), self.stage.stop.after, has_valid=valid))
        home = config.space.name or cell.space
        stack = cell.stack
        if "train" in self.spaces or config.space.name is not None:
            stack = (self.spaces.get("train") or load_space(home)).stack.cells
        return train_config.resolved(config, home, config.net.cells or stack)

    def _check_names(self, kind: str, config: SearchConfig | TrainConfig) -> None:
        """Fails fast on an unknown plugin, space, data set or schedule.

        Raises:
            DartboardError: Says what is unknown, and what may be meant.
        """
        check_plugins(config.plugins)  # first, for they register names
        check_names(None if kind in self.spaces else config.space.name, config.data.name)
        SCHEDULES[config.weights.schedule]

    def _plan(
        self, kind: str, point: Point, resolve: Callable[[Point], dict[str, Any]], label: str = ""
    ) -> PlannedRun:
        """The run of a point, named by its resolved values, however they are spelled in the sweep.

        Its configuration is resolved once for all seeds.

        Args:
            kind: `search` or `train`.
            point: The point of the grid.
            resolve: From settings without a seed to a whole configuration.
            label: That of the cell of a training.

        Raises:
            OptionError: If the configuration is impossible; says of which point.
        """
        settings = {name: value for name, value in point.items() if name != SEED}
        try:
            values = self._resolved.get(label + repr(settings)) or resolve(settings)
            self._resolved[label + repr(settings)] = values
            if SEED in point:
                loader = SEARCH if kind == "search" else TRAIN
                values = values | {SEED: loader.validate(values | {SEED: point[SEED]}).seed}
        except DartboardError as error:
            named = re.split("[=:]", str(error))[0]  # an error that begins with a setting needs it once
            words = " ".join(f"{name}={value}" for name, value in point.items() if name != named)
            raise OptionError(f"{self.name}: {words + ': ' if words else ''}{error}") from error
        first = {"method.name": values["method"]["name"]} if kind == "search" else {CELL: label}
        known = flat(values)
        resolved = {name: known.get(name, value) for name, value in settings.items()}
        if self.names is None:
            name = f"{self.name}/{run_name({**resolved, **first}, values[SEED], KNOWN[kind])}"
        else:
            name = self.names.format(cell=label, seed=values[SEED])
        beyond = [epoch for epoch in self.stage.stop.after if epoch >= values["epochs"]]
        if beyond:
            run = f"{name.rpartition('/')[2]} has {values['epochs']} epochs"
            words = f"{run}, so nothing can stop after {beyond[0]}"
            raise OptionError(f"{self.name}: stop.after: {words}; set an earlier one, or more epochs")
        varied = first | {key: settings[key] if key in FIRST else value for key, value in resolved.items()}
        return PlannedRun(self.name, name, kind, values, varied, not self.selects)


def _distinct(runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """The runs; refuses two that are the same, or have the same name."""
    by_name: dict[str, PlannedRun] = {}
    by_config: dict[str, str] = {}
    for run in runs:
        if run.name in by_name and by_name[run.name].config != run.config:
            raise OptionError(f"two different runs would be called {run.name}; give them to two stages")
        if run.name in by_name:
            raise OptionError(f"{run.name} would be there twice; leave out one of the two runs")
        first = by_config.setdefault(f"{run.varied.get(CELL)} {run.config}", run.name)
        if first != run.name:
            raise OptionError(f"{first} and {run.name} are the same run; leave out one of them")
        by_name[run.name] = run
    return list(by_name.values())


def hold_out(values: Mapping[str, Any], epochs: Iterable[int], *, has_valid: bool) -> dict[str, Any]:
    """Settings of a training by which networks are selected: it holds out images, and measures on them.

    It measures after each of these epochs; training images are held out if there are no validation images.
    """
    data, evaluation = values["data"], values["evaluation"]
    valid = data["valid"] or (None if has_valid else SHARE)
    every = math.gcd(evaluation["every"], *epochs)
    return {**values, "data": {**data, "valid": valid}, "evaluation": {**evaluation, "every": every}}
