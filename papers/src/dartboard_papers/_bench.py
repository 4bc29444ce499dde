"""Benches behind figures and tables: records that are there already, or searches that are done here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from dartboard.config.schema import Count
from dartboard.errors import OptionError, TableError
from dartboard.scoreboard import (
    BenchRecord,
    Scoring,
    load_bench,
    plan_jobs,
)
from dartboard.scoreboard.bench import CONFIG, oracle_name, read_config
from dartboard.scoreboard.records import find_record
from dartboard.scoreboard.scoreboard import check_records
from dartboard.tables import SHIPPED, Table, load_table
from dartboard_papers._gaea_settings import METHOD_SETTINGS
from dartboard_papers._searches import run_jobs
from dartboard_papers.base import RunOptions, Scale


class BenchScale(Scale):
    """Searches with several methods and seeds."""

    seeds: Count = Field(default=5, description="searches with each method")
    epochs: Count = Field(default=5, description="passes over the images")
    batch: Count = Field(default=64, description="examples in a step")
    cells: Count = Field(default=1, description="cells a stage")
    channels: Count = Field(default=8, description="channels of the first stage")
    pixels: Count = Field(default=16, description="height and width that images of --data are brought to")
    records: str | None = Field(
        default=None, description="the folder of a bench that was done, in the place of searches"
    )

    @property
    def needs_inputs(self) -> bool:
        """Whether searches are done, and need their table."""
        return self.records is None


@dataclass(frozen=True)
class Benchmark:
    """What is searched.

    Args:
        space: Its name, and that of who knows its cells.
        images: By default.
        file: What the table is called; None for one that ships with the package.
        weights: How weights are trained, where that is not as in the paper.
        queries: How many architectures random search and evolution may ask about.
    """

    space: str
    images: str = "cifar10"
    file: str | None = None
    weights: Mapping[str, float] | None = None
    queries: int = 100


NB201 = Benchmark("nb201", file="nb201.csv.gz")
NANO = Benchmark("nano", "cluttered-digits", weights={"lr": 0.1, "lr_end": 0.0}, queries=8)
ONESHOT = tuple(Benchmark(f"oneshot{number}", file="nb101.npz") for number in (1, 2, 3))


@dataclass(frozen=True)
class BenchResults:
    """Records of searches.

    Args:
        groups: Records by label, in the order of the request; labels without records are left out.
        oracle: Table of the benchmark; None if it was not given.
        queries: Number of architectures that random search and evolution may query.
        missing: Names of requested searches that do not exist.
        folder: Folder that the records were read from; None if the searches were run here.
    """

    groups: Mapping[str, tuple[BenchRecord, ...]]
    oracle: Table | None
    queries: int
    missing: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def records(self) -> tuple[BenchRecord, ...]:
        """All records."""
        return tuple(record for group in self.groups.values() for record in group)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Data sets of the benchmark."""
        return tuple(self.records[0].best)

    @property
    def seeds(self) -> int:
        """Least number of seeds of any method."""
        return min(map(len, self.groups.values()))


def choose_benchmark(options: RunOptions, scale: BenchScale) -> Benchmark:
    """NAS-Bench-201 if its table is given, else nano, which ships with the package.

    Raises:
        OptionError: If nano cannot be used: for the paper's own numbers, or for images of another size or
            kind; or if options do not apply to finished searches.
    """
    if not scale.needs_inputs:
        check_alone(options, scale)
    elif options.table is None:
        if options.full:
            raise OptionError(
                "the paper's own numbers are of NAS-Bench-201; name --table nb201.csv.gz, or its folder "
                "(docs/oracles.md), or leave out --full, and nano is searched"
            )
        if options.data is not None:
            raise OptionError(
                "nano has accuracies of its own images alone; with --data name --table nb201.csv.gz"
            )
        if scale.pixels != type(scale)().pixels:
            raise OptionError(f"pixels={scale.pixels} does nothing to nano's own images; leave it out")
    return NANO if options.table is None else NB201


