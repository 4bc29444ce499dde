"""The planner of a sweep: the runs of each stage, and the cells that they take."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from dartboard.errors import DartboardError, OptionError, RunError
from dartboard.jobs.job import Job
from dartboard.jobs.loops import LoopBuilder, check_settings
from dartboard.runs import RunReader, is_run
from dartboard.search import Searcher
from dartboard.search.config import DataChoice, SpaceChoice, build_space
from dartboard.space import SearchSpace, space_to_json
from dartboard.sweep.cells import (
    CellSource,
    SweepCell,
    cell_source,
    finished_runs,
    images_of,
    named_cells,
    placeholder_cell,
    searched_stage,
    select_cells,
)
from dartboard.sweep.config import StageConfig, SweepConfig
from dartboard.sweep.decision_log import (
    ELSEWHERE,
    DecisionLog,
    budget_key,
    cells_key,
    check_rungs,
    pruned_runs,
    read_budget,
    read_cells,
)
from dartboard.sweep.grid import CELL, PlannedRun
from dartboard.sweep.random_cells import Budget, random_cells, seconds_of
from dartboard.sweep.stage_plan import StagePlanner
from dartboard.train import Trainer
from dartboard.train.build import VALID
from dartboard.utils.progress import Progress
from dartboard.utils.statistics import affordable

NOT_BUILT = ("seed", "weights", "checkpoint")
"""Settings that make no difference to whether a run can be built."""


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
        names: By stage, the format of the names of its runs, with their `cell` and `seed`, such as
            `train/{cell}`; by default the name of the stage and the settings that vary.
        spaces: By kind of run, `search` or `train`, the space in the place of the one that is named.
        builder: Builds loops, if others share its images; then runs compute on its device, too.
        same_images: Whether all runs that name the same images must see the same.
    """

    config: SweepConfig
    folder: Path
    plugins: tuple[str, ...] = ()
    progress: Progress | None = None
    fall_back: bool = False
    message: Callable[[str], None] = lambda _: None
    names: Mapping[str, str] = field(default_factory=dict)
    spaces: Mapping[str, SearchSpace] = field(default_factory=dict)
    builder: LoopBuilder | None = None
    same_images: bool = True
    _cells: dict[str, list[SweepCell]] = field(default_factory=dict, init=False)
    _runs: dict[str, list[PlannedRun]] = field(default_factory=dict, init=False)
    _valid: dict[object, bool] = field(default_factory=dict, init=False)
    _builder: LoopBuilder = field(init=False)

    def __post_init__(self) -> None:
        if self.plugins:  # so that a resumed sweep loads them, too
            settings = {**self.config.settings, "plugins": list(self.plugins)}
            self.config = self.config.model_copy(update={"settings": settings})
        self.stages: Mapping[str, StageConfig] = self.config.parts
        self.log = DecisionLog(self.folder)
        self.release_images()

    def release_images(self) -> None:
        """Releases the images that were loaded to plan, unless others share them."""
        self._builder = self.builder or LoopBuilder(torch.device("cpu"))
        self._builder.progress = self.progress

    def _source(self, name: str) -> CellSource | None:
        """Where the cells of a stage come from; None for a stage of searches.

        Raises:
            OptionError: If it has none, or has a seed of random cells and draws none.
        """
        source = cell_source(name, self.stages) if self.stages[name].do == "train" else None
        if self.stages[name].cells_seed and (source is None or source.random is None):
            raise OptionError(f"{name}: cells_seed: it has no random cells to draw; leave it out")
        return source

    def selects(self, name: str) -> bool:
        """True if a stage trains, and networks are selected by its runs."""
        sources = [source for stage in self.stages if (source := self._source(stage)) and source.best]
        stage = self.stages[name]
        return stage.do == "train" and bool(
            stage.stop.after or any(source.stage == name for source in sources)
        )

    def plan(self, name: str) -> list[PlannedRun]:
        """The runs of a stage; the stages before it must have been planned and run.

        Raises:
            DartboardError: If one of them is impossible, or there is no cell to train.
        """
        source = self._source(name)
        if source is not None and source.stage is not None:
            self._decide_cells(name, source, source.stage)
        self._plan_stage(name)
        self.release_images()
        return self._runs[name]

    def _plan_stage(self, name: str) -> None:
        """Plans the runs of a stage, with the cells that are known by now."""
        self._cells[name] = self._known_cells(name)
        stage, common = self.stages[name], self.config.settings if self.config.stages else {}
        planner = StagePlanner(name, stage, common, self.selects(name), self.names.get(name), self.spaces)
        if stage.do == "search":
            self._runs[name] = planner.searches()
        else:
            self._runs[name] = planner.trainings(self._cells[name], self._has_valid)

    def _has_valid(self, choice: DataChoice) -> bool:
        key = choice.name, choice.size
        if key not in self._valid:
            self._valid[key] = self._builder.images(choice).valid is not None
        return self._valid[key]

    def _known_cells(self, name: str) -> list[SweepCell]:
        """The cells of a stage as far as they are known, with placeholders for the others.

        Raises:
            RunError: If the stage before has other runs than when its cells were taken, or others of its
                cells are asked for.
        """
        source = self._source(name)
        if source is None:
            return []
        if source.stage is None:
            try:
                return named_cells(source.names)
            except DartboardError as error:
                raise OptionError(f"{name}: cells: {error}") from None
        before, runs = source.stage, self._runs[source.stage]
        decision = read_cells(self.log, name)
        if decision is None and source.random is None and self.stages[before].do == "train":
            return self._cells[before]
        if decision is None:
            searches = self._searches(name, source)
            return [
                placeholder_cell(config, self._searched_space(config), number)
                for number, config in enumerate(searches)
            ]
        among = [run.name for run in runs]
        if sorted(decision.among) != sorted(among):
            changed = min({*among} ^ {*decision.among})
            raise RunError(
                f"{name} has taken its cells from other runs of {before} already, {changed} makes the "
                f"difference; {ELSEWHERE}"
            )
        if decision.taken != source.describe():
            raise RunError(
                f"{name} has taken {decision.taken} of {before} already, so it cannot take "
                f"{source.describe()}; {ELSEWHERE}"
            )
        return list(decision.cells)

    def _decide_cells(self, name: str, source: CellSource, before: str) -> None:
        """Decides once which cells a stage takes of the one before it, which is over.

        Says which runs they leave out, though they are finished or failed.
        """
        runs = self._runs[before]
        finished = finished_runs(self.folder, runs)

        def decide() -> dict[str, Any]:
            if not finished:
                raise RunError(f"no run of {before} came to its end, so {name} has no cells; see its errors")
            if source.random is None:
                cells = select_cells(source, runs, self._cells[before], finished)
            else:
                size = self._budget(name, source).networks if source.random == "time" else source.random
                searches = self._searches(name, source)
                cells = random_cells(searches, self._searched_space, size, source.seed)
            drawn = {} if source.random is None else {"random": source.random, "seed": source.seed}
            among = [run.name for run in runs]
            taken = {"among": among, "finished": list(finished), "cells": [asdict(cell) for cell in cells]}
            return {"best": source.best, **drawn, **taken}

        self.log.once(cells_key(name), decide)
        decision = read_cells(self.log, name)
        assert decision is not None  # noqa: S101  # it was just made
        if source.random is not None:
            return
        pruned = pruned_runs(self.log, before, self.stages[before].stop.after)
        for run in decision.among:
            if run in finished and run not in decision.finished:
                self.message(f"{name} took its cells before {run} was finished, and without it; {ELSEWHERE}")
            elif run not in finished and run not in pruned:
                self.message(f"{name} takes its cells without {run}, which failed")

    def _searches(self, name: str, source: CellSource) -> list[dict[str, Any]]:
        """Configurations of the searches that a stage takes cells of: one for each space and set of images.

        Raises:
            OptionError: If there are several, which have no time in common that random cells could take.
        """
        runs = self._runs[searched_stage(source, self.stages) or ""]
        kinds = {repr([run.config["space"], images_of(run.config)]): run.config for run in runs}
        if source.random == "time" and len(kinds) > 1:
            cells = self.stages[name].cells
            raise OptionError(f"{name}: cells: {cells}: expected searches of one space on the same images")
        return list(kinds.values())

    def _searched_space(self, config: Mapping[str, Any]) -> SearchSpace:
        """The space of a search."""
        return self.spaces.get("search") or build_space(SpaceChoice.model_validate(config["space"]))

    def _budget(self, name: str, source: CellSource) -> Budget:
        """The time that random cells of a stage may take: that of the searches and trainings of another's.

        It pays for as many as the other stage trains, and for as many more as the searches took time for.
        """
        trained, searched = source.stage or "", searched_stage(source, self.stages) or ""

        def decide() -> dict[str, Any]:
            searches = finished_runs(self.folder, self._runs[searched])
            search_seconds = sum(seconds_of(run, None) or 0.0 for run in searches.values())
            first_rung = next(iter(self.stages[trained].stop.after), None)
            costs: dict[str, float] = defaultdict(float)
            for run in self._runs[trained]:
                path = self.folder / run.name
                seconds = seconds_of(RunReader.read(path), first_rung) if is_run(path) else None
                if seconds is not None:
                    costs[run.varied[CELL]] += seconds
            more = affordable(search_seconds, list(costs.values()))
            self.message(f"{search_seconds:.0f} s of searching pay for {more} more random networks")
            budget = Budget(search_seconds, list(costs.values()), len(self._cells[trained]) + more)
            return asdict(budget)

        self.log.once(budget_key(name), decide)
        budget = read_budget(self.log, name)
        assert budget is not None  # noqa: S101  # it was just decided
        return budget

    def rehearse(self, *, build: bool = True) -> dict[str, list[PlannedRun]]:
        """By stage, its runs, as far as they are known now.

        Cells that are not known yet have a random one in their place.

        Args:
            build: Whether each different kind of run is built once, to see that it can be; not when the sweep
                holds its lock and looks for progress that another process has made since.

        Raises:
            DartboardError: If one of them cannot be built, exists with other settings, or makes a difference
                to what was decided.
        """
        self.log = DecisionLog(self.folder)
        built: set[str] = set()
        for name, stage in self.stages.items():
            self._plan_stage(name)
            check_rungs(self.log, name, stage.stop, [run.name for run in self._runs[name]])
            for run in self._runs[name]:
                if self._exists(run) or not build:
                    continue
                values = {key: value for key, value in run.config.items() if key not in NOT_BUILT}
                kind = repr([values, run.test])
                if kind in built:
                    continue
                built.add(kind)
                try:
                    self._builder.build_job(self.job(run))
                except DartboardError as error:
                    raise OptionError(f"{run.name}: {error}") from error
        self.release_images()
        return dict(self._runs)

    def _exists(self, run: PlannedRun) -> bool:
        """True if a run has been started, even if it cannot be read, which is left to its job.

        Raises:
            RunError: If it has other settings.
        """
        path = self.folder / run.name
        if not is_run(path):
            return False
        try:
            reader = RunReader.read(path)
        except (RunError, OSError):
            return True
        check_settings(self.job(run), reader)
        return True

    def examples(self, job: Job) -> int:
        """Number of held-out images that the epochs of a job are measured on."""
        loop = self._builder.build_job(job)
        if isinstance(loop, Trainer):
            return len(loop.loaders.held_out[VALID])
        assert isinstance(loop, Searcher)  # noqa: S101
        return min(len(loop.loaders.valid), loop.options.health.examples)

    def job(self, run: PlannedRun) -> Job:
        """The job of a run."""
        space = self.spaces.get(run.kind)
        return Job(
            run.name,
            str(self.folder.resolve()),
            run.kind,
            run.config,
            device=None if self.builder is None else str(self.builder.device),
            plugins=tuple(dict.fromkeys((*self.plugins, *run.config["plugins"]))),
            test=run.test,
            fall_back=self.fall_back,
            space="" if space is None else space_to_json(space),
            same_images=self.same_images,
        )
