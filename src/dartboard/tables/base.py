"""Benchmark tables: the record of an architecture, and its rank among all others."""

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
    """Results of one architecture on one data set.

    Args:
        valid: Validation accuracy from 0 to 1; None where the benchmark has none.
        test: Test accuracy from 0 to 1.
        parameters: Parameters of the network that was trained.
        flops: FLOPs of one image, two per multiply-add as `dartboard.nn` counts; None where unknown.
        seconds: Training time; None where unknown.
    """

    valid: float | None
    test: float
    parameters: int
    flops: int | None
    seconds: float | None = None


@dataclass(frozen=True)
class Standing:
    """Rank of a test accuracy among those of all architectures of a benchmark.

    Args:
        rank: One more than the number of better ones; equal accuracies share a rank.
        regret: The best test accuracy less this one.
        percentile: Fraction of the architectures that are not better, itself included: 1 for the best.
    """

    rank: int
    regret: float
    percentile: float


class Ranking:
    """The sorted test accuracies of a benchmark on one data set.

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
        """Standing of a test accuracy, in the benchmark or not."""
        not_better = int(np.searchsorted(self._ordered, test, side="right"))
        rank = len(self) - not_better + 1
        return Standing(rank, self.best - test, not_better / len(self))


class Table(Protocol):
    """A benchmark that looks up how well architectures do instead of training them.

    Attributes:
        name: Name in the registry.
        datasets: Names of its data sets.
        space: Search space of its genotypes.
    """

    name: str
    datasets: tuple[str, ...]
    space: SearchSpace

    def __len__(self) -> int:
        """Number of architectures."""

    def query(self, genotype: Genotype, dataset: str) -> Record:
        """Results of a genotype.

        Raises:
            GenotypeError: If the genotype is not in the space.
            TableError: If the benchmark does not have it, or not that data set.
        """

    def ranking(self, dataset: str) -> Ranking:
        """All test accuracies on the data set, sorted."""


def check_dataset(table: Table, dataset: str) -> None:
    """Raises a TableError unless the table has the data set."""
    if dataset not in table.datasets:
        known = ", ".join(table.datasets)
        raise TableError(f"{table.name} knows nothing of data set {dataset!r}; it knows {known}")


@runtime_checkable
class SupportsIsomorphic(Protocol):
    """A table that knows which of its architectures are isomorphic."""

    def isomorphic(self, genotype: Genotype) -> list[Genotype]:
        """All other architectures that count as the same one."""


TABLES: Registry[Callable[[Path], Table]] = Registry("oracle", "dartboard.tables")
"""Loaders of tables from their file, by name."""


def register_table(name: str) -> Callable[[Callable[[Path], Table]], Callable[[Path], Table]]:
    """Decorator that registers a function from a file to a benchmark table as the table `name`.

    Examples:
        >>> from dartboard import register_table
        >>> from dartboard.tables import load_nano, load_table
        >>> @register_table("nano-copy")
        ... def load_copy(path):
        ...     '''A copy of the table of the nano space.'''
        ...     return load_nano(path)
    """
    return TABLES.register(name, stacklevel=2)


SHIPPED: dict[str, Callable[[], Path]] = {}
"""Paths of the tables that ship with the package, by name."""


def load_table(name: str, table: Path | None = None) -> Table:
    """The benchmark table of that name.

    Args:
        name: Name in `TABLES`.
        table: Its file; not needed for one that ships with the package.

    Raises:
        UnknownNameError: If no table has that name.
        TableError: If its file is missing or is not what it should be.
    """
    load = TABLES[name]
    if table is None and name not in SHIPPED:
        raise TableError(f"{name} does not ship with dartboard; name its file with --table (docs/oracles.md)")
    return load(SHIPPED[name]() if table is None else table)


IMPORTS: Registry[Callable[[Path, Path, Progress], int]] = Registry("oracle with an import")
"""Functions by name that convert official files (first path) to a table (second path).

They return the number of architectures in the table.
"""
