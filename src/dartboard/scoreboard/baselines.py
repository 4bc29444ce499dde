"""What methods are compared with: baselines that query the benchmark table, and published results.

The baselines are random search and evolution, with the budget of a search. The results are those of table 2
of Li et al. 2021 (GAEA) on NAS-Bench-201, by the labels of this package; methods that are not in it have the
names of the paper. DARTS is in the first block of the table twice; the numbers here are those of Dong & Yang
2020, to whom most of that block belongs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

import numpy as np

from dartboard.errors import OptionError, TableError
from dartboard.registry import Registry
from dartboard.search.select import Evolve, Score
from dartboard.space import Genotype, sample
from dartboard.tables import Record, Table
from dartboard.utils.statistics import affordable

Judge = Literal["valid", "test"]

POPULATION, TOURNAMENT = 50, 10
TRAININGS = 200
"""Number of architectures whose mean training time is taken."""
DATASETS = ("cifar10", "cifar100", "imagenet16-120")
"""The data sets of the published results."""


REFERENCES = (10, 100)
"""Numbers of random architectures the best of which every scoreboard shows, beside the mean cell."""


@dataclass(frozen=True)
class Baseline:
    """Results of a baseline over many repeats.

    Args:
        label: Its name.
        queries: Number of architectures that each repeat queries.
        judge: The accuracy it selects by, on the first data set: `test` where the benchmark has no other.
        tests: By data set, the test accuracy of the selected architecture of each repeat [draws].
        regrets: Mean regret on the first data set after each query [queries].
        seconds: Mean time of the trainings up to each query [queries]; None where unknown.
    """

    label: str
    queries: int
    judge: Judge
    tests: Mapping[str, Sequence[float]]
    regrets: Sequence[float]
    seconds: Sequence[float] | None

    @property
    def draws(self) -> int:
        """Number of repeats."""
        return len(next(iter(self.tests.values())))


BASELINES: Registry[Callable[[Score, int], Evolve]] = Registry("baseline")
"""By name, a search that spends a number of queries."""


@BASELINES.register("random")
def random(score: Score, queries: int) -> Evolve:
    """Random search: the best of a number of architectures drawn uniformly; evolution without a cycle."""
    return Evolve(score, population=queries, tournament=1, cycles=queries)


@BASELINES.register("evolution")
def evolution(score: Score, queries: int) -> Evolve:
    """Regularized evolution (Real et al. 2019); random search if its population takes all queries."""
    population = min(POPULATION, queries)
    return Evolve(score, population, min(TOURNAMENT, population), queries)


class TableScore:
    """Scores architectures by a benchmark table on its first data set.

    Attributes:
        records: The record of each query, in order.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self.records: list[Record] = []

    def __call__(self, genotype: Genotype) -> float:
        self.records.append(self._table.query(genotype, self._table.datasets[0]))
        return score(self.records[-1])


def score(record: Record) -> float:
    """The accuracy that baselines select by: on validation images, where there is one."""
    return record.test if record.valid is None else record.valid


def run_baseline(name: str, table: Table, queries: int, draws: int) -> Baseline:
    """A baseline, repeated with the seeds from 0.

    Raises:
        UnknownNameError: If there is no such baseline.
        OptionError: If there is no query, or no repeat.
    """
    if min(queries, draws) < 1:
        raise OptionError(f"baselines need at least 1 query and 1 draw, got {queries} and {draws}")
    selected, best_tests, seconds = [], [], []
    for seed in range(draws):
        table_score, rng = TableScore(table), Random(f"{name} {seed}")  # no two baselines draw the same
        selected.append(BASELINES[name](table_score, queries).history(table.space, rng)[-1][1])
        records, best_so_far = table_score.records, table_score.records[:1]
        for record in records[1:]:
            best_so_far.append(max(best_so_far[-1], record, key=score))
        best_tests.append([record.test for record in best_so_far])
        seconds.append([np.nan if record.seconds is None else record.seconds for record in records])
    tests = {dataset: [table.query(cell, dataset).test for cell in selected] for dataset in table.datasets}
    regrets = table.ranking(table.datasets[0]).best - np.mean(best_tests, axis=0)
    times = np.mean(np.cumsum(seconds, axis=1), axis=0)
    known = None if np.isnan(times).any() else times.tolist()
    return Baseline(name, queries, judge(table), tests, regrets.tolist(), known)


