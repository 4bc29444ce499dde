"""What a search has to beat: asking the oracle itself, at random or by evolution, as often as it pays for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import OptionError, TableError
from dartboard.registry import Registry
from dartboard.search.select import Evolve, Score
from dartboard.space import Genotype, sample
from dartboard.tables import Record, Table
from dartboard.utils.statistics import affordable

Floats = NDArray[np.float64]
Judge = Literal["valid", "test"]

POPULATION, TOURNAMENT = 50, 10
TRAININGS = 200
"""Of how many architectures the mean time of a training is taken."""


@dataclass(frozen=True)
class Baseline:
    """What many repeats of a baseline came to.

    Args:
        label: Its name.
        queries: How many architectures each repeat asked about.
        judge: Which accuracy on the first data set it chose by: `test` where the benchmark has no other.
        tests: By data set, the test accuracy of what each repeat chose [draws].
        regrets: The mean regret on the first data set after each query [queries].
        seconds: How long the trainings up to each query take, on the mean [queries]; None where unknown.
    """

    label: str
    queries: int
    judge: Judge
    tests: Mapping[str, Sequence[float]]
    regrets: Sequence[float]
    seconds: Sequence[float] | None

    @property
    def draws(self) -> int:
        """How many times it was repeated."""
        return len(next(iter(self.tests.values())))


BASELINES: Registry[Callable[[Score, int], Evolve]] = Registry("baseline")
"""By name, what spends a number of queries."""


@BASELINES.register("random")
def random(score: Score, queries: int) -> Evolve:
    """The best of so many architectures, each as likely as any other: evolution that is never left time."""
    return Evolve(score, population=queries, tournament=1, cycles=queries)


@BASELINES.register("evolution")
def evolution(score: Score, queries: int) -> Evolve:
    """Regularised evolution (Real et al. 2019); with no more queries than its population, it is random."""
    population = min(POPULATION, queries)
    return Evolve(score, population, min(TOURNAMENT, population), queries)


class TableScore:
    """Scores architectures by an oracle's word on its first data set, and remembers what it was told.

    Attributes:
        told: What was said of each architecture, in the order of the questions.
    """

    def __init__(self, oracle: Table) -> None:
        self._oracle = oracle
        self.told: list[Record] = []

    def __call__(self, genotype: Genotype) -> float:
        self.told.append(self._oracle.query(genotype, self._oracle.datasets[0]))
        return score(self.told[-1])


def score(record: Record) -> float:
    """What a baseline chooses by: the validation accuracy, where there is one."""
    return record.test if record.valid is None else record.valid


@dataclass(frozen=True)
class BaselineRun:
    """One repeat of a baseline.

    Args:
        chosen: The architecture that it came to.
        tests: The test accuracy of the best so far after each query [queries].
        seconds: How long the trainings up to each query take [queries]; no numbers where unknown.
    """

    chosen: Genotype
    tests: Floats
    seconds: Floats


def run_baseline(name: str, oracle: Table, queries: int, draws: int) -> Baseline:
    """A baseline, repeated with the seeds from 0.

    Raises:
        UnknownNameError: If there is no such baseline.
        OptionError: If there is nothing to ask, or no repeat.
    """
    if min(queries, draws) < 1:
        raise OptionError(f"baselines need at least 1 query and 1 draw, got {queries} and {draws}")
    found = [_draw(name, oracle, queries, seed) for seed in range(draws)]
    tests = {own: [oracle.query(each.chosen, own).test for each in found] for own in oracle.datasets}
    best = oracle.ranking(oracle.datasets[0]).best
    regrets = best - np.mean([each.tests for each in found], axis=0)
    seconds = np.mean([each.seconds for each in found], axis=0)
    known = None if np.isnan(seconds).any() else seconds.tolist()
    return Baseline(name, queries, judge(oracle), tests, regrets.tolist(), known)


def _draw(name: str, oracle: Table, queries: int, seed: int) -> BaselineRun:
    asking, rng = TableScore(oracle), Random(f"{name} {seed}")  # no two baselines draw the same
    history = BASELINES[name](asking, queries).history(oracle.space, rng)
    tests = [best.test for best in accumulate(asking.told, _better)]
    seconds = [np.nan if told.seconds is None else told.seconds for told in asking.told]
    return BaselineRun(history[-1][1], np.array(tests), np.cumsum(seconds))


def _better(one: Record, other: Record) -> Record:
    """The one with the higher score, the first where they are equal."""
    return other if score(other) > score(one) else one


def judge(oracle: Table) -> Judge:
    """Which accuracy baselines choose by: `test` where the benchmark has no validation accuracies."""
    return "test" if _some(oracle, 1)[0].valid is None else "valid"


def queries_for(seconds: float, oracle: Table) -> int:
    """How many trainings so many seconds pay for, one at least, at what they take on the mean.

    Raises:
        TableError: If the oracle does not know how long trainings took.
    """
    known = [told.seconds for told in _some(oracle, TRAININGS) if told.seconds is not None]
    if len(known) < TRAININGS:
        raise TableError(
            f"{oracle.name} does not know how long trainings take; say how many architectures random and "
            "evolution may ask about with queries=N"
        )
    return max(affordable(seconds, known), 1)


def _some(oracle: Table, count: int) -> list[Record]:
    """What the oracle says of some architectures, always the same ones."""
    rng = Random(0)
    return [oracle.query(sample(oracle.space, rng), oracle.datasets[0]) for _ in range(count)]
