"""The rows of the scoreboard as numbers: searches, baselines, and the best cell."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal

from dartboard.scoreboard.baselines import Baseline
from dartboard.scoreboard.published import DIRECT, TRANSFER, Published
from dartboard.scoreboard.records import BenchRecord
from dartboard.scoreboard.statistics import ONE_DRAW, difference, word
from dartboard.tables import Table
from dartboard.utils.statistics import Difference, Summary, summarize

Kind = Literal["search", "baseline", "best"]
RANDOM, BEST = "random", "best cell"
PAPERS_ORACLE = "nb201"


@dataclass(frozen=True)
class ScoreboardRow:
    """What is known of one method.

    Args:
        label: Its name.
        kind: Whether it searches, asks the oracle itself, or is the best there is.
        done: How many seeds there are; for a baseline, how many repeats.
        missing: The seeds that are still to come.
        tests: By data set, the test accuracies of what was chosen; empty where no seed is done.
        regret: On the first data set; None where no seed is done.
        entropy: The mean of the strengths' entropy at the end, in nats; None where there is none.
        seconds: The mean time of a search, or of the trainings asked about; None where unknown.
        kendall: The mean of Kendall's tau; None where it was not measured.
        spearman: The mean of Spearman's rho.
        difference: Of the mean test accuracy on the first data set to random's; None where there is none.
        verdict: That difference in a word; empty where there is none.
        transfer: What the paper found when it searched on CIFAR-10; None where it did not.
        direct: What the paper found when it searched on each data set itself.
    """

    label: str
    kind: Kind
    done: int
    missing: tuple[int, ...] = ()
    tests: Mapping[str, Summary] = field(default_factory=dict)
    regret: Summary | None = None
    entropy: float | None = None
    seconds: float | None = None
    kendall: float | None = None
    spearman: float | None = None
    difference: Difference | None = None
    verdict: str = ""
    transfer: Published | None = None
    direct: Published | None = None


class RowBuilder:
    """Makes rows for one benchmark.

    Args:
        oracle: The benchmark.
        random: The test accuracies on its first data set that others are compared with; empty for none.
    """

    def __init__(self, oracle: Table, random: Sequence[float]) -> None:
        self._datasets, self._first = oracle.datasets, oracle.datasets[0]
        self._best = {name: oracle.ranking(name).best for name in oracle.datasets}
        self._random = random
        self._published = oracle.name == PAPERS_ORACLE

    def of_searches(
        self, label: str, seeds: Sequence[int], records: Mapping[int, BenchRecord]
    ) -> ScoreboardRow:
        """The row of a method.

        Args:
            label: Its name.
            seeds: Those that there shall be.
            records: By seed, what there is.
        """
        done = [records[seed] for seed in seeds if seed in records]
        tests = {name: [own.final.test[name] for own in done] for name in self._datasets}
        ranks = [own.correlation for own in done]
        return replace(
            self._row(label, "search", tests),
            missing=tuple(seed for seed in seeds if seed not in records),
            entropy=_mean(own.final.entropy for own in done),
            seconds=_mean(own.final.seconds for own in done),
            kendall=_mean(None if own is None else own.kendall for own in ranks),
            spearman=_mean(None if own is None else own.spearman for own in ranks),
        )

    def of_baseline(self, baseline: Baseline) -> ScoreboardRow:
        """The row of a baseline; random is not compared with itself."""
        row = self._row(baseline.label, "baseline", baseline.tests)
        if baseline.label == RANDOM:
            row = replace(row, difference=None, verdict="")
        return replace(row, seconds=None if baseline.seconds is None else baseline.seconds[-1])

    def of_best(self) -> ScoreboardRow:
        """The row of what is best on each data set."""
        row = self._row(BEST, "best", {name: [test] for name, test in self._best.items()})
        return replace(row, difference=None, verdict="")

    def _row(self, label: str, kind: Kind, tests: Mapping[str, Sequence[float]]) -> ScoreboardRow:
        values = tests[self._first]
        row = ScoreboardRow(
            label, kind, len(values), transfer=self._of(TRANSFER, label), direct=self._of(DIRECT, label)
        )
        if not values:
            return row
        best = self._best[self._first]
        regret = summarize([best - test for test in values])
        row = replace(row, tests={name: summarize(own) for name, own in tests.items()}, regret=regret)
        if not self._random:
            return row
        found = difference(values, self._random)
        return replace(row, difference=found, verdict=word(found) if len(self._random) > 1 else ONE_DRAW)

    def _of(self, block: Mapping[str, Published], label: str) -> Published | None:
        return block.get(label) if self._published else None


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
