"""The scoreboard: what every method came to over its seeds, beside baselines and the best there is."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dartboard.errors import TableError
from dartboard.scoreboard.baselines import Baseline
from dartboard.scoreboard.columns import cells, numbers
from dartboard.scoreboard.records import Accuracies, BenchRecord
from dartboard.scoreboard.remarks import remarks
from dartboard.scoreboard.rows import RANDOM, RowBuilder, ScoreboardRow
from dartboard.tables import Table

Expected = Mapping[str, Sequence[int]]
"""By label, the seeds that there shall be."""
ROUNDED = 1e-4


@dataclass(frozen=True)
class Scoreboard:
    """The scoreboard of one benchmark.

    Args:
        oracle: Who was asked.
        architectures: How many the benchmark holds.
        datasets: The data sets that the benchmark knows; what is compared is compared on the first.
        rows: The methods in the order of the bench, then baselines, then the best cell.
        remarks: Sentences that say what the rows come to and what is missing.
    """

    oracle: str
    architectures: int
    datasets: tuple[str, ...]
    rows: tuple[ScoreboardRow, ...]
    remarks: tuple[str, ...]

    def cells(self) -> list[tuple[str, ...]]:
        """The table as texts, the names of the columns first; accuracies in percent."""
        return cells(self.rows, self.datasets)

    def markdown(self) -> str:
        """The table and its remarks."""
        head, *rows = [f"| {' | '.join(row)} |" for row in self.cells()]
        rule = "|---" + "|--:" * (len(self.cells()[0]) - 1) + "|"
        return "\n".join([head, rule, *rows, "", *(f"- {own}" for own in self.remarks), ""])

    def csv(self) -> str:
        """The numbers alone, one a column, accuracies as shares."""
        rows = [numbers(row, self.datasets) for row in self.rows]
        file = io.StringIO()
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return file.getvalue()

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, accuracies as shares."""
        return asdict(self)


def make_table(
    expected: Expected, records: Sequence[BenchRecord], oracle: Table, baselines: Sequence[Baseline] = ()
) -> Scoreboard:
    """The scoreboard of what is there.

    Args:
        expected: The rows and the seeds of each.
        records: What there is; those that are not expected are counted in a remark and left out.
        oracle: The benchmark that the records and the baselines asked.
        baselines: Rows of their own; the one called `random` is what all others are compared with.

    Raises:
        TableError: If a record is of another benchmark, or two are of one search.
    """
    check_records(records, oracle)
    random = [value for own in baselines if own.label == RANDOM for value in own.tests[oracle.datasets[0]]]
    make = RowBuilder(oracle, random)
    searches = [make.of_searches(label, seeds, _by_seed(records, label)) for label, seeds in expected.items()]
    rows = (*searches, *map(make.of_baseline, baselines), make.of_best())
    left_out = sum(own.seed not in expected.get(own.label, ()) for own in records)
    return Scoreboard(
        oracle.name, len(oracle), oracle.datasets, rows, tuple(remarks(rows, baselines, left_out))
    )


def _by_seed(records: Sequence[BenchRecord], label: str) -> dict[int, BenchRecord]:
    return {own.seed: own for own in records if own.label == label}


def check_records(records: Sequence[BenchRecord], oracle: Table) -> None:
    """Refuses records that are not all of this benchmark, or not each of a search of its own.

    Raises:
        TableError: Says which.
    """
    best, seen = {own: oracle.ranking(own).best for own in oracle.datasets}, set[str]()
    for record in records:
        name = f"{record.label} with seed {record.seed}"
        if record.oracle != oracle.name:
            raise TableError(f"{name} is of the benchmark {record.oracle}, not {oracle.name}")
        if not _same(record.best, best):
            was = f"was made with another table of {oracle.name}, where {dict(record.best)} is best"
            raise TableError(f"{name} {was}; here {best} is; remove its record, and it is made anew")
        if name in seen:
            raise TableError(f"there are two records of {name}; remove one")
        seen.add(name)


def _same(one: Accuracies, other: Accuracies) -> bool:
    """Whether accuracies differ by no more than tables of the same benchmark are rounded."""
    return one.keys() == other.keys() and all(abs(one[name] - other[name]) < ROUNDED for name in one)
