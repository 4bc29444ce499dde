"""Baselines: random search and evolution that query the benchmark table, with the budget of a search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
    """Random search: the best of so many architectures drawn uniformly; evolution without a cycle."""
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

    def __init__(self, oracle: Table) -> None:
        self._oracle = oracle
        self.records: list[Record] = []

    def __call__(self, genotype: Genotype) -> float:
        self.records.append(self._oracle.query(genotype, self._oracle.datasets[0]))
        return score(self.records[-1])


def score(record: Record) -> float:
    """The accuracy that baselines select by: on validation images, where there is one."""
    return record.test if record.valid is None else record.valid


def run_baseline(name: str, oracle: Table, queries: int, draws: int) -> Baseline:
    """A baseline, repeated with the seeds from 0.

    Raises:
        UnknownNameError: If there is no such baseline.
        OptionError: If there is no query, or no repeat.
    """
    if min(queries, draws) < 1:
        raise OptionError(f"baselines need at least 1 query and 1 draw, got {queries} and {draws}")
    selected, best_tests, seconds = [], [], []
    for seed in range(draws):
        table_score, rng = TableScore(oracle), Random(f"{name} {seed}")  # no two baselines draw the same
        selected.append(BASELINES[name](table_score, queries).history(oracle.space, rng)[-1][1])
        records, best_so_far = table_score.records, table_score.records[:1]
        for record in records[1:]:
            best_so_far.append(max(best_so_far[-1], record, key=score))
        best_tests.append([record.test for record in best_so_far])
        seconds.append([np.nan if record.seconds is None else record.seconds for record in records])
    tests = {dataset: [oracle.query(cell, dataset).test for cell in selected] for dataset in oracle.datasets}
    regrets = oracle.ranking(oracle.datasets[0]).best - np.mean(best_tests, axis=0)
    times = np.mean(np.cumsum(seconds, axis=1), axis=0)
    known = None if np.isnan(times).any() else times.tolist()
    return Baseline(name, queries, judge(oracle), tests, regrets.tolist(), known)


def judge(oracle: Table) -> Judge:
    """The accuracy that baselines select by: `test` where the benchmark has no validation accuracies."""
    return "test" if _sample_records(oracle, 1)[0].valid is None else "valid"


def queries_for(seconds: float, oracle: Table) -> int:
    """Number of trainings, at least one, that fit into so many seconds at their mean time.

    Raises:
        TableError: If the oracle does not know how long trainings took.
    """
    seconds_of = [record.seconds for record in _sample_records(oracle, TRAININGS)]
    known = [value for value in seconds_of if value is not None]
    if len(known) < TRAININGS:
        raise TableError(
            f"{oracle.name} does not know how long trainings take; say how many architectures random and "
            "evolution may ask about with queries=N"
        )
    return max(affordable(seconds, known), 1)


def _sample_records(oracle: Table, count: int) -> list[Record]:
    """Records of some architectures, always the same ones."""
    rng = Random(0)
    return [oracle.query(sample(oracle.space, rng), oracle.datasets[0]) for _ in range(count)]
