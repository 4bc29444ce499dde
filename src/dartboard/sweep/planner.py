"""The planner of a sweep: which runs each of its stages has, given the results of the stages before it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dartboard.errors import DartboardError, OptionError, RunError
from dartboard.jobs.job import Job
from dartboard.jobs.loops import LoopBuilder, check_settings
from dartboard.runs import RunReader, is_run
from dartboard.search import Searcher
from dartboard.search.config import DataChoice
from dartboard.sweep.cells import CellSource, SweepCell, named_cells, source_of, stand_in, to_plain
from dartboard.sweep.config import StageConfig, SweepConfig
from dartboard.sweep.decision_log import ELSEWHERE, cells_key, check_rungs, dropped_in, read_cells
from dartboard.sweep.plan import PlannedRun, StagePlanner
from dartboard.sweep.protocol.decisions import Decisions
from dartboard.sweep.selection import finished, take
from dartboard.train import Trainer
from dartboard.train.build import VALID
from dartboard.utils.progress import Progress

ALIKE = ("seed", "weights", "checkpoint")
"""Settings by which runs that can be made do not differ from runs that cannot."""


@dataclass
class SweepPlanner:
    """Plans the runs of a sweep, stage by stage.

    Args:
        config: The sweep.
        folder: Its directory.
        plugins: Full paths of Python files that were loaded.
        progress: Reports how far the loading of images is.
        fall_back: Whether an older checkpoint will do where the last of a run is damaged.
        message: Called with what the user should know.
    """

    config: SweepConfig
    folder: Path
    plugins: tuple[str, ...] = ()
    progress: Progress | None = None
    fall_back: bool = False
    message: Callable[[str], None] = lambda _: None
    _cells: dict[str, list[SweepCell]] = field(default_factory=dict, init=False)
    _runs: dict[str, list[PlannedRun]] = field(default_factory=dict, init=False)
    _valid: dict[object, bool] = field(default_factory=dict, init=False)
    _builder: LoopBuilder = field(init=False)

    def __post_init__(self) -> None:
        if self.plugins:  # so that a resumed sweep says what it needs
            settings = {**self.config.settings, "plugins": list(self.plugins)}
            self.config = self.config.model_copy(update={"settings": settings})
        self.stages: Mapping[str, StageConfig] = self.config.parts
        self.decisions = Decisions(self.folder)
        self.release_images()

    def release_images(self) -> None:
        """Releases the images that were loaded to plan."""
        self._builder = LoopBuilder(torch.device("cpu"))
        self._builder.progress = self.progress

    def chooses(self, name: str) -> bool:
        """Whether the runs of a stage of trainings are compared with each other."""
        best = [source for other in self.stages if (source := self._source(other)) and source.best]
        own = self.stages[name]
        return own.do == "train" and bool(own.stop.after or any(source.stage == name for source in best))

    def _source(self, name: str) -> CellSource | None:
        return source_of(name, self.stages) if self.stages[name].do == "train" else None

    def plan(self, name: str) -> list[PlannedRun]:
        """The runs of a stage; the stages before it must have been planned and done.

        Raises:
            DartboardError: If one of them cannot be, or there is no cell to train.
        """
        self._cells[name] = self._decided(name)
        self._runs[name] = self._planned(name)
        self.release_images()
        return self._runs[name]

    def _planned(self, name: str) -> list[PlannedRun]:
        stage = self.stages[name]
        common = self.config.settings if self.config.stages else {}
        planner = StagePlanner(name, stage, common, self.chooses(name))
        if stage.do == "search":
            return planner.searches()
        return planner.trainings(self._cells[name], self._has_valid)

    def _has_valid(self, choice: DataChoice) -> bool:
        asked = choice.name, choice.size
        if asked not in self._valid:
            self._valid[asked] = self._builder.images(choice).valid is not None
        return self._valid[asked]

    def _decided(self, name: str) -> list[SweepCell]:
        """What a stage trains: decided once, when the stage before it is over."""
        source = self._source(name)
        if source is None:
            return []
        if source.stage is None:
            return _named(name, source)
        done = finished(self.folder, self._runs[source.stage])
        self.decisions.once(cells_key(name), lambda: self._choice(name, source, done))
        self._warn(name, source.stage, done)
        return self._kept(name, source) or []

    def _kept(self, name: str, source: CellSource) -> list[SweepCell] | None:
        """The cells that were taken from the stage before; None if none were yet.

        Raises:
            RunError: If that has other runs now, or others of its cells are asked for.
        """
        before = source.stage or ""
        taken, among = read_cells(self.decisions, name), [run.name for run in self._runs[before]]
        if taken is None:
            return None
        if sorted(taken.among) != sorted(among):
            new = min({*among} ^ {*taken.among})
            raise RunError(
                f"{name} has taken its cells from other runs of {before} already, {new} makes the "
                f"difference; {ELSEWHERE}"
            )
        if taken.best != source.best:
            raise RunError(
                f"{name} has taken {_how_many(taken.best)} of {before} already, so it cannot take "
                f"{_how_many(source.best)}; {ELSEWHERE}"
            )
        return list(taken.cells)

    def _warn(self, name: str, before: str, done: Mapping[str, RunReader]) -> None:
        """Says which runs have no part in the cells of a stage, though they are finished or may be yet."""
        taken = read_cells(self.decisions, name)
        dropped = dropped_in(self.decisions, before, self.stages[before].stop.after)
        among, before_it = ((), ()) if taken is None else (taken.among, taken.finished)
        for own in among:
            if own in done and own not in before_it:
                self.message(f"{name} took its cells before {own} was finished, and without it; {ELSEWHERE}")
            elif own not in done and own not in dropped:
                self.message(f"{name} takes its cells without {own}, which failed")

    def _choice(self, name: str, source: CellSource, done: Mapping[str, RunReader]) -> dict[str, Any]:
        before = source.stage or ""
        if not done:
            raise RunError(f"no run of {before} came to its end, so {name} has no cells; see its errors")
        runs = self._runs[before]
        cells = take(source, runs, self._cells[before], done)
        among = [run.name for run in runs]
        return {"best": source.best, "among": among, "finished": list(done), "cells": to_plain(cells)}

    def rehearse(self) -> dict[str, list[PlannedRun]]:
        """By stage, its runs, as far as they can be known now; each different kind of run has been made once.

        Cells that are not known yet have a random one in their place.

        Raises:
            DartboardError: If one of them cannot be made, is there with other settings, or makes a difference
                to what was decided.
        """
        return self._look(self._try_all)

    def check_again(self) -> dict[str, list[PlannedRun]]:
        """As `rehearse`, but nothing is built; for the driver, when it holds the lock of the sweep.

        Another driver may have made progress since the rehearsal.
        """
        self.decisions = Decisions(self.folder)
        return self._look(lambda runs: [self._is_there(run) for run in runs])

    def _look(self, check: Callable[[Sequence[PlannedRun]], object]) -> dict[str, list[PlannedRun]]:
        for name, stage in self.stages.items():
            self._cells[name] = self._imagined(name)
            self._runs[name] = self._planned(name)
            check_rungs(self.decisions, name, stage.stop, [run.name for run in self._runs[name]])
            check(self._runs[name])
        self.release_images()
        return dict(self._runs)

    def _imagined(self, name: str) -> list[SweepCell]:
        source = self._source(name)
        if source is None:
            return []
        if source.stage is None:
            return _named(name, source)
        if (kept := self._kept(name, source)) is not None:
            return kept
        if self.stages[source.stage].do == "train":
            return self._cells[source.stage]
        runs = self._runs[source.stage]
        kinds = {repr([run.config["space"], run.config["data"]]): run.config for run in runs}
        return [stand_in(config, number) for number, config in enumerate(kinds.values())]

    def _is_there(self, run: PlannedRun) -> bool:
        """Whether a run has been started; one that cannot be read is left to the job.

        Raises:
            RunError: If it has other settings.
        """
        path = self.folder / run.name
        if not is_run(path):
            return False
        try:
            found = RunReader.read(path)
        except (RunError, OSError):
            return True
        check_settings(self.job(run), found)
        return True

    def _try_all(self, runs: Sequence[PlannedRun]) -> None:
        """Makes each kind of run once that is not there yet; refuses those that are there and differ."""
        tried: set[str] = set()
        for run in runs:
            if self._is_there(run):
                continue
            kind = repr({key: value for key, value in run.config.items() if key not in ALIKE})
            if kind not in tried:
                tried.add(kind)
                self._try(run)

    def _try(self, run: PlannedRun) -> None:
        try:
            self._builder.build(run.kind, run.config, test=run.test)
        except DartboardError as error:
            raise OptionError(f"{run.name}: {error}") from None

    def examples(self, run: PlannedRun) -> int:
        """How many held-out images the epochs of a run are measured on."""
        loop = self._builder.build(run.kind, run.config, test=run.test)
        if isinstance(loop, Trainer):
            return len(loop.loaders.held_out[VALID])
        assert isinstance(loop, Searcher)  # noqa: S101
        return min(len(loop.loaders.valid), loop.options.health.examples)

    def job(self, run: PlannedRun, until: int | None = None) -> Job:
        """The job of a run."""
        return Job(
            run.name,
            str(self.folder.resolve()),
            run.kind,
            run.config,
            until,
            plugins=self.plugins,
            test=run.test,
            fall_back=self.fall_back,
            same_images=True,
        )


def _named(stage: str, source: CellSource) -> list[SweepCell]:
    try:
        return named_cells(source.names)
    except DartboardError as error:
        raise OptionError(f"{stage}: cells: {error}") from None


def _how_many(best: int | None) -> str:
    return "all cells" if best is None else f"the best {best}"