def mean_cell(table: Table) -> Baseline:
    """Random search with a single query, exactly: the mean over all architectures."""
    tests = {name: [float(table.ranking(name).tests.mean())] for name in table.datasets}
    first = table.datasets[0]
    regret = table.ranking(first).best - tests[first][0]
    return Baseline("mean cell", 1, judge(table), tests, [regret], None)


def random_references(table: Table, draws: int) -> list[Baseline]:
    """What random means on this table: the mean cell, and the best of 10 and of 100 random ones."""
    best = [run_baseline("random", table, queries, draws) for queries in REFERENCES if queries < len(table)]
    return [mean_cell(table), *(replace(item, label=f"best of {item.queries}") for item in best)]


def judge(table: Table) -> Judge:
    """The accuracy that baselines select by: `test` where the benchmark has no validation accuracies."""
    return "test" if _sample_records(table, 1)[0].valid is None else "valid"


def queries_for(seconds: float, table: Table) -> int:
    """Number of trainings, at least one, that fit into this number of seconds at their mean time.

    Raises:
        TableError: If the oracle does not know how long trainings took.
    """
    seconds_of = [record.seconds for record in _sample_records(table, TRAININGS)]
    known = [value for value in seconds_of if value is not None]
    if len(known) < TRAININGS:
        raise TableError(
            f"{table.name} does not know how long trainings take; say how many architectures random and "
            "evolution may ask about with queries=N"
        )
    return max(affordable(seconds, known), 1)


def _sample_records(table: Table, count: int) -> list[Record]:
    """Records of some architectures, always the same ones."""
    rng = Random(0)
    return [table.query(sample(table.space, rng), table.datasets[0]) for _ in range(count)]


@dataclass(frozen=True)
class PublishedResult:
    """A row of the published table.

    Args:
        means: Mean test accuracy by data set, as a fraction.
        deviations: Standard deviation by data set; None where the paper has none.
        seconds: Duration of the search; None where the paper does not say.
    """

    means: Mapping[str, float]
    deviations: Mapping[str, float | None]
    seconds: int | None


def _row(seconds: int | None, *percents: tuple[float, float | None]) -> PublishedResult:
    named = dict(zip(DATASETS, percents, strict=True))
    means = {name: mean / 100 for name, (mean, _) in named.items()}
    deviations = {name: None if std is None else std / 100 for name, (_, std) in named.items()}
    return PublishedResult(means, deviations, seconds)


TRANSFER = {
    "evolution": _row(None, (93.92, 0.30), (71.84, 0.99), (45.54, 1.03)),
    "random": _row(None, (93.70, 0.36), (71.04, 1.08), (44.57, 1.25)),
    "reinforce": _row(None, (93.85, 0.37), (71.71, 1.09), (45.25, 1.18)),
    "bohb": _row(None, (93.61, 0.52), (70.85, 1.28), (44.42, 1.49)),
    "random-ws": _row(7587, (87.66, 1.69), (58.33, 4.34), (31.14, 3.88)),
    "darts": _row(35781, (54.30, 0.00), (15.61, 0.00), (16.32, 0.00)),
    "setn": _row(34139, (87.64, 0.00), (59.05, 0.24), (32.52, 0.21)),
    "gdas": _row(31609, (93.61, 0.09), (70.70, 0.30), (41.71, 0.98)),
    "gaea-darts": _row(7930, (91.63, 2.57), (68.39, 4.47), (41.59, 4.20)),
    "darts-erm": _row(18112, (84.39, 3.82), (54.81, 7.08), (31.82, 4.78)),
    "gaea-darts-erm": _row(9061, (94.10, 0.29), (72.60, 0.89), (45.81, 0.51)),
    "best cell": _row(None, (94.37, None), (73.51, None), (47.31, None)),
}
"""Searched on CIFAR-10; the cell was trained on each data set."""

DIRECT = {
    "gdas": _row(27923, (93.52, 0.15), (67.52, 0.15), (40.91, 0.12)),
    "gaea-gdas": _row(16754, (93.55, 0.13), (70.47, 0.47), (40.91, 0.12)),
    "darts": _row(10683, (54.30, 0.00), (15.32, 0.00), (28.96, 10.22)),
    "gaea-darts": _row(7930, (91.63, 2.57), (71.87, 0.57), (45.69, 0.56)),
    "darts-erm": _row(18112, (84.39, 3.82), (51.26, 6.14), (31.35, 7.46)),
    "gaea-darts-erm": _row(9061, (94.10, 0.29), (73.43, 0.13), (46.36, 0.00)),
    "best cell": _row(None, (94.37, None), (73.51, None), (47.31, None)),
}
"""Searched on each data set itself."""
