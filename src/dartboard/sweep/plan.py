"""From the stages of a sweep to its runs: the name and the whole configuration of each."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dartboard.data import DATASETS, load_dataset
from dartboard.engine.schedule import SCHEDULES
from dartboard.errors import DartboardError, OptionError
from dartboard.plugins import check_plugins
from dartboard.runs import flat
from dartboard.search import config as search_config
from dartboard.search.config import SEARCH, DataChoice, SearchConfig
from dartboard.space import SPACES, load_space
from dartboard.sweep.cells import GUESS, SweepCell
from dartboard.sweep.config import StageConfig
from dartboard.sweep.grid import CELL, FIRST, Point, check_count, name_of, nested, overlaid, points
from dartboard.train import config as train_config
from dartboard.train.build import SHARE
from dartboard.train.config import TRAIN, TrainConfig

SEED = "seed"
KNOWN = {
    "search": tuple(flat(SearchConfig().model_dump())),
    "train": tuple(flat(TrainConfig(cell="").model_dump())),
}
"""By kind of run, its settings by dotted name; methods have others besides."""
HasValid = Callable[[DataChoice], bool]


@dataclass(frozen=True)
class PlannedRun:
    """A run of a sweep.

    Args:
        stage: The stage that it belongs to.
        name: Its directory inside the sweep's.
        kind: `search` or `train`.
        config: All that it does, as plain values.
        varied: What it has of its own, by dotted name, but for its seed.
        test: Whether test images may be measured on.
    """

    stage: str
    name: str
    kind: str
    config: dict[str, Any]
    varied: dict[str, Any]
    test: bool = True

    @property
    def seed(self) -> int:
        """Where its chance starts."""
        return int(self.config[SEED])

    @property
    def is_guess(self) -> bool:
        """Whether its cell stands for one that is not found yet."""
        return str(self.varied.get(CELL, "")).startswith(GUESS)


@dataclass(frozen=True)
class StagePlanner:
    """Makes the runs of a stage.

    Args:
        name: Of the stage.
        stage: What it says.
        common: The settings of all stages, by dotted name.
        chooses: Whether runs are compared with each other, so that test images must not be looked at.
    """

    name: str
    stage: StageConfig
    common: Mapping[str, Any]
    chooses: bool = False
    _known: dict[str, dict[str, Any]] = field(default_factory=dict, init=False, compare=False)

    def searches(self) -> list[PlannedRun]:
        """The runs of a stage of searches.

        Raises:
            DartboardError: If one of them cannot be; says which.
        """
        if self.stage.cells:
            raise OptionError(f"{self.name}: searches find cells, and take none; leave out cells")
        return self._distinct(self._search(point) for point in self._points())

    def trainings(self, cells: Iterable[SweepCell], has_valid: HasValid) -> list[PlannedRun]:
        """The runs of a stage of trainings.

        Args:
            cells: What is trained.
            has_valid: Says whether images have some among them that their source sets apart to choose with.

        Raises:
            DartboardError: If one of them cannot be; says which.
        """
        cells, own = list(cells), self._points()
        check_count(self.name, len(cells) * len(own))
        return self._distinct(self._training(cell, point, has_valid) for cell in cells for point in own)

    def _points(self) -> list[Point]:
        return list(points(self.stage.grid, self.stage.runs))

    def _layers(self, kind: str, point: Point) -> list[Mapping[str, Any]]:
        recipes = (SEARCH if kind == "search" else TRAIN).recipes
        recipe = {} if self.stage.recipe is None else recipes[self.stage.recipe]()
        own = overlaid(self.common, self.stage.settings, point, self.stage.words)
        return [recipe, nested(own)]

    def _search(self, point: Point) -> PlannedRun:
        values = self._seeded("search", point, "", self._resolved_search)
        return self._planned("search", values, {"method.name": values["method"]["name"]}, _rest(point))

    def _resolved_search(self, rest: Point) -> dict[str, Any]:
        config = SEARCH.merge(self._layers("search", rest))
        check_plugins(config.plugins)  # or what they register is not known
        check_names(config.space.name, config.data.name)
        SCHEDULES[config.weights.schedule]  # a wrong name is better known before the first run
        return search_config.resolved(config)

    def _training(self, cell: SweepCell, point: Point, has_valid: HasValid) -> PlannedRun:
        values = self._seeded(
            "train", point, cell.label, lambda rest: self._resolved_training(cell, rest, has_valid)
        )
        return self._planned("train", values, {CELL: cell.label}, _rest(point))

    def _resolved_training(self, cell: SweepCell, rest: Point, has_valid: HasValid) -> dict[str, Any]:
        config = _with_images(cell, [*self._layers("train", rest), {"cell": cell.text}])
        check_plugins(config.plugins)
        check_names(config.space.name, config.data.name)
        SCHEDULES[config.weights.schedule]
        if self.chooses:
            config = choosing(config, self.stage.stop.after, has_valid(config.data))
        home = config.space.name or cell.space
        stack = cell.stack if config.space.name is None else load_space(home).stack.cells
        return train_config.resolved(config, home, config.net.cells or stack)

    def _seeded(
        self, kind: str, point: Point, label: str, resolve: Callable[[Point], dict[str, Any]]
    ) -> dict[str, Any]:
        """A configuration with its seed; runs that differ in their seeds alone share all else.

        Raises:
            OptionError: If it cannot be; says of which point.
        """
        rest = _rest(point)
        try:
            values = self._known.get(label + repr(rest)) or resolve(rest)
            self._known[label + repr(rest)] = values
            if SEED not in point:
                return values
            form = SEARCH if kind == "search" else TRAIN
            return values | {SEED: form.validate(values | {SEED: point[SEED]}).seed}
        except DartboardError as error:
            raise OptionError(f"{self.name}: {_words(point, str(error))}{error}") from None

    def _planned(self, kind: str, values: dict[str, Any], first: Point, rest: Point) -> PlannedRun:
        """A run; what it varies is told by the values it has, however they were spelt."""
        known = flat(values)
        found = {name: known.get(name, own) for name, own in rest.items()}
        name = name_of({**found, **first}, values[SEED], KNOWN[kind])
        self._check_stop(name, values)
        varied = first | {own: rest[own] if own in FIRST else value for own, value in found.items()}
        return PlannedRun(self.name, f"{self.name}/{name}", kind, values, varied, not self.chooses)

    def _check_stop(self, name: str, values: Mapping[str, Any]) -> None:
        late = [epoch for epoch in self.stage.stop.after if epoch >= values["epochs"]]
        if late:
            words = f"{name} has {values['epochs']} epochs, so nothing can stop after {late[0]}"
            raise OptionError(f"{self.name}: stop.after: {words}; set an earlier one, or more epochs")

    def _distinct(self, runs: Iterable[PlannedRun]) -> list[PlannedRun]:
        """Runs of which no two are the same, or called the same."""
        found: dict[str, PlannedRun] = {}
        names: dict[str, str] = {}
        for run in runs:
            if run.name in found and found[run.name].config != run.config:
                raise OptionError(f"two different runs would be called {run.name}; give them to two stages")
            if run.name in found:
                raise OptionError(f"{run.name} would be there twice; leave out one of the two runs")
            other = names.setdefault(f"{run.varied.get(CELL)} {run.config}", run.name)
            if other != run.name:
                raise OptionError(f"{other} and {run.name} are the same run; leave out one of them")
            found[run.name] = run
        return list(found.values())


def check_names(space: str | None, data: str) -> None:
    """Refuses names that are neither known nor those of files; later they would be taken for files.

    Raises:
        DartboardError: With the name that was meant, perhaps.
    """
    if space is not None and space not in SPACES:
        load_space(space)
    if data not in DATASETS and not Path(data).exists():
        load_dataset(data)


def _rest(point: Point) -> Point:
    """A point without its seed."""
    return {name: value for name, value in point.items() if name != SEED}


def _words(point: Point, error: str) -> str:
    """The settings of a point, to begin an error with; but for the one that the error begins with itself."""
    named = re.split("[=:]", error)[0]
    words = [f"{name}={value}" for name, value in point.items() if name != named]
    return " ".join(words) + ": " if words else ""


def _with_images(cell: SweepCell, layers: Sequence[Mapping[str, Any]]) -> TrainConfig:
    """The images that a cell was searched with, in their size, unless others are named."""
    name = {key: value for key, value in cell.images.items() if key == "name"}
    config = TRAIN.merge([{"data": name}, *layers])
    same = config.data.name == cell.images.get("name")
    return TRAIN.merge([{"data": cell.images}, *layers]) if same else config


def choosing(config: TrainConfig, after: Sequence[int], has_valid: bool) -> TrainConfig:
    """A training that networks are chosen by: some images are held out, and measured on when it matters.

    Args:
        config: The training.
        after: Epochs after which networks are compared.
        has_valid: Whether its data set has validation images of its own.
    """
    values = config.model_dump()
    values["data"]["valid"] = config.data.valid or (None if has_valid else SHARE)
    values["evaluation"]["every"] = math.gcd(config.evaluation.every, *after)
    return TRAIN.validate(values)
