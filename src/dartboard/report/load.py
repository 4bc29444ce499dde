"""Reads run directories for a report; nothing is computed again."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dartboard.analysis.trajectory import settings_of
from dartboard.errors import DartboardError, RunError
from dartboard.relax import RELAXATIONS
from dartboard.report.models import (
    ProtocolRun,
    ReportRuns,
    RunInfo,
    SearchEpoch,
    SearchRun,
    SweepEntry,
    TrainRun,
)
from dartboard.runs import SPACE, Run, find_runs, is_run
from dartboard.runs.directory import SWEEP, SWEEP_RESULTS, read_run_names
from dartboard.runs.text_files import as_object, parse, read_yaml
from dartboard.scoreboard.bench import CONFIG as BENCH
from dartboard.search import make_method
from dartboard.space import Genotype, SearchSpace, decode, load_space

RUN_COLLECTIONS = {BENCH: "bench", SWEEP: "sweep"}
"""Kinds of directories with many runs, by the file that marks them."""
PROTOCOL_FOLDERS = ("search", "final")
"""The folders of a protocol whose runs are shown."""
DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""Errors that files edited by hand give rise to."""
RESULT_FIELDS = ("name", "stage", "state", "reason")

T = TypeVar("T")


def load_runs(paths: Sequence[str | Path]) -> ReportRuns:
    """Runs with what belongs to them: the runs of protocols, and trainings next to searches.

    Args:
        paths: Directories of runs of any kind, of benches or of sweeps; duplicates count once.

    Raises:
        RunError: If there are none, one is no run, or one is damaged.
    """
    if not paths:
        raise RunError("no runs to report on; name the directories of some")
    entries = {run.resolve(): entry for path in paths for run, entry in _expand(Path(path)).items()}
    readable = [_unless_failed(Run.read, path, entry) for path, entry in entries.items()]
    runs = [run for run in readable if run is not None]
    protocols = [run for run in runs if _kind(run) == "protocol"]
    for protocol in protocols:
        for folder in PROTOCOL_FOLDERS:
            runs += [Run.read(path) for path in sorted((protocol.path / folder).glob("*")) if is_run(path)]
    searches: list[SearchRun] = []
    trainings: dict[Path, TrainRun] = {}
    for run in {run.path: run for run in runs}.values():
        entry = entries.get(run.path)
        if _kind(run) == "search":
            search = _unless_failed(_load_search, run, entry)
            if search is not None:
                searches.append(replace(search, info=replace(search.info, sweep_entry=entry)))
        elif _kind(run) == "train":
            training = _unless_failed(_load_training, run, entry)
            if training is not None:
                trainings[run.path] = replace(training, info=replace(training.info, sweep_entry=entry))
    for adjacent in (training for search in searches for training in adjacent_trainings(search)):
        trainings.setdefault(adjacent.info.path, adjacent)
    finished = [ProtocolRun(_load_info(run), run.result()) for run in protocols]
    return ReportRuns(searches, list(trainings.values()), finished)


def run_paths(path: Path) -> list[Path]:
    """The directory itself, or the runs of the bench or the sweep that it is."""
    return list(_expand(path))


def _expand(path: Path) -> dict[Path, SweepEntry | None]:
    """As `run_paths`, with what a sweep has recorded about its runs."""
    kind = next((kind for name, kind in RUN_COLLECTIONS.items() if (path / name).is_file()), None)
    if is_run(path) or kind is None:
        return {path: None}
    runs = sweep_runs(path) if kind == "sweep" else dict.fromkeys(find_runs(path / "runs"))
    if not runs:
        raise RunError(f"{path} is a {kind} that has no runs to report on")
    return runs


def _unless_failed(read: "Callable[[Any], T]", source: Any, entry: SweepEntry | None) -> "T | None":
    """What is read; None if that is damaged and the sweep has recorded that the run failed."""
    try:
        return read(source)
    except RunError:
        if entry is None or entry.state != "failed":
            raise
        return None


def _kind(run: Run) -> str:
    return str(run.config.get("kind", "search"))


