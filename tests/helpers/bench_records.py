"""A small benchmark with made-up numbers, and records of searches that asked it."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from dartboard.scoreboard.baselines import Baseline
from dartboard.scoreboard.records import BenchRecord, Correlation, EpochScore
from dartboard.space import Genotype, SearchSpace, enumerate_genotypes, get_space
from dartboard.tables import NasBench201, Ranking, Record, Table
from dartboard.tables.nb201 import COLUMNS
from helpers.nb201_data import made_up


@cache
def ranked_cells() -> dict[Genotype, int]:
    """Where each architecture of the nano space stands, the worst at 0."""
    found = list(enumerate_genotypes(get_space("nano")))
    return {own: 37 * place % len(found) for place, own in enumerate(found)}


class SmallOracle:
    """All 216 architectures of nano; on `one` from 0.4 to 0.83 in steps of 0.002, on `two` half of that.

    Args:
        valid: Whether there are validation accuracies: 0.1 below test ones, but for the best two, swapped.
        seconds: What every training takes.
    """

    name = "small"
    datasets: tuple[str, ...] = ("one", "two")

    def __init__(self, *, valid: bool = True, seconds: float | None = None) -> None:
        self.space: SearchSpace = get_space("nano")
        self._valid, self._seconds = valid, seconds
        self.asked = 0

    def __len__(self) -> int:
        return len(ranked_cells())

    def query(self, genotype: Genotype, dataset: str) -> Record:
        self.asked += 1
        place, share = ranked_cells()[genotype], 1 if dataset == "one" else 0.5
        seen = {215: 214, 214: 215}.get(place, place)
        valid = share * (0.3 + 0.002 * seen) if self._valid else None
        return Record(valid, share * accuracy(place), 1000, None, self._seconds)

    def ranking(self, dataset: str) -> Ranking:
        share = 1 if dataset == "one" else 0.5
        return Ranking(share * np.array([accuracy(place) for place in range(len(self))]))


def accuracy(place: int) -> float:
    """The test accuracy on `one`."""
    return 0.4 + 0.002 * place


def record(
    label: str, seed: int, curve: Sequence[float], *, entropy: float | None = 0.5, pace: float | None = 2.0
) -> BenchRecord:
    """A search whose cells had those test accuracies on `one`, one an epoch; correlations from the seed."""
    points = tuple(
        EpochScore(
            epoch, None if pace is None else pace * epoch, entropy, "cell", {"one": test, "two": test / 2}
        )
        for epoch, test in enumerate(curve, start=1)
    )
    ranks = Correlation(0.1 * seed, 0.2 * seed, 50) if seed else None
    best = {name: SmallOracle().ranking(name).best for name in SmallOracle.datasets}
    return BenchRecord(label, seed, "small", best, points, points[-1], ranks, {}, {})


def random_at(tests: Sequence[float], label: str = "random", *, seconds: float | None = None) -> Baseline:
    """A baseline of two queries whose repeats came to those test accuracies on `one`."""
    paid = None if seconds is None else [seconds, 2 * seconds]
    both = {"one": list(tests), "two": [test / 2 for test in tests]}
    return Baseline(label, 2, "valid", both, [0.3, 0.2], paid)


@cache
def made_up_nb201() -> NasBench201:
    """NAS-Bench-201 with made-up numbers."""
    columns = made_up()
    values = {name: np.array(columns[name], dtype=np.float64) for name in COLUMNS[1:]}
    shares = {name: values[name] / 100 for name in COLUMNS[1:-2]}
    return NasBench201(
        [str(cell) for cell in columns["arch_str"]], shares, *(values[n] for n in COLUMNS[-2:])
    )


def on_nb201(label: str, seed: int, oracle: Table) -> BenchRecord:
    """A search of one epoch that found the worst cell."""
    best = {name: oracle.ranking(name).best for name in oracle.datasets}
    point = EpochScore(1, 1.0, 1.0, "cell", {name: float(oracle.ranking(name).tests[0]) for name in best})
    return BenchRecord(label, seed, oracle.name, best, (point,), point, None, {}, {})