def run_bench(
    benchmark: Benchmark,
    labels: Sequence[str],
    options: RunOptions,
    scale: BenchScale,
    more: Mapping[str, Any] | None = None,
) -> BenchResults:
    """Records of searches with these methods; those that are missing are run.

    Args:
        benchmark: The benchmark.
        labels: Labels of the methods.
        options: Options of the run.
        scale: Scale; its `records` are read instead of running searches.
        more: Further settings by label.

    Raises:
        TableError: If a table or a record is missing or not what it should be.
        RunError: If a search fails.
    """
    if scale.records is not None:
        return read_bench(Path(scale.records), labels, options, scale)
    table = find_table(benchmark, options)
    oracle = load_table(benchmark.space, table)
    config = load_bench(flags=_settings(benchmark, labels, options, scale, more or {}))
    searches, folder = plan_jobs(config), options.folder
    scoring = Scoring(folder / "runs", folder / "records", benchmark.space, table, device=str(options.device))
    run_jobs([scoring.job(search) for search in searches], options, f"searching {benchmark.space}")
    records = [record for search in searches if (record := scoring.record(search)) is not None]
    return BenchResults(_grouped(labels, records), oracle, benchmark.queries)


def find_table(benchmark: Benchmark, options: RunOptions) -> Path | None:
    """File of the benchmark's table, which may be given by its folder; None for one that ships.

    Raises:
        TableError: If it is not given, or does not exist.
    """
    if benchmark.file is None:
        return None
    if options.table is None:
        raise TableError(
            f"{benchmark.space} is looked up in {benchmark.file}, which does not ship with dartboard; name "
            "it or its folder with --table (docs/oracles.md), or searches that were done with records=DIR"
        )
    path = options.table / benchmark.file if options.table.is_dir() else options.table
    if not path.exists():
        raise TableError(f"there is no {path}; docs/oracles.md says how to make {benchmark.file}")
    return path


def _settings(
    benchmark: Benchmark,
    labels: Sequence[str],
    options: RunOptions,
    scale: BenchScale,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings of the bench."""
    varied = {"size": scale.pixels, "pad": scale.pixels // 8, "flip": True}
    search = {
        "space": {"name": benchmark.space, "cells": scale.cells},
        "data": {
            "name": options.data or benchmark.images,
            **(varied if options.data or benchmark.file else {}),
        },
        "epochs": scale.epochs,
        "batch": scale.batch,
        "net": {"channels": scale.channels},
        "weights": dict(benchmark.weights or {}),
    }
    methods = {}
    for label in labels:
        settings, overrides = METHOD_SETTINGS[label].search(full=options.full), more.get(label, {})
        method = {**settings["method"], **overrides.get("method", {})}
        methods[label] = {"epochs": scale.epochs, **settings, **overrides, "method": method}
    seeds = list(range(scale.seeds))
    return {"oracle": benchmark.space, "search": search, "methods": methods, "seeds": seeds, "correlation": 0}


def read_bench(folder: Path, labels: Sequence[str], options: RunOptions, scale: BenchScale) -> BenchResults:
    """The records in the folder of a bench; raises as `run_bench` does."""
    check_alone(options, scale)
    config = read_config(folder)
    if config is None:
        raise OptionError(f"records={folder}: there is no {CONFIG} in it; name the folder of a bench")
    jobs = [job for job in plan_jobs(config) if job.label in labels]
    records_by_job = {job.name: find_record(job, folder, oracle_name(config)) for job in jobs}
    records = [record for record in records_by_job.values() if record is not None]
    if not records:
        raise OptionError(f"records={folder}: it has none of {', '.join(labels)}")
    name, oracle = oracle_name(config), None
    if options.table is not None or name in SHIPPED:
        known = {benchmark.space: benchmark for benchmark in (NB201, NANO, *ONESHOT)}
        oracle = load_table(name, find_table(known[name], options) if name in known else options.table)
        check_records(records, oracle)
    absent = set(labels) - {job.label for job in jobs}
    missing = [*(name for name, record in records_by_job.items() if record is None), *absent]
    return BenchResults(
        _grouped(labels, records), oracle, config.queries or 1, tuple(sorted(missing)), folder
    )


def check_alone(options: RunOptions, scale: BenchScale) -> None:
    """Refuses options that have no effect on finished searches."""
    if options.full:
        raise OptionError(f"records={scale.records} are of searches that were done; leave out --full")
    defaults = type(scale)()
    changed = [key for key in type(scale).model_fields if getattr(scale, key) != getattr(defaults, key)]
    ignored = [*(key for key in changed if key != "records"), *(["--data"] if options.data else [])]
    if ignored:
        raise OptionError(f"records={scale.records} are of searches that were done; leave out {ignored[0]}")


def _grouped(labels: Sequence[str], records: Sequence[BenchRecord]) -> dict[str, tuple[BenchRecord, ...]]:
    groups = {label: tuple(record for record in records if record.label == label) for label in labels}
    return {label: group for label, group in groups.items() if group}
