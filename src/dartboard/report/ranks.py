"""Ranks of searched cells among all cells of a space, from benchmark tables."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dartboard.errors import GenotypeError, OptionError, TableError
from dartboard.report.report_runs import SearchRun
from dartboard.space import Genotype
from dartboard.tables import SHIPPED, TABLES, Table, load_table


@dataclass(frozen=True)
class Rank:
    """The rank of a cell on one data set of a benchmark.

    Args:
        dataset: Name of the data set.
        test: Test accuracy in the table.
        best: The highest test accuracy in the table.
        rank: One more than there are better cells.
        size: How many cells there are.
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


def find_tables(searches: Sequence[SearchRun], table: Path | None) -> SpaceTables:
    """The benchmark tables of the spaces of searches.

    Args:
        searches: Searches whose cells will be looked up.
        table: The file of a table that does not ship with the package.

    Raises:
        OptionError: If a table is given that no search needs, or that several would.
        TableError: If it is not the table of that benchmark.
    """
    spaces = dict.fromkeys(search.space.name for search in searches)
    shipped = [name for name in spaces if name in TABLES and name in SHIPPED]
    external = [name for name in spaces if name in TABLES and name not in SHIPPED]
    if table is not None and len(external) != 1:
        raise OptionError(
            f"{table} can be the table of one benchmark, and the spaces searched are "
            f"{', '.join(spaces) or 'none'}; there are benchmarks for "
            f"{', '.join(name for name in TABLES if name not in SHIPPED)}"
        )
    tables = {name: load_table(name, None) for name in shipped}
    if table is not None:
        tables[external[0]] = load_table(external[0], table)
    return SpaceTables(tables)
