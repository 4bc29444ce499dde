"""The course of a sweep: which runs each of its stages has, by what the stages before it came to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from dartboard.data.loading import Progress
from dartboard.errors import DartboardError, OptionError, RunError
from dartboard.runs import Reading, is_run
from dartboard.scale.cells import (
    FoundCell,
    Source,
    best_of,
    found_cells,
    held_out_accuracy,
    named_cells,
    source_of,
    stand_in,
    to_plain,
)
from dartboard.scale.config import Stage, SweepConfig
from dartboard.scale.jobs import Job
from dartboard.scale.loops import Maker
from dartboard.scale.plan import Planned, Planner
from dartboard.scale.points import CELL
from dartboard.scale.work import check_same
from dartboard.search import Searcher
from dartboard.search.config import DataChoice
from dartboard.train import Trainer
from dartboard.train.build import VALID
from dartboard.train.protocol.decisions import Decisions

ALIKE = ("seed", "weights", "checkpoint")
"""Settings by which runs that can be made do not differ from runs that cannot."""


@dataclass
class Course:
    """Says which runs there are, stage by stage.

    Args:
        config: The sweep.
        folder: Its directory.
        plugins: Full paths of Python files that were loaded.
        progress: Is told how far the loading of images is.
    """

    config: SweepConfig
    folder: Path
    plugins: tuple[str, ...] = ()
    progress: Progress | None = None
    _cells: dict[str, list[FoundCell]] = field(default_factory=dict, init=False)
    _runs: dict[str, list[Planned]] = field(default_factory=dict, init=False)
    _valid: dict[object, bool] = field(default_factory=dict, init=False)
    _maker: Maker = field(init=False)

    def __post_init__(self) -> None:
        if self.plugins:  # so that whoever goes on is told what is needed
            settings = {**self.config.settings, "plugins": list(self.plugins)}
            self.config = self.config.model_copy(update={"settings": settings})
        self.stages: Mapping[str, Stage] = self.config.parts
        self.decisions = Decisions(self.folder)
        self.rest()

    def rest(self) -> None:
        """Lets go of images."""
        self._maker = Maker(torch.device("cpu"))
        self._maker.progress = self.progress

    def chooses(self, name: str) -> bool:
        """Whether the runs of a stage of trainings are compared with each other."""
        best = [source for other in self.stages if (source := self._source(other)) and source.best]
        own = self.stages[name]
        return own.do == "train" and bool(own.stop.after or any(source.stage == name for source in best))

    def _source(self, name: str) -> Source | None:
        return source_of(name, self.stages) if self.stages[name].do == "train" else None

    def plan(self, name: str) -> list[Planned]:
        """The runs of a stage; the stages before it must have been planned and done.

        Raises:
            DartboardError: If one of them cannot be, or there is no cell to train.
        """
        self._cells[name] = self._decided(name)
        self._runs[name] = self._planned(name)
        return self._runs[name]

    def _planned(self, name: str) -> list[Planned]:
        stage = self.stages[name]
        common = self.config.settings if self.config.stages else {}
        planner = Planner(name, stage, common, self.chooses(name))
        if stage.do == "search":
            return planner.searches()
        return planner.trainings(self._cells[name], self._has_valid)

    def _has_valid(self, choice: DataChoice) -> bool:
        asked = choice.name, choice.size
        if asked not in self._valid:
            self._valid[asked] = self._maker.images(choice).valid is not None
        return self._valid[asked]

    def _decided(self, name: str) -> list[FoundCell]:
        """What a stage trains: decided once, when the stage before it is over."""
        source = self._source(name)
        if source is None:
            return []
        if source.stage is None:
            return _named(name, source)
        among = [run.name for run in self._runs[source.stage]]
        decide = {"among": among, "cells": []}
        taken = self.decisions.once(
            f"cells of {name}", lambda: decide | {"cells": to_plain(self._take(source, source.stage or ""))}
        )
        if sorted(taken["among"]) != sorted(among):
            new = min({*among} ^ {*taken["among"]})
            raise RunError(
                f"{name} has taken its cells from other runs of {source.stage} already, {new} makes the "
                "difference; name another directory with --out"
            )
        return [FoundCell(**own) for own in taken["cells"]]

    def _take(self, source: Source, stage: str) -> list[FoundCell]:
        runs = {
            run.name: Reading.read(self.folder / run.name) for run in self._runs[stage] if self._done(run)
        }
        if not runs:
            raise RunError(f"no run of {stage} came to its end, so it has no cells; see its errors")
        cells = found_cells(runs) if self.stages[stage].do == "search" else self._cells[stage]
        if source.best is None:
            return cells
        scores: dict[str, list[float]] = {cell.label: [] for cell in cells}
        for cell in cells:
            finders = cell.runs if self.stages[stage].do == "search" else self._trainings(stage, cell)
            found = [held_out_accuracy(runs[name]) for name in finders if name in runs]
            scores[cell.label] = [own for own in found if own is not None]
        best = best_of(scores, source.best, stage)
        return [next(cell for cell in cells if cell.label == label) for label in best]

    def _trainings(self, stage: str, cell: FoundCell) -> list[str]:
        return [run.name for run in self._runs[stage] if run.varied[CELL] == cell.label]

    def _done(self, run: Planned) -> bool:
        path = self.folder / run.name
        return is_run(path) and Reading.read(path).result() is not None

    def rehearse(self) -> dict[str, list[Planned]]:
        """By stage, its runs, as far as they can be known now; each different kind of run has been made once.

        Cells that are not known yet have a random one in their place.

        Raises:
            DartboardError: If one of them cannot be made, or is there with other settings.
        """
        found: dict[str, list[Planned]] = {}
        for name in self.stages:
            self._cells[name] = self._imagined(name, found)
            found[name] = self._planned(name)
            self._try_all(found[name])
        self.rest()
        return found

    def _imagined(self, name: str, found: Mapping[str, Sequence[Planned]]) -> list[FoundCell]:
        source = self._source(name)
        if source is None:
            return []
        if source.stage is None:
            return _named(name, source)
        if self.stages[source.stage].do == "train":
            return self._cells[source.stage]
        kinds = {repr([run.config["space"], run.config["data"]]): run.config for run in found[source.stage]}
        return [stand_in(config, f"any-{number}") for number, config in enumerate(kinds.values())]

    def _try_all(self, runs: Sequence[Planned]) -> None:
        """Makes each kind of run once that is not there yet; refuses those that are there and differ."""
        tried: set[str] = set()
        for run in runs:
            path = self.folder / run.name
            if is_run(path):
                check_same(self.job(run), Reading.read(path))
                continue
            kind = repr({key: value for key, value in run.config.items() if key not in ALIKE})
            if kind not in tried:
                tried.add(kind)
                self._try(run)

    def _try(self, run: Planned) -> None:
        try:
            self._maker.make(run.kind, run.config, test=run.test)
        except DartboardError as error:
            raise OptionError(f"{run.name}: {error}") from None

    def examples(self, run: Planned) -> int:
        """How many held-out images the epochs of a run are measured on."""
        loop = self._maker.make(run.kind, run.config, test=run.test)
        if isinstance(loop, Trainer):
            return len(loop.supply.held_out[VALID])
        assert isinstance(loop, Searcher)  # noqa: S101
        return min(len(loop.supply.valid), loop.options.health.examples)

    def job(self, run: Planned, until: int | None = None) -> Job:
        """A run as something that an executor does."""
        folder = str(self.folder.resolve())
        return Job(run.name, folder, run.kind, run.config, until, plugins=self.plugins, test=run.test)


def _named(stage: str, source: Source) -> list[FoundCell]:
    try:
        return named_cells(source.names)
    except DartboardError as error:
        raise OptionError(f"{stage}: cells: {error}") from None
