"""Where found cells stand among all cells of a space that a benchmark knows."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dartboard.errors import GenotypeError, OptionError, TableError
from dartboard.report.models import SearchFound
from dartboard.space import Genotype
from dartboard.tables import SHIPPED, TABLES, Table, load_table


@dataclass(frozen=True)
class Rank:
    """Where a cell stands on one data set of a benchmark.

    Args:
        dataset: Its name.
        test: Accuracy on test images that the benchmark tells.
        best: The highest that it knows.
        rank: One more than there are better cells.
        size: How many cells there are.
    """

    dataset: str
    test: float
    best: float
    rank: int
    size: int


@dataclass(frozen=True)
class Oracles:
    """Benchmarks by the names of the spaces that they know."""

    known: Mapping[str, Table]

    def ranks(self, search: SearchFound, genotype: Genotype | None = None) -> list[Rank]:
        """Where a cell of a search stands, that which was chosen unless another is given; nothing if unknown.

        On the images of the search alone where the benchmark knows them, else on all that it knows.
        """
        oracle, genotype = self.known.get(search.space.name), genotype or search.genotype
        if oracle is None or genotype is None:
            return []
        datasets = [own for own in oracle.datasets if own == search.data] or oracle.datasets
        with suppress(GenotypeError, TableError):  # ops may have been left out, nodes added
            return [_rank(oracle, genotype, dataset) for dataset in datasets]
        return []


def _rank(oracle: Table, genotype: Genotype, dataset: str) -> Rank:
    test, ranking = oracle.query(genotype, dataset).test, oracle.ranking(dataset)
    return Rank(dataset, test, ranking.best, ranking.standing(test).rank, len(ranking))


def find_oracles(searches: Sequence[SearchFound], table: Path | None) -> Oracles:
    """The benchmarks that know the spaces of searches.

    Args:
        searches: Whose cells they will be asked about.
        table: The file of one that does not ship with the package.

    Raises:
        OptionError: If a table is given that no search needs, or that several would.
        TableError: If it is not the table of that benchmark.
    """
    names = dict.fromkeys(own.space.name for own in searches if own.space.name in TABLES)
    asked = [name for name in names if name not in SHIPPED]
    if table is not None and len(asked) != 1:
        spaces = ", ".join(dict.fromkeys(own.space.name for own in searches)) or "none"
        raise OptionError(
            f"{table} can be the table of one benchmark, and the spaces searched are {spaces}; "
            f"there are benchmarks for {', '.join(name for name in TABLES if name not in SHIPPED)}"
        )
    wanted = [*(name for name in names if name in SHIPPED), *(asked if table is not None else ())]
    return Oracles({name: load_table(name, None if name in SHIPPED else table) for name in wanted})
