"""A search of a bench as a job; when it is over, a table scores its cells and its shared weights."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from scipy.stats import kendalltau, spearmanr

from dartboard.engine.process import find_device
from dartboard.errors import GenotypeError, RunError, Stopped
from dartboard.jobs.job import Job, State
from dartboard.jobs.loops import LoopKind, check_settings
from dartboard.jobs.runner import KINDS, JobRunner
from dartboard.relax.base import Relaxation
from dartboard.runs import Run, RunReader, is_run
from dartboard.scoreboard.bench import BenchSearch, portable
from dartboard.scoreboard.records import (
    STRICT,
    Accuracies,
    Amount,
    BenchRecord,
    Correlation,
    EpochScore,
    Whole,
    find_record,
    first_mistake,
)
from dartboard.search import Searcher
from dartboard.search.config import SEARCH
from dartboard.search.health import discrete_accuracy
from dartboard.search.searcher import restore_search
from dartboard.space import GENOTYPE_FORMATS, Genotype, SearchSpace, decode, sample
from dartboard.tables import Table, load_table

VERSIONS = ("dartboard", "python", "torch", "numpy")
SEED = 0
"""Random seed by which architectures are drawn."""
MAX_DRAWS = 20
"""Largest number of draws for each architecture that is wanted: a small space may have fewer."""


@dataclass(frozen=True)
class Scoring:
    """Where the searches of a bench run, and how they are scored.

    Args:
        runs: Directory of the runs.
        records: Directory of the records.
        table_name: Name of the benchmark table.
        table_file: File of the table; None for one that comes with the package.
        correlation: Number of architectures whose accuracy with shared weights is compared with the table.
        device: Where to compute.
        threads: Torch threads of each search.
        plugins: Python files to load first.
        fall_back: Whether an older checkpoint will do where the last of a run is damaged.
    """

    runs: Path
    records: Path
    table_name: str
    table_file: Path | None = None
    correlation: int = 0
    device: str | None = None
    threads: int | None = None
    plugins: tuple[str, ...] = ()
    fall_back: bool = False

    def job(self, search: BenchSearch) -> Job:
        """The job of a search."""
        options = {
            "label": search.label,
            "records": str(self.records.resolve()),
            "oracle": self.table_name,
            "table": None if self.table_file is None else str(self.table_file.resolve()),
            "correlation": self.correlation,
        }
        return Job(
            search.name,
            str(self.runs.resolve()),
            "scored-search",
            search.settings(),
            threads=self.threads,
            device=self.device,
            plugins=self.plugins,
            fall_back=self.fall_back,
            options=options,
        )

    def record(self, search: BenchSearch) -> BenchRecord | None:
        """The record of a search, as `find_record`; None if it is not there yet."""
        return find_record(search, self.records, self.table_name)


@dataclass(frozen=True)
class ScoredJob:
    """What a job of `Scoring.job` asks for, parsed: the search, and how it is scored; see `Scoring`."""

    search: BenchSearch
    records: Path
    table_name: str
    table_file: Path | None
    correlation: int

    @classmethod
    def parse(cls, job: Job) -> "ScoredJob":
        """From the options of the job, whose keys are those that queues of jobs have on disk."""
        options = job.options or {}
        return cls(
            search=BenchSearch(str(options["label"]), SEARCH.validate(job.config)),
            records=Path(options["records"]),
            table_name=options["oracle"],
            table_file=None if options["table"] is None else Path(options["table"]),
            correlation=options["correlation"],
        )


@KINDS.register("scored-search")
class ScoredSearch:
    """Runs a search, then writes its record."""

    @staticmethod
    def status(job: Job) -> State | None:
        """`finished` if the record is there, else None; refuses records and runs of other settings."""
        scored = ScoredJob.parse(job)
        if find_record(scored.search, scored.records, scored.table_name) is not None:
            return "finished"
        if is_run(job.path):
            check_settings(job, RunReader.read(job.path))
        return None

    @staticmethod
    def run(job: Job, runner: JobRunner) -> State:
        """Runs the search to its end unless it is there, and scores it."""
        state = LoopKind.status(job) or LoopKind.run(job, runner)
        if state != "finished":
            return state
        scored, run = ScoredJob.parse(job), Run.read(job.path)
        table = _load_table(scored.table_name, scored.table_file)
        correlation = None
        if scored.correlation:
            try:
                correlation = _correlation(job, runner, run, table, scored.correlation)
            except Stopped:
                return "stopped"
        record = score_run(scored.search, run, table, correlation)
        scored.records.mkdir(parents=True, exist_ok=True)
        record.write(scored.records)
        return "finished"


@lru_cache(maxsize=1)
def _load_table(name: str, file: Path | None) -> Table:
    return load_table(name, file)


def _correlation(job: Job, runner: JobRunner, run: Run, table: Table, samples: int) -> Correlation | None:
    """Rank correlation of the finished supernet; None where the method trains nothing."""
    searcher = runner.builder(find_device(job.device)).build_job(job)
    assert isinstance(searcher, Searcher)  # noqa: S101
    if not searcher.method.trains:
        return None
    with runner.stoppable(searcher.stop):
        restore_search(searcher, run, fall_back=job.fall_back)
        return correlate(searcher, table, samples)


@dataclass(frozen=True)
class EpochChoice:
    """The cell that a search would select after an epoch, as its run has it; see `EpochScore`."""

    __pydantic_config__: ClassVar = ConfigDict({**STRICT, "extra": "ignore"})

    epoch: Whole
    seconds: Amount | None
    entropy: float | None
    genotype: dict[str, Any]


@cache
def _epoch_choices() -> TypeAdapter[EpochChoice]:
    return TypeAdapter(EpochChoice)


def score_run(
    search: BenchSearch, run: RunReader, table: Table, correlation: Correlation | None
) -> BenchRecord:
    """The record of a finished search, scored by a benchmark table.

    Raises:
        RunError: If the run is not finished, or is damaged.
        TableError: If the table does not have a cell.
    """
    result = run.result()
    if result is None:
        raise RunError(f"{run.path} is not finished; an oracle is asked when a search is over")
    accuracies: dict[Genotype, Accuracies] = {}

    def score(values: Mapping[str, Any]) -> EpochScore:
        """The score of the cell that an epoch's metrics, or the result, say would be selected."""
        place = f"{run.path} was changed after it was written: epoch {values['epoch']}"
        try:
            choice = _epoch_choices().validate_json(json.dumps(dict(values)))
            genotype = decode(json.dumps(choice.genotype))
        except ValidationError as error:
            raise RunError(f"{place}: {first_mistake(error)}") from None
        except GenotypeError as error:
            raise RunError(f"{place}: {error}") from None
        if genotype not in accuracies:  # most epochs have the cell of the epoch before
            accuracies[genotype] = {name: table.query(genotype, name).test for name in table.datasets}
        cell, tests = shortest(genotype), accuracies[genotype]
        return EpochScore(choice.epoch, choice.seconds, choice.entropy, cell, tests)

    rows = [row | run.epoch(row["epoch"]) | {"epoch": row["epoch"] + 1} for row in run.metrics()]
    *points, final = map(score, (*rows, result | {"epoch": result.get("epochs")}))
    return BenchRecord(
        label=search.label,
        seed=search.seed,
        oracle=table.name,
        best={dataset: table.ranking(dataset).best for dataset in table.datasets},
        points=tuple(points),
        final=final,
        correlation=correlation,
        settings=portable(search.settings()),
        versions=versions(run),
    )