def adjacent_trainings(search: SearchRun) -> Iterator[TrainRun]:
    """Trainings next to a search that are named after it and train its genotype."""
    prefix, paths = f"train-{search.path.name}-", []
    with suppress(OSError):  # the parent directory may be searchable but not readable
        paths = sorted(path for path in search.path.parent.iterdir() if path.name.startswith(prefix))
    for path in paths if search.genotype is not None else ():
        with suppress(DartboardError):  # damage in a run that was not named is no reason to fail
            run = Run.read(path)
            if _kind(run) == "train" and (training := _load_training(run)).genotype == search.genotype:
                yield training


def _load_info(run: Run) -> RunInfo:
    return RunInfo(run.path, _kind(run), run.config, run.environment(), run.state)


def _load_search(run: Run) -> SearchRun:
    try:
        space = load_space(run.path / SPACE)
        epochs = [_load_epoch(space, row, run.epoch(row["epoch"])) for row in run.metrics()]
        result = run.result()
        last = epochs[-1].genotype if epochs else None
        return SearchRun(
            info=_load_info(run),
            settings=settings_of(run),
            space=space,
            epochs=epochs,
            result=result,
            genotype=last if result is None else _load_genotype(result["genotype"]),
            uses_attention=_uses_attention(run),
        )
    except DAMAGED as error:
        raise RunError(f"{run.path} has files that cannot be read: {error!r}") from None


def _load_epoch(space: SearchSpace, row: dict[str, Any], details: dict[str, Any]) -> SearchEpoch:
    strengths = details["strengths"]
    ops, edges = (
        {group: np.array(strengths[group][key]) for group in space.cells} for key in ("ops", "edges")
    )
    for group, cell in space.groups:
        if ops[group].shape != cell.shape or edges[group].shape != (len(cell.edges),):
            raise ValueError(f"epoch {row['epoch']} has strengths of another shape")
    return SearchEpoch(row["epoch"] + 1, row, _load_genotype(details["genotype"]), ops, edges)


def _load_genotype(values: Any) -> Genotype:
    return decode(json.dumps(values))


def _uses_attention(run: Run) -> bool:
    """True if the strengths of a search are mean attention; False if its method is not known here."""
    options = dict(run.config.get("method") or {})
    with suppress(DartboardError):
        return make_method(str(options.pop("name", "")), options).relax is RELAXATIONS["attention"]
    return False


def _load_training(run: Run) -> TrainRun:
    try:
        genotype, space = decode(run.config["cell"]), load_space(run.path / SPACE)
        return TrainRun(_load_info(run), genotype, space, run.metrics(), run.result())
    except DAMAGED as error:
        raise RunError(f"{run.path} has files that cannot be read: {error!r}") from None


def sweep_runs(folder: Path) -> dict[Path, SweepEntry | None]:
    """The runs of a sweep by directory; None for those that have not ended yet.

    Runs that are no longer part of the sweep are left out.

    Raises:
        RunError: If its records are damaged.
    """
    path, selecting = folder / SWEEP_RESULTS, _selecting_stages(folder)
    entries = {}
    for number, line in enumerate(path.read_bytes().splitlines() if path.is_file() else [], 1):
        place = f"{path}, line {number}"
        row = as_object(parse(line, place), place)
        if wrong := [name for name in RESULT_FIELDS if not isinstance(row.get(name), str)]:
            raise RunError(f"{place} does not say {wrong[0]}; it was changed after it was written")
        stage = row["stage"]
        entries[folder / row["name"]] = SweepEntry(stage, row["state"], row["reason"], stage in selecting)
    names = read_run_names(folder)
    runs = [*entries, *find_runs(folder)] if names is None else [folder / name for name in names]
    return {run: entries.get(run) for run in runs if is_run(run)}


def _selecting_stages(folder: Path) -> set[str]:
    """The stages that choose among networks, in which no test image is used."""
    values: dict[str, Any] = {}
    with suppress(RunError):  # a damaged sweep.yaml matters only to those who continue the sweep
        values = read_yaml(folder / SWEEP)
    stages = values.get("stages") or {str(values.get("do", "search")): values}
    known = {name: stage for name, stage in stages.items() if isinstance(stage, Mapping)}
    sources = [str(stage.get("cells")).split() for stage in known.values()]
    selecting = {words[-1] for words in sources if words and words[0] == "best"}
    for name, stage in known.items():
        stop = stage.get("stop")
        if isinstance(stop, Mapping) and stop.get("after"):
            selecting.add(name)
    return selecting
