"""Reads run directories and benchmark tables for a report; nothing is computed again."""

import json
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dartboard.analysis.trajectory import settings_of
from dartboard.errors import DartboardError, OptionError, RunError
from dartboard.report.report_runs import (
    ProtocolRun,
    ReportRuns,
    RunInfo,
    SearchEpoch,
    SearchRun,
    SpaceTables,
    SweepEntry,
    TrainRun,
)
from dartboard.runs import RunReader, find_runs, is_run
from dartboard.runs.directory import SWEEP, SWEEP_RESULTS, read_run_names
from dartboard.runs.text_files import as_object, parse, read_yaml
from dartboard.scoreboard.bench import CONFIG as BENCH
from dartboard.search import make_method
from dartboard.space import decode
from dartboard.tables import SHIPPED, TABLES, load_table
from dartboard.utils.checksums import read_file

RUN_COLLECTIONS = {BENCH: "bench", SWEEP: "sweep"}
"""Kinds of directories with many runs, by the file that marks them."""
PROTOCOL_FOLDERS = ("search", "final")
"""The folders of a protocol whose runs are shown."""
DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""Errors that files edited by hand give rise to."""
RESULT_FIELDS = ("name", "stage", "state", "reason")


def load_runs(paths: Sequence[str | Path]) -> ReportRuns:
    """Runs with what belongs to them: the runs of protocols, and trainings next to searches.

    Paths are those of runs of any kind, of benches or of sweeps; duplicates count once.

    Raises:
        RunError: If there are none, one is not a run, or one is damaged.
    """
    if not paths:
        raise RunError("no runs to report on; name the directories of some")
    entries = {run.resolve(): entry for path in paths for run, entry in run_paths(Path(path)).items()}
    runs: dict[Path, RunReader] = {}
    for path, entry in entries.items():
        with _unless_failed(entry):
            runs[path] = RunReader.read(path)
    protocols = [run for run in runs.values() if _kind(run) == "protocol"]
    for protocol in protocols:
        for folder in PROTOCOL_FOLDERS:
            inner = sorted((protocol.path / folder).glob("*"))
            runs |= {path: RunReader.read(path) for path in inner if is_run(path)}
    searches: list[SearchRun] = []
    trainings: dict[Path, TrainRun] = {}
    for path, run in runs.items():
        entry = entries.get(path)
        with _unless_failed(entry):
            if _kind(run) == "search":
                searches.append(_load_search(run, entry))
            elif _kind(run) == "train":
                trainings[path] = _load_training(run, entry)
    beside = {parent: _folders(parent, "train-") for parent in {search.path.parent for search in searches}}
    for search in searches:
        for training in _adjacent_trainings(search, beside[search.path.parent]):
            trainings.setdefault(training.info.path, training)
    finished = [ProtocolRun(_load_info(run), run.result()) for run in protocols]
    return ReportRuns(searches, list(trainings.values()), finished)


def run_paths(path: Path) -> dict[Path, SweepEntry | None]:
    """The directory itself, or the runs of the bench or the sweep that it is with what that recorded."""
    kind = next((kind for name, kind in RUN_COLLECTIONS.items() if (path / name).is_file()), None)
    if is_run(path) or kind is None:
        return {path: None}
    runs = _sweep_runs(path) if kind == "sweep" else dict.fromkeys(find_runs(path / "runs"))
    if not runs:
        raise RunError(f"{path} is a {kind} that has no runs to report on")
    return runs


@contextmanager
def _unless_failed(entry: SweepEntry | None) -> Iterator[None]:
    """Leaves a damaged run out if its sweep has recorded that it failed."""
    try:
        yield
    except RunError:
        if entry is None or entry.state != "failed":
            raise


def _kind(run: RunReader) -> str:
    return str(run.config.get("kind", "search"))


def _folders(parent: Path, prefix: str) -> list[Path]:
    """What a folder has whose name begins with a prefix, by name."""
    with suppress(OSError):  # it may be searchable but not readable
        return sorted(path for path in parent.iterdir() if path.name.startswith(prefix))
    return []


def _adjacent_trainings(search: SearchRun, beside: Sequence[Path]) -> Iterator[TrainRun]:
    """Trainings beside a search that are named after it and train its genotype."""
    prefix = f"train-{search.path.name}-"
    first = bisect_left(beside, search.path.with_name(prefix))
    named = takewhile(lambda path: path.name.startswith(prefix), islice(beside, first, None))
    for path in named if search.genotype is not None else ():
        with suppress(DartboardError):  # damage in a run that was not named is no reason to fail
            run = RunReader.read(path)
            if _kind(run) == "train" and (training := _load_training(run)).genotype == search.genotype:
                yield training


def _load_info(run: RunReader, entry: SweepEntry | None = None) -> RunInfo:
    return RunInfo(run.path, _kind(run), run.config, run.environment(), run.state, entry)


def _load_search(run: RunReader, entry: SweepEntry | None) -> SearchRun:
    try:
        space, epochs = run.space(), []
        for row in run.metrics():
            details = run.epoch(row["epoch"])
            ops, edges = (
                {group: np.array(details["strengths"][group][key]) for group in space.cells}
                for key in ("ops", "edges")
            )
            for group, cell in space.groups:
                if ops[group].shape != cell.shape or edges[group].shape != (len(cell.edges),):
                    raise ValueError(f"epoch {row['epoch']} has strengths of another shape")
            genotype = decode(json.dumps(details["genotype"]))
            epochs.append(SearchEpoch(row["epoch"] + 1, row, genotype, ops, edges))
        result = run.result()
        last = epochs[-1].genotype if epochs else None
        return SearchRun(
            info=_load_info(run, entry),
            settings=settings_of(run),
            space=space,
            epochs=epochs,
            result=result,
            genotype=last if result is None else decode(json.dumps(result["genotype"])),
            uses_attention=_uses_attention(run),
        )
    except DAMAGED as error:
        raise RunError(f"{run.path} has files that cannot be read: {error!r}") from None


def _uses_attention(run: RunReader) -> bool:
    """True if the strengths of a search are mean attention; False if its method is not known here."""
    options = dict(run.config.get("method") or {})
    with suppress(DartboardError):
        method = make_method(str(options.pop("name", "")), options)
        return method.relax(run.space(), torch.Generator()).has_attention
    return False


def _load_training(run: RunReader, entry: SweepEntry | None = None) -> TrainRun:
    try:
        genotype, space = decode(run.config["cell"]), run.space()
        return TrainRun(_load_info(run, entry), genotype, space, run.metrics(), run.result())
    except DAMAGED as error:
        raise RunError(f"{run.path} has files that cannot be read: {error!r}") from None


def _sweep_runs(folder: Path) -> dict[Path, SweepEntry | None]:
    """The runs of a sweep by directory; None for those that have not ended yet.

    Runs that are no longer part of the sweep are left out.

    Raises:
        RunError: If its records are damaged.
    """
    path, selecting = folder / SWEEP_RESULTS, _selecting_stages(folder)
    entries = {}
    lines = read_file(path, root=folder).splitlines() if os.path.lexists(path) else []
    for number, line in enumerate(lines, 1):
        place = f"{path}, line {number}"
        row = as_object(parse(line, place), place)
        if wrong := [name for name in RESULT_FIELDS if not isinstance(row.get(name), str)]:
            raise RunError(f"{place} does not say {wrong[0]}; it was changed after it was written")
        entry = SweepEntry(row["state"], row["reason"], selects=row["stage"] in selecting)
        entries[folder / row["name"]] = entry
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


def find_tables(searches: Sequence[SearchRun], table: Path | None) -> SpaceTables:
    """The benchmark tables of the spaces of searches; `table` is the file of one that does not ship.

    Raises:
        OptionError: If a table is given that no search needs, or that several would.
        TableError: If it is not the table of that benchmark.
    """
    spaces = dict.fromkeys(search.space.name for search in searches)
    shipped = [name for name in spaces if name in TABLES and name in SHIPPED]
    external = [name for name in spaces if name in TABLES and name not in SHIPPED]
    if table is not None and len(external) != 1:
        raise OptionError(
            f"{table} can be the table of one benchmark, and the spaces searched are "
            f"{', '.join(spaces) or 'none'}; there are benchmarks for "
            f"{', '.join(name for name in TABLES if name not in SHIPPED)}"
        )
    tables = {name: load_table(name, None) for name in shipped}
    if table is not None:
        tables[external[0]] = load_table(external[0], table)
    return SpaceTables(tables)
