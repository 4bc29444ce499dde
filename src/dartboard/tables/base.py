"""What every benchmark can say: the record of an architecture, and where it stands among all others."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import TableError
from dartboard.registry import Registry
from dartboard.space import Genotype, SearchSpace
from dartboard.utils.progress import Progress

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Record:
    """What a benchmark says of one architecture on one data set.

    Args:
        valid: Validation accuracy, a share from 0 to 1; None where the benchmark has none.
        test: Test accuracy, a share from 0 to 1.
        parameters: Weights of the network that was trained.
        flops: Operations of one image, two a multiply-add as `dartboard.nn` counts; None where unknown.
        seconds: How long its training took; None where unknown.
    """

    valid: float | None
    test: float
    parameters: int
    flops: int | None
    seconds: float | None = None


@dataclass(frozen=True)
class Standing:
    """Where a test accuracy stands among those of all architectures of a benchmark.

    Args:
        rank: One more than there are better ones; equal accuracies share a rank.
        regret: The best test accuracy less this one.
        percentile: The share of the architectures that are not better, itself included: 1 for the best.
    """

    rank: int
    regret: float
    percentile: float


class Ranking:
    """The test accuracies of a benchmark on one data set, in order.

    Args:
        tests: The test accuracy of every architecture [architectures], in any order.
    """

    def __init__(self, tests: Floats) -> None:
        if not tests.size:
            raise TableError("a ranking needs at least one accuracy")
        self._ordered = np.sort(tests)
        self._ordered.flags.writeable = False

    def __len__(self) -> int:
        return self._ordered.size

    @property
    def tests(self) -> Floats:
        """All test accuracies, the lowest first [architectures]."""
        return self._ordered

    @property
    def best(self) -> float:
        """The highest test accuracy."""
        return float(self._ordered[-1])

    def standing(self, test: float) -> Standing:
        """Where a test accuracy stands, be it in the benchmark or not."""
        not_better = int(np.searchsorted(self._ordered, test, side="right"))
        rank = len(self) - not_better + 1
        return Standing(rank, self.best - test, not_better / len(self))


class Table(Protocol):
    """A benchmark that knows how well architectures do without training them.

    Attributes:
        name: What it is registered under.
        datasets: The names of the data sets that it knows.
        space: The search space whose genotypes it is asked about.
    """

    name: str
    datasets: tuple[str, ...]
    space: SearchSpace

    def __len__(self) -> int:
        """How many architectures the benchmark holds."""

    def query(self, genotype: Genotype, dataset: str) -> Record:
        """What the benchmark says of the genotype.

        Raises:
            GenotypeError: If the genotype is not of the space.
            TableError: If the benchmark does not hold it, or does not know the data set.
        """

    def ranking(self, dataset: str) -> Ranking:
        """All test accuracies on the data set, in order."""


@runtime_checkable
class SupportsIsomorphic(Protocol):
    """An oracle that knows which of its architectures are one and the same."""

    def isomorphic(self, genotype: Genotype) -> list[Genotype]:
        """All other architectures that count as the same one."""


TABLES: Registry[Callable[[Path], Table]] = Registry("oracle", "dartboard.tables")
"""By name, what reads a benchmark from its file."""

SHIPPED: dict[str, Callable[[], Path]] = {}
"""The files of the benchmarks that ship with the package."""


def load_table(name: str, table: Path | None = None) -> Table:
    """The benchmark of that name.

    Args:
        name: As registered.
        table: Its file; not needed for one that ships with the package.

    Raises:
        UnknownNameError: If there is none of that name.
        TableError: If its file is missing or is not what it should be.
    """
    load = TABLES[name]
    if table is None and name not in SHIPPED:
        raise TableError(f"{name} does not ship with dartboard; name its file with --table (docs/oracles.md)")
    return load(SHIPPED[name]() if table is None else table)


IMPORTS: Registry[Callable[[Path, Path, Progress], int]] = Registry("oracle with an import")
"""By name, what makes a benchmark's table: it takes the path of the official files and that of the table.

It returns how many architectures the table holds.
"""