def shortest(genotype: Genotype) -> str:
    """A genotype in the shortest of the formats that can express it."""
    texts = []
    for genotype_format in GENOTYPE_FORMATS.values():
        with suppress(GenotypeError):
            texts.append(genotype_format.encode(genotype))
    return min(texts, key=len)


def versions(run: RunReader) -> dict[str, str]:
    """Versions of the software that a run was last resumed with."""
    last = run.environment()[-1]
    known = {name: str(last[name]) for name in VERSIONS if name in last}
    source = last.get("git")
    revision = source.get("revision") if isinstance(source, Mapping) else None
    return known | ({} if revision is None else {"revision": str(revision)})


def correlate(searcher: Searcher, table: Table, samples: int) -> Correlation | None:
    """Rank correlations of the accuracy with shared weights and the test accuracy of a benchmark table.

    The former is measured on held-out images with the ops of an architecture alone, the latter is that of the
    first data set (the rank disorder of Li et al. 2021). None if there are fewer than two architectures.

    Args:
        searcher: A trained search; it is not changed.
        table: The table, which has the cells of its space.
        samples: Number of different architectures; a small space may have fewer.
    """
    genotypes = draw_genotypes(live_space(searcher.space, searcher.relaxation), samples)
    if len(genotypes) < 2:
        return None
    shared = [
        discrete_accuracy(searcher.objective, genotype, searcher.valid_batches()) for genotype in genotypes
    ]
    true = [table.query(genotype, table.datasets[0]).test for genotype in genotypes]
    return rank_correlation(shared, true)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Kendall's tau and Spearman's rho; both 0 if all values of one side are equal."""
    if len(set(first)) == 1 or len(set(second)) == 1:
        return Correlation(0.0, 0.0, len(first))
    kendall, spearman = kendalltau(first, second).statistic, spearmanr(first, second).statistic
    return Correlation(float(kendall), float(spearman), len(first))


def live_space(space: SearchSpace, relaxation: Relaxation) -> SearchSpace:
    """The space without the candidates that a search has removed for good, whose weights are gone."""
    groups = []
    for name, cell in space.groups:
        live = zip(cell.edges, relaxation.live(name), strict=True)
        edges = tuple(
            replace(edge, ops=tuple(edge.ops[index] for index in indices)) for edge, indices in live
        )
        groups.append((name, replace(cell, edges=edges)))
    return replace(space, groups=tuple(groups))


def draw_genotypes(space: SearchSpace, samples: int) -> list[Genotype]:
    """Different architectures of a space, always the same ones; fewer if it has no more."""
    rng, genotypes = Random(SEED), dict[Genotype, None]()
    for _ in range(MAX_DRAWS * samples):
        genotypes.setdefault(sample(space, rng))
        if len(genotypes) == samples:
            break
    return list(genotypes)
