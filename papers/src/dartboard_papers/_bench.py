"""Benches behind figures and tables: records that are there already, or searches that are done here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from dartboard.config.schema import Count
from dartboard.data import Dataset, LoadOptions
from dartboard.errors import OptionError, TableError
from dartboard.scoreboard import (
    BenchConfig,
    BenchRecord,
    BenchSearch,
    Scoring,
    load_bench,
    plan_jobs,
)
from dartboard.scoreboard.jobs import oracle_name
from dartboard.scoreboard.store import CONFIG, find_record, read_config
from dartboard.scoreboard.table import check_records
from dartboard.search.config import load_images
from dartboard.space import get_space
from dartboard.tables import SHIPPED, Table, load_table
from dartboard_papers._gaea_settings import WAYS, Way
from dartboard_papers._jobs import run_jobs
from dartboard_papers.base import RunOptions, Scale

HELD_OUT = 0.1
"""The share of images that searches on one level do not train with."""


class Searches(Scale):
    """Searches with several methods and seeds."""

    seeds: Count = Field(default=4, description="searches with each method")
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
class World:
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


NB201 = World("nb201", file="nb201.csv.gz")
NANO = World("nano", "cluttered-digits", weights={"lr": 0.1, "lr_end": 0.0}, queries=8)
ONESHOT = tuple(World(f"oneshot{number}", file="nb101.npz") for number in (1, 2, 3))


@dataclass(frozen=True)
class Board:
    """Records of searches.

    Args:
        groups: By label, in the order that was asked for; those of which there is at least one.
        oracle: The benchmark; None where its table was not given.
        queries: How many architectures random search and evolution may ask about.
        missing: The names of searches that were asked for and are not there.
        kept: The folder that the records were read from; None where the searches are this reproduction's.
    """

    groups: Mapping[str, tuple[BenchRecord, ...]]
    oracle: Table | None
    queries: int
    missing: tuple[str, ...] = ()
    kept: Path | None = None

    @property
    def records(self) -> tuple[BenchRecord, ...]:
        """All of them."""
        return tuple(own for group in self.groups.values() for own in group)

    @property
    def datasets(self) -> tuple[str, ...]:
        """That the benchmark knows."""
        return tuple(self.records[0].best)

    @property
    def seeds(self) -> int:
        """The fewest that any method has."""
        return min(map(len, self.groups.values()))


def choose_world(options: RunOptions, scale: Searches) -> World:
    """NAS-Bench-201 where its table is given, else nano, which ships with the package.

    Raises:
        OptionError: If nano cannot stand in: for the paper's own numbers, or for images of another size or
            kind; or if there are searches that were done, and more is asked for.
    """
    if not scale.needs_inputs:
        check_alone(options, scale)
    elif options.table is None:
        _check_nano(options, scale)
    return NANO if options.table is None else NB201


def _check_nano(options: RunOptions, scale: Searches) -> None:
    """Refuses what nano, which has accuracies of its own images alone, cannot be searched with."""
    own = type(scale)().pixels
    if options.full:
        raise OptionError(
            "the paper's own numbers are of NAS-Bench-201; name --table nb201.csv.gz, or its folder "
            "(docs/oracles.md), or leave out --full, and nano is searched"
        )
    if options.data is not None:
        raise OptionError(
            "nano has accuracies of its own images alone; with --data name --table nb201.csv.gz"
        )
    if scale.pixels != own:
        raise OptionError(f"pixels={scale.pixels} does nothing to nano's own images; leave it out")


def make_board(
    world: World,
    labels: Sequence[str],
    options: RunOptions,
    scale: Searches,
    more: Mapping[str, Any] | None = None,
) -> Board:
    """The records of searches with these methods, which are done unless that was before.

    Args:
        world: What is searched.
        labels: The methods.
        options: Where and with what.
        scale: How large; its `records` are read in the place of searches.
        more: By label, what else is set.

    Raises:
        TableError: If a table or a record is missing or not what it should be.
        RunError: If a search fails.
    """
    if scale.records is not None:
        return read_board(Path(scale.records), labels, options, scale)
    table = find_table(world, options)
    oracle = load_table(world.space, table)
    images = load_images(options.data or world.images, LoadOptions())
    config = load_bench(flags=_bench(world, labels, options, scale, images, more or {}))
    found = _search(plan_jobs(config), world, table, options)
    return Board(_grouped(labels, found), oracle, world.queries)


def find_table(world: World, options: RunOptions) -> Path | None:
    """The file of the benchmark, which may be named by its folder; None for one that ships.

    Raises:
        TableError: If it is not given, or not there.
    """
    if world.file is None:
        return None
    if options.table is None:
        raise TableError(
            f"{world.space} is looked up in {world.file}, which does not ship with dartboard; name it or its "
            "folder with --table (docs/oracles.md), or searches that were done with records=DIR"
        )
    path = options.table / world.file if options.table.is_dir() else options.table
    if not path.exists():
        raise TableError(f"there is no {path}; docs/oracles.md says how to make {world.file}")
    return path


def _bench(
    world: World,
    labels: Sequence[str],
    options: RunOptions,
    scale: Searches,
    images: Dataset,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings of the bench."""
    varied = {"size": scale.pixels, "pad": scale.pixels // 8, "flip": True}
    search = {
        "space": {"name": world.space, "cells": scale.cells},
        "data": {"name": options.data or world.images, **(varied if options.data or world.file else {})},
        "epochs": scale.epochs,
        "batch": scale.batch,
        "net": {"channels": scale.channels},
        "weights": dict(world.weights or {}),
    }
    cells = scale.cells * get_space(world.space).stack.stages
    methods = {
        label: _settings(WAYS[label], images, {"epochs": scale.epochs, **more.get(label, {})}, cells)
        for label in labels
    }
    seeds = list(range(scale.seeds))
    return {"oracle": world.space, "search": search, "methods": methods, "seeds": seeds, "correlation": 0}


def _settings(way: Way, images: Dataset, own: Mapping[str, Any], cells: int) -> dict[str, Any]:
    """What a search with this method has for settings besides those of all."""
    share = 1.0 if images.valid is not None else 0.5 if way.bilevel else 1 - HELD_OUT
    rate = way.scaled(round(share * len(images.train)), own["epochs"], cells)
    method = {**way.method, **own.get("method", {}), **({} if rate is None else {"lr": rate})}
    return {**own, "method": method, **({"space": {"without": list(way.without)}} if way.without else {})}


def _search(
    searches: Sequence[BenchSearch], world: World, table: Path | None, options: RunOptions
) -> list[BenchRecord]:
    """Records of the searches, which are run unless they were before."""
    folder, device = options.folder, str(options.device)
    scoring = Scoring(folder / "runs", folder / "records", world.space, table, device=device)
    run_jobs([scoring.job(search) for search in searches], options, f"searching {world.space}")
    records = [scoring.record(search) for search in searches]
    return [record for record in records if record is not None]


def read_board(folder: Path, labels: Sequence[str], options: RunOptions, scale: Searches) -> Board:
    """The records in the folder of a bench; raises as `make_board`."""
    check_alone(options, scale)
    config = read_config(folder)
    if config is None:
        raise OptionError(f"records={folder}: there is no {CONFIG} in it; name the folder of a bench")
    jobs = [job for job in plan_jobs(config) if job.label in labels]
    found = {job.name: find_record(job, folder, oracle_name(config)) for job in jobs}
    records = [own for own in found.values() if own is not None]
    if not records:
        raise OptionError(f"records={folder}: it has none of {', '.join(labels)}")
    oracle = _known(config, options)
    if oracle is not None:
        check_records(records, oracle)
    absent = set(labels) - {job.label for job in jobs}
    missing = [*(name for name, own in found.items() if own is None), *absent]
    return Board(_grouped(labels, records), oracle, config.queries or 1, tuple(sorted(missing)), folder)


def check_alone(options: RunOptions, scale: Searches) -> None:
    """Refuses what has no effect on searches that were done."""
    if options.full:
        raise OptionError(f"records={scale.records} are of searches that were done; leave out --full")
    usual = type(scale)()
    other = [key for key in type(scale).model_fields if getattr(scale, key) != getattr(usual, key)]
    given = [*(key for key in other if key != "records"), *(["--data"] if options.data else [])]
    if given:
        raise OptionError(f"records={scale.records} are of searches that were done; leave out {given[0]}")


def _known(config: BenchConfig, options: RunOptions) -> Table | None:
    name = oracle_name(config)
    worlds = {world.space: world for world in (NB201, NANO, *ONESHOT)}
    if options.table is None and name not in SHIPPED:
        return None
    return load_table(name, find_table(worlds[name], options) if name in worlds else options.table)


def _grouped(labels: Sequence[str], records: Sequence[BenchRecord]) -> dict[str, tuple[BenchRecord, ...]]:
    groups = {label: tuple(own for own in records if own.label == label) for label in labels}
    return {label: group for label, group in groups.items() if group}
