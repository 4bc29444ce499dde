"""What reports show: searches, trainings and protocols, and the ranks of their cells in benchmark tables."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import GenotypeError, TableError
from dartboard.runs.directory import State
from dartboard.space import Genotype, SearchSpace
from dartboard.tables import Table

Floats = NDArray[np.float64]
Row = Mapping[str, Any]
"""The metrics of one epoch."""


@dataclass(frozen=True)
class SweepEntry:
    """What a sweep recorded about one of its runs: `finished`, `dropped` (pruned) or `failed`, and why.

    `selects` is True if runs of its stage are compared to choose what later stages train.
    """

    state: str
    reason: str
    selects: bool


@dataclass(frozen=True)
class RunInfo:
    """A run: its absolute path, its kind (`search`, `train` or `protocol`), its configuration and its state.

    `environments` has that of each process that worked on the run, the newest last; `sweep_entry` is the
    record of the sweep it belongs to, None without sweep or before the run has ended.
    """

    path: Path
    kind: str
    config: Mapping[str, Any]
    environments: Sequence[Mapping[str, Any]]
    state: State
    sweep_entry: SweepEntry | None = None

    @property
    def is_dropped(self) -> bool:
        """True if its sweep does not continue with it, because it was pruned or failed."""
        return self.sweep_entry is not None and self.sweep_entry.state != "finished"

    @property
    def name(self) -> str:
        """The name of its directory."""
        return self.path.name

    @property
    def seams(self) -> list[int]:
        """Complete epochs at which the run was given another number of epochs."""
        history = self.config.get("schedule_history")
        history = history if isinstance(history, list) else []
        known = [entry.get("until") for entry in history if isinstance(entry, Mapping)]
        return [until for until in known if isinstance(until, int)]

    def setting(self, *keys: str) -> Any:
        """A nested value of the configuration; None where there is none."""
        value: Any = self.config
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value


@dataclass(frozen=True, eq=False)
class SearchEpoch:
    """A search after a number of complete epochs: metrics, what would be chosen, and what it is chosen by.

    `ops` has the strengths of candidates [E, N] of each group, `edges` the weights of its edges [E].
    """

    epoch: int
    row: Row
    genotype: Genotype
    ops: Mapping[str, Floats]
    edges: Mapping[str, Floats]


@dataclass(frozen=True, eq=False)
class SearchRun:
    """A search; its result is the contents of result.json, None before the end.

    Its settings, by dotted name, are all that identify it except its seed. Its genotype is what was chosen or
    would be now, None before the end of the first epoch. `uses_attention` is True if its strengths are mean
    attention weights.
    """

    info: RunInfo
    settings: Mapping[str, Any]
    space: SearchSpace
    epochs: Sequence[SearchEpoch]
    result: Mapping[str, Any] | None
    genotype: Genotype | None
    uses_attention: bool

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.info.path

    @property
    def seed(self) -> int:
        """The random seed."""
        return int(self.info.config["seed"])

    @property
    def method(self) -> str:
        """The name of its method."""
        return str(self.info.setting("method", "name"))

    @property
    def data(self) -> str:
        """The name of its data set."""
        return str(self.info.setting("data", "name"))

    @property
    def rows(self) -> list[Row]:
        """The metrics of each epoch."""
        return [epoch.row for epoch in self.epochs]

    @property
    def last(self) -> Mapping[str, Any]:
        """The newest numbers: the result, or else the metrics of the last epoch, or nothing."""
        if self.result is not None:
            return self.result
        return self.epochs[-1].row if self.epochs else {}


@dataclass(frozen=True, eq=False)
class TrainRun:
    """A training of a genotype in a stack; its result is that of result.json, None before the end."""

    info: RunInfo
    genotype: Genotype
    space: SearchSpace
    rows: Sequence[Row]
    result: Mapping[str, Any] | None

    @property
    def seed(self) -> int:
        """The random seed."""
        return int(self.info.config["seed"])

    @property
    def split(self) -> str:
        """The split that epochs are evaluated on: `valid` or `test`."""
        known = [split for split in ("valid", "test") for row in self.rows if f"{split}_accuracy" in row]
        return known[0] if known else "valid"

    @property
    def final_split(self) -> str:
        """The split of the final accuracy: `test` where there is one, else `valid`."""
        last = (self.result or {}).get("last") or {}
        return next((split for split in ("test", "valid") if split in last), self.split)

    @property
    def accuracy(self) -> float | None:
        """The final accuracy, or else that after the last epoch that was evaluated."""
        last = (self.result or {}).get("last") or {}
        if self.final_split in last:
            return float(last[self.final_split]["top1"])
        values = [row.get(f"{self.split}_accuracy") for row in self.rows]
        return next((float(value) for value in reversed(values) if value is not None), None)


@dataclass(frozen=True)
class ProtocolRun:
    """A protocol; its result is None before the end."""

    info: RunInfo
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class ReportRuns:
    """All runs that a report shows.

    Searches and trainings include those of protocols, trainings also those next to searches whose cell they
    train.
    """

    searches: Sequence[SearchRun]
    trainings: Sequence[TrainRun]
    protocols: Sequence[ProtocolRun]

    @property
    def infos(self) -> list[RunInfo]:
        """Protocols first, then searches, then trainings."""
        return [run.info for runs in (self.protocols, self.searches, self.trainings) for run in runs]

    @property
    def comparable_trainings(self) -> list[TrainRun]:
        """The trainings whose accuracies can be compared: they ended, on the same images.

        Trainings of selecting stages of a sweep count only where there are no others, and so do trainings
        that were not evaluated on test images.
        """
        chosen = [run for run in self.trainings if not run.info.is_dropped]
        chosen = [run for run in chosen if run.result is not None] or chosen
        entries = {run: run.info.sweep_entry for run in chosen}
        chosen = [run for run, entry in entries.items() if entry is None or not entry.selects] or chosen
        return [run for run in chosen if run.final_split == "test"] or chosen


@dataclass(frozen=True)
class Rank:
    """The rank of a cell on one data set of a benchmark, one more than there are better cells of `size`.

    `test` is its test accuracy in the table, `best` the highest there.
    """

    dataset: str
    test: float
    best: float
    rank: int
    size: int


@dataclass(frozen=True)
class SpaceTables:
    """Benchmark tables by the name of their space."""

    tables: Mapping[str, Table]

    def ranks(self, search: SearchRun, genotype: Genotype | None = None) -> list[Rank]:
        """The ranks of a cell of a search, by default the chosen one; empty where no table has it.

        On the data set of the search alone where the table has it, else on all data sets of the table.
        """
        table, genotype = self.tables.get(search.space.name), genotype or search.genotype
        if table is None or genotype is None:
            return []
        ranks = []
        with suppress(GenotypeError, TableError):  # ops may have been left out, nodes added
            for dataset in [name for name in table.datasets if name == search.data] or table.datasets:
                test, ranking = table.query(genotype, dataset).test, table.ranking(dataset)
                rank = ranking.standing(test).rank
                ranks.append(Rank(dataset, test, ranking.best, rank, len(ranking)))
            return ranks
        return []
