"""The cells that a stage of trainings takes: from the runs of an earlier stage, or by name."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, Literal

from dartboard.errors import (
    DartboardError,
    GenotypeError,
    OptionError,
    RunError,
    SpaceError,
    UnknownNameError,
)
from dartboard.jobs.job import Job
from dartboard.runs import RunReader, is_run
from dartboard.runs.lookup import data_of_run, find_genotype, home_of, space_name, space_of_run
from dartboard.search.config import SOURCE
from dartboard.space import (
    GENOTYPE_FORMATS,
    PUBLISHED,
    SearchSpace,
    check_connected,
    sample,
)
from dartboard.sweep.config import StageConfig
from dartboard.sweep.grid import CELL, PLACEHOLDER, PlannedRun, check_count
from dartboard.train.build import VALID

SEARCH = "search"
MAX_PATH = 200
"""Longest text that is tried as the path of a file."""
BEST = re.compile(r"best(?:\s+(?P<best>\d{1,6}))?\s+of\s+(?P<stage>\S+)")
RANDOM = re.compile(r"random\s+(?P<random>\d{1,6})\s+of\s+(?P<stage>\S+)")
RANDOM_TIMED = re.compile(r"random\s+within\s+the\s+time\s+of\s+(?P<stage>\S+)")
MISSPELLED = re.compile(r"(\w+)(?:\s+\S+)*\s+of\s+(\S+)")


@dataclass(frozen=True)
class SweepCell:
    """A cell that a stage trains.

    Args:
        label: Names the runs that train it.
        text: Its genotype, in JSON.
        space: Name or file of the space whose stack it goes into.
        stack: Number of cells of that stack.
        images: The images it was searched with, as far as that is known.
        runs: Names of the runs that found it.
    """

    label: str
    text: str
    space: str
    stack: int
    images: Mapping[str, Any] = field(default_factory=dict)
    runs: Sequence[str] = ()


@dataclass(frozen=True)
class CellSource:
    """Where the cells of a stage come from.

    Args:
        stage: An earlier stage; None where the cells are named.
        best: Number of its best cells to take; None for all.
        names: The names of the cells, where they are named.
        random: Number of random cells to draw from each space that the stage searched; or `time`: as many as
            it took time to find and to compare the cells that the stage trains. None for no random ones.
        seed: Random seed of the draw.
    """

    stage: str | None
    best: int | None = None
    names: tuple[str, ...] = ()
    random: int | Literal["time"] | None = None
    seed: int = 0

    def describe(self) -> str:
        """The cells that it takes of a stage, in words."""
        if self.random is not None:
            number = "random cells for the time" if self.random == "time" else f"{self.random} random cells"
            return f"{number} (seed {self.seed})"
        return "all cells" if self.best is None else f"the best {self.best}"


def cell_source(name: str, stages: Mapping[str, StageConfig]) -> CellSource:
    """Where the cells of a stage come from.

    Raises:
        OptionError: If the stage does not say, or names a stage that does not come before it.
    """
    cells, earlier = stages[name].cells, list(stages)[: list(stages).index(name)]
    if not cells:
        raise OptionError(
            f"{name}: trainings need cells: a stage before it, best of one, or a list such as [darts-v2]"
        )
    if not isinstance(cells, str):
        return CellSource(None, names=cells)
    for pattern in (BEST, RANDOM, RANDOM_TIMED):
        if match := pattern.fullmatch(cells.strip()):
            return _stage_source(name, match, earlier, stages)
    if cells in stages:
        _check_earlier(name, cells, earlier, stages)
        return CellSource(cells)
    with suppress(GenotypeError, SpaceError, RunError):  # reported when the cell is read
        try:
            find_genotype(cells)
        except UnknownNameError:
            if match := MISSPELLED.fullmatch(cells.strip()):
                stage = match[2]
                expected = f"best of {stage}, best 3 of {stage}, or a list such as [darts-v2]"
                if get_close_matches(match[1], ["best", "random"], 1, 0.0) == ["random"]:
                    is_search = stage in stages and stages[stage].do == SEARCH
                    expected = f"random 5 of {stage}" if is_search else f"random within the time of {stage}"
                raise OptionError(f"{name}: cells: {cells}: expected {expected}") from None
            known = [*earlier, *PUBLISHED]
            raise UnknownNameError(f"stage before {name}, or published cell,", cells, known) from None
    return CellSource(None, names=(cells,))


def _stage_source(
    name: str, match: re.Match[str], earlier: Sequence[str], stages: Mapping[str, StageConfig]
) -> CellSource:
    """The best or random cells of an earlier stage.

    Raises:
        OptionError: If there is no such stage, it has no such cells, or none of them are to be taken.
    """
    stage = match["stage"]
    _check_earlier(name, stage, earlier, stages)
    if match.re is RANDOM_TIMED:
        source = CellSource(stage, random="time", seed=stages[name].cells_seed)
        if stages[stage].do == SEARCH or searched_stage(source, stages) is None:
            rule = "expected a stage that trains the cells of a stage of searches"
            raise OptionError(f"{name}: cells: {match[0]}: {rule}")
        return source
    word = "best" if match.re is BEST else "random"
    count = int(match[word] or 1)
    if not count:
        raise OptionError(f"{name}: cells: {match[0]}: expected at least 1, such as {word} 3 of {stage}")
    if word == "best":
        return CellSource(stage, count)
    if stages[stage].do != SEARCH:
        raise OptionError(
            f"{name}: cells: {match[0]}: expected a stage of searches, whose spaces they are of"
        )
    check_count(f"{name}: cells: {match[0]}", count, "cells")
    return CellSource(stage, random=count, seed=stages[name].cells_seed)


def searched_stage(source: CellSource, stages: Mapping[str, StageConfig]) -> str | None:
    """The stage of searches whose spaces random cells are of; None if there is none."""
    if source.random != "time" or source.stage is None:
        return source.stage
    trained = cell_source(source.stage, stages)
    found = trained.random is None and trained.stage is not None and stages[trained.stage].do == SEARCH
    return trained.stage if found else None


def _check_earlier(name: str, stage: str, earlier: Sequence[str], stages: Mapping[str, StageConfig]) -> None:
    """Refuses a stage that does not come before this one."""
    if stage in earlier:
        return
    if stage in stages:
        reason = "is this stage itself" if stage == name else "comes later"
        choices = f"before it there is {', '.join(earlier)}" if earlier else "there is no stage before it"
        raise OptionError(f"{name}: cells: {stage} {reason}; {choices}")
    if not earlier:
        raise OptionError(f"{name}: cells: {stage}: there is no stage before it; name cells in a list")
    raise UnknownNameError(f"stage before {name}", stage, earlier)


def named_cells(names: Sequence[str]) -> list[SweepCell]:
    """Cells by published names, runs, files or genotypes.

    Raises:
        DartboardError: If there is no such cell.
    """
    cells = []
    for number, name in enumerate(names):
        genotype = find_genotype(name)
        check_connected(genotype)
        space = space_of_run(name) or home_of(genotype)
        text, home = GENOTYPE_FORMATS["json"].encode(genotype), space_name(name, None, space)
        is_name = name in PUBLISHED or (len(name) < MAX_PATH and Path(name).exists())
        label = (Path(name).stem if is_name else "") or f"cell-{number}"
        cells.append(SweepCell(label, text, home, space.stack.cells, data_of_run(name)))
    return cells


def placeholder_cell(config: Mapping[str, Any], space: SearchSpace, number: int) -> SweepCell:
    """A random cell in the place of the one that a search of this configuration in this space will find."""
    text = GENOTYPE_FORMATS["json"].encode(sample(space, Random(0)))
    name, stack = config["space"]["name"], space.stack.cells
    return SweepCell(f"{PLACEHOLDER}{number}", text, name, stack, images_of(config))


def images_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that say which images a run uses."""
    return {key: value for key, value in config["data"].items() if key in SOURCE}


def found_cells(runs: Mapping[str, RunReader]) -> list[SweepCell]:
    """The distinct cells of finished searches by name, in the order of the runs.

    Equal genotypes that were searched with different images, or in different stacks, are distinct.
    """
    groups: dict[str, dict[str, Any]] = {}
    for name, run in runs.items():
        genotype = json.dumps((run.result() or {})["genotype"])
        stack = run.space().stack.cells
        cell = {"text": genotype, "space": run.config["space"]["name"], "stack": stack}
        cell["images"] = images_of(run.config)
        groups.setdefault(json.dumps(cell), {**cell, "runs": []})["runs"].append(name)
    return [SweepCell(label=f"found-{number}", **cell) for number, cell in enumerate(groups.values())]


def finished_runs(folder: Path, runs: Iterable[PlannedRun | Job]) -> dict[str, RunReader]:
    """The finished ones of the runs of a sweep by name, without those whose files are damaged."""
    finished = {}
    for planned in runs:
        path = folder / planned.name
        try:
            run = RunReader.read(path) if is_run(path) else None
            if run is None or run.result() is None:
                continue
            if planned.kind == SEARCH:
                found_cells({path.name: run})  # damage that shows here would end the sweep later
        except (DartboardError, OSError, LookupError, TypeError):
            continue
        finished[planned.name] = run
    return finished


def select_cells(
    source: CellSource,
    runs: Sequence[PlannedRun],
    trained: Sequence[SweepCell],
    finished: Mapping[str, RunReader],
) -> list[SweepCell]:
    """The cells that the finished ones of the runs of a stage found or trained: all of them, or the best.

    `trained` are the cells that the stage trains, if it trains some.

    Raises:
        RunError: If the best are to be taken, and no run has an accuracy.
    """
    searched = any(run.kind == SEARCH for run in runs)
    cells = found_cells(finished) if searched else trained
    runs_of = {}
    for cell in cells:
        names = cell.runs if searched else [run.name for run in runs if run.varied[CELL] == cell.label]
        runs_of[cell.label] = [name for name in names if name in finished]
    if source.best is None:
        return [cell for cell in cells if runs_of[cell.label]]
    accuracies: dict[str, list[float]] = {}
    for label, names in runs_of.items():
        values = [held_out_accuracy(finished[name]) for name in names]
        accuracies[label] = [value for value in values if value is not None]
    best = best_labels(accuracies, source.best, source.stage or "")
    return [next(cell for cell in cells if cell.label == label) for label in best]


def best_labels(accuracies: Mapping[str, Sequence[float]], count: int, stage: str) -> list[str]:
    """The labels with the highest mean accuracy, the best first; ties stay in order.

    Raises:
        RunError: If no run has an accuracy.
    """
    means = {label: fmean(values) for label, values in accuracies.items() if values}
    if not means:
        raise RunError(f"no run of {stage} came to its end, so none is the best; see its errors")
    return sorted(means, key=lambda label: -means[label])[:count]


def held_out_accuracy(run: RunReader) -> float | None:
    """Accuracy of a finished run on held-out images that are not test images; None if it has none."""
    result = run.result() or {}
    accuracy = result.get("valid_accuracy")
    if run.config.get("kind") == "train":
        accuracy = result.get("last", {}).get(VALID, {}).get("top1")
    return float(accuracy) if isinstance(accuracy, int | float) else None
