"""The scoreboard: results of every method over its seeds, beside baselines and the best cell."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any, Literal

import numpy as np

from dartboard.errors import TableError
from dartboard.scoreboard.baselines import (
    BASELINES,
    DIRECT,
    POPULATION,
    TRANSFER,
    Baseline,
    PublishedResult,
)
from dartboard.scoreboard.records import BenchRecord
from dartboard.tables import Table
from dartboard.utils.statistics import (
    SEED,
    Difference,
    Summary,
    percentile_interval,
    resampled_means,
    summarize,
)
from dartboard.utils.text import plural

RowKind = Literal["search", "baseline", "reference", "best"]
BETTER, WORSE, UNCLEAR, ONE_SEED = "better", "worse", "no difference shown", "one seed"
"""Verdicts on a difference to random, by its interval."""
ONE_DRAW = "one draw of random"
"""Verdict where random has one draw, so that there is no interval."""
FEW_SEEDS = 10
"""With fewer seeds, bootstrap intervals are clearly too narrow; see `difference`."""
RANDOM, BEST = "random", "best cell"
PAPERS_ORACLE = "nb201"
TOLERANCE = 1e-4
"""Difference up to which accuracies of two tables of a benchmark are the same: tables are rounded."""
NOTHING = "-"


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Difference of two means, each of at least one value, with its bootstrap interval.

    The interval holds the middle 95 % of the differences between the means of 10,000 pairs of samples drawn
    anew, each side from its own values (Efron's percentile interval). There is none if a side has one value.
    Of a few values the interval is too narrow: against 200 of random it holds the true difference of normal
    values about 75 times in 100 with 3 seeds, 82 with 5, 90 with 10.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    gap = float(left.mean() - right.mean())
    if min(left.size, right.size) < 2:
        return Difference(gap, None, None)
    rng = np.random.default_rng(SEED)
    gaps = resampled_means(left, rng) - resampled_means(right, rng)
    return Difference(gap, *percentile_interval(gaps))


def verdict(gap: Difference) -> str:
    """What the interval of a difference shows: better, worse, or neither."""
    if gap.low is None or gap.high is None:
        return ONE_SEED
    if gap.low > 0:
        return BETTER
    return WORSE if gap.high < 0 else UNCLEAR


@dataclass(frozen=True)
class ScoreboardRow:
    """The results of one method.

    Args:
        label: Name of the method.
        kind: Whether it searches, is a baseline that queries the table, says what random is, or is the best
            cell.
        done: Number of finished seeds; for a baseline, number of repeats.
        missing: Seeds that are not finished.
        tests: Test accuracies of the final cells by data set; empty where no seed is finished.
        regret: Regret on the first data set; None where no seed is finished.
        entropy: Mean entropy of the strengths at the end, in nats; None where there is none.
        seconds: Mean time of a search, or of the trainings that were queried; None where unknown.
        kendall: Mean of Kendall's tau; None where it was not measured.
        spearman: Mean of Spearman's rho.
        difference: Difference to random of the mean test accuracy on the first data set, if there is one.
        verdict: What that difference shows; empty where there is none.
        transfer: Published results of a search on CIFAR-10; None where there are none.
        direct: Published results of searches on each data set.
    """

    label: str
    kind: RowKind
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
    transfer: PublishedResult | None = None
    direct: PublishedResult | None = None


class RowBuilder:
    """Builds the rows of a benchmark.

    Args:
        table: The benchmark table.
        random: Test accuracies of random on its first data set, to compare with; empty for no comparison.
    """

    def __init__(self, table: Table, random: Sequence[float]) -> None:
        self._datasets, self._first = table.datasets, table.datasets[0]
        self._best = {name: table.ranking(name).best for name in table.datasets}
        self._random = random
        self._published = table.name == PAPERS_ORACLE

    def of_searches(
        self, label: str, seeds: Sequence[int], records: Mapping[int, BenchRecord]
    ) -> ScoreboardRow:
        """The row of a method with all its seeds, from the records of the finished ones by seed."""
        finished = [records[seed] for seed in seeds if seed in records]
        tests = {name: [record.final.test[name] for record in finished] for name in self._datasets}
        correlations = [record.correlation for record in finished]
        return replace(
            self._row(label, "search", tests),
            missing=tuple(seed for seed in seeds if seed not in records),
            entropy=_mean(record.final.entropy for record in finished),
            seconds=_mean(record.final.seconds for record in finished),
            kendall=_mean(None if ranks is None else ranks.kendall for ranks in correlations),
            spearman=_mean(None if ranks is None else ranks.spearman for ranks in correlations),
        )

    def of_baseline(self, baseline: Baseline) -> ScoreboardRow:
        """The row of a baseline; what is in no registry is a reference, which is compared with nothing."""
        seconds = None if baseline.seconds is None else baseline.seconds[-1]
        kind: RowKind = "baseline" if baseline.label in BASELINES else "reference"
        return replace(self._row(baseline.label, kind, baseline.tests), seconds=seconds)

    def of_best(self) -> ScoreboardRow:
        """The row of the best cell on each data set."""
        return self._row(BEST, "best", {name: [test] for name, test in self._best.items()})

    def _row(self, label: str, kind: RowKind, tests: Mapping[str, Sequence[float]]) -> ScoreboardRow:
        values = tests[self._first]
        row = ScoreboardRow(label, kind, len(values))
        if self._published:
            row = replace(row, transfer=TRANSFER.get(label), direct=DIRECT.get(label))
        if not values:
            return row
        best = self._best[self._first]
        regret = summarize([best - test for test in values])
        row = replace(row, tests={name: summarize(test) for name, test in tests.items()}, regret=regret)
        is_random = kind == "baseline" and label == RANDOM
        if not self._random or is_random or kind in ("reference", "best"):
            return row
        gap = difference(values, self._random)
        return replace(row, difference=gap, verdict=verdict(gap) if len(self._random) > 1 else ONE_DRAW)


def _mean(values: Iterable[float | None]) -> float | None:
    """Mean of the known values; None if none is known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def format_rows(rows: Sequence[ScoreboardRow], datasets: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows as text, below the names of the columns; accuracies, regrets and differences in percent.

    Columns of published results are there if there are any for these methods.
    """
    table: list[dict[str, str]] = []
    for row in rows:
        seeds, gap, to_random = NOTHING, row.difference, NOTHING
        if row.kind != "best":
            is_search = row.kind == "search"
            seeds = f"{row.done}/{row.done + len(row.missing)}" if is_search else plural(row.done, "draw")
        if gap is not None:
            interval = (
                ""
                if gap.low is None or gap.high is None
                else f" ({100 * gap.low:+.2f} to {100 * gap.high:+.2f})"
            )
            to_random = f"{100 * gap.mean:+.2f}{interval}, {row.verdict}"
        texts = {
            "method": row.label,
            "seeds": seeds,
            **{f"test {name}": _percent(row.tests.get(name)) for name in datasets},
            "regret": _percent(row.regret),
            "entropy": _decimal(row.entropy),
            "seconds": NOTHING if row.seconds is None else f"{row.seconds:,.0f}",
            "Kendall": _decimal(row.kendall),
            "Spearman": _decimal(row.spearman),
            "to random": to_random,
        }
        if any(one.transfer is not None for one in rows):
            texts["paper, transfer"] = _format_published(row.transfer)
        if any(one.direct is not None for one in rows):
            texts["paper, direct"] = _format_published(row.direct)
        table.append(texts)
    return [tuple(table[0]), *(tuple(texts.values()) for texts in table)]


def _format_published(published: PublishedResult | None) -> str:
    if published is None:
        return NOTHING
    return " / ".join(_spread(mean, published.deviations[name]) for name, mean in published.means.items())


def _percent(summary: Summary | None) -> str:
    return NOTHING if summary is None else _spread(summary.mean, summary.deviation)


def _spread(mean: float, std: float | None) -> str:
    return f"{100 * mean:.2f}" + ("" if std is None else f" +- {100 * std:.2f}")


def _decimal(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def row_values(row: ScoreboardRow, datasets: Sequence[str]) -> dict[str, Any]:
    """A row as plain values by column, accuracies as fractions; None where there is none."""
    values: dict[str, Any] = {"method": row.label, "kind": row.kind, "done": row.done}
    values["missing"] = " ".join(map(str, row.missing))
    summaries = {f"test {name}": row.tests.get(name) for name in datasets} | {"regret": row.regret}
    for name, summary in summaries.items():
        values[name] = None if summary is None else summary.mean
        values[f"{name} deviation"] = None if summary is None else summary.deviation
    values |= {name: getattr(row, name) for name in ("entropy", "seconds", "kendall", "spearman")}
    gap = row.difference
    values["to random"] = None if gap is None else gap.mean
    values["to random low"] = None if gap is None else gap.low
    values["to random high"] = None if gap is None else gap.high
    return values | {"verdict": row.verdict}


def remarks(rows: Sequence[ScoreboardRow], baselines: Sequence[Baseline], left_out: int) -> Iterator[str]:
    """Sentences that say which methods beat random, what is missing, and what the numbers mean.

    `left_out` is the number of records that are in no row.
    """
    yield from _verdict_remarks(rows, baselines)
    if gaps := [f"{row.label} {in_ranges(row.missing)}" for row in rows if row.missing]:
        yield f"Missing seeds: {'; '.join(gaps)}."
    for baseline in baselines:
        if baseline.queries == 1 and baseline.draws == 1:
            yield f"{baseline.label}: the mean over all architectures, dead ones included."
            continue
        by = "validation" if baseline.judge == "valid" else "test"
        why = "" if baseline.judge == "valid" else ", for the benchmark has no validation accuracies"
        repeats = f"{baseline.draws:,} times"
        yield f"{baseline.label}: the best of {baseline.queries:,} by {by} accuracy{why}; {repeats}."
        if baseline.label == "evolution" and baseline.queries <= POPULATION:
            yield f"evolution is random where it may ask about no more than its population of {POPULATION}."
    if left_out:
        yield f"Records that are not asked for here, and left out: {left_out}."


def _verdict_remarks(rows: Sequence[ScoreboardRow], baselines: Sequence[Baseline]) -> Iterator[str]:
    if not any(baseline.label == RANDOM for baseline in baselines):
        yield "Nothing is compared with random, which is not among the baselines."
        return

    def labels(shown: str) -> str:
        return ", ".join(row.label for row in rows if row.verdict == shown)

    yield f"Better than random here: {labels(BETTER) or 'none'}."
    yield f"No difference to random shown: {labels(UNCLEAR) or 'none'}."
    yield f"Worse than random here: {labels(WORSE) or 'none'}."
    if single := labels(ONE_SEED):
        yield f"One seed alone shows nothing: {single}."
    if few := [row.label for row in rows if row.kind == "search" and 1 < row.done < FEW_SEEDS]:
        yield (
            f"Intervals from fewer than {FEW_SEEDS} seeds are too narrow (of 100 about 75 hold the truth "
            f"with 3, 82 with 5): {', '.join(few)}."
        )


def in_ranges(seeds: Sequence[int]) -> str:
    """Seeds in ascending order as text, such as `0, 2-9`."""
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][-1] + 1:
            ranges[-1].append(seed)
        else:
            ranges.append([seed])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in ranges)


@dataclass(frozen=True)
class Scoreboard:
    """The scoreboard of one benchmark.

    Args:
        oracle: Name of the benchmark table.
        architectures: Number of architectures in the table.
        datasets: The data sets of the table; methods are compared on the first.
        rows: The methods in the order of the bench, then baselines, then the best cell.
        remarks: Sentences on the results and on what is missing.
    """

    oracle: str
    architectures: int
    datasets: tuple[str, ...]
    rows: tuple[ScoreboardRow, ...]
    remarks: tuple[str, ...]

    def cells(self) -> list[tuple[str, ...]]:
        """The rows as text, below the names of the columns; accuracies in percent."""
        return format_rows(self.rows, self.datasets)

    def markdown(self) -> str:
        """The table and its remarks in Markdown."""
        head, *rows = [f"| {' | '.join(row)} |" for row in self.cells()]
        rule = "|---" + "|--:" * (len(self.cells()[0]) - 1) + "|"
        return "\n".join([head, rule, *rows, "", *(f"- {remark}" for remark in self.remarks), ""])

    def csv(self) -> str:
        """The numbers as CSV, accuracies as fractions."""
        rows = [row_values(row, self.datasets) for row in self.rows]
        file = io.StringIO()
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return file.getvalue()

    def facts(self) -> dict[str, Any]:
        """All of it as plain values, accuracies as fractions."""
        return asdict(self)


def make_scoreboard(
    expected: Mapping[str, Sequence[int]],
    records: Sequence[BenchRecord],
    table: Table,
    baselines: Sequence[Baseline] = (),
) -> Scoreboard:
    """The scoreboard of records and baselines.

    Args:
        expected: The methods by label, with the seeds of each.
        records: Records of searches; those that are not expected are counted in a remark and left out.
        table: The benchmark table that scored the records and the baselines.
        baselines: Further rows; the one called `random` is what all others are compared with.

    Raises:
        TableError: If a record is of another benchmark, or two are of one search.
    """
    check_records(records, table)
    first = table.datasets[0]
    random = [test for baseline in baselines if baseline.label == RANDOM for test in baseline.tests[first]]
    build = RowBuilder(table, random)
    searches = []
    for label, seeds in expected.items():
        by_seed = {record.seed: record for record in records if record.label == label}
        searches.append(build.of_searches(label, seeds, by_seed))
    rows = (*searches, *map(build.of_baseline, baselines), build.of_best())
    left_out = sum(record.seed not in expected.get(record.label, ()) for record in records)
    sentences = tuple(remarks(rows, baselines, left_out))
    return Scoreboard(table.name, len(table), table.datasets, rows, sentences)


def check_records(records: Sequence[BenchRecord], table: Table) -> None:
    """Raises TableError for records of another benchmark, and for two records of one search."""
    best, seen = {name: table.ranking(name).best for name in table.datasets}, set[str]()
    for record in records:
        name = f"{record.label} with seed {record.seed}"
        if record.oracle != table.name:
            raise TableError(f"{name} is of the benchmark {record.oracle}, not {table.name}")
        same = record.best.keys() == best.keys() and all(
            abs(record.best[dataset] - best[dataset]) < TOLERANCE for dataset in best
        )
        if not same:
            was = f"was made with another table of {table.name}, where {dict(record.best)} is best"
            raise TableError(f"{name} {was}; here {best} is; remove its record, and it is made anew")
        if name in seen:
            raise TableError(f"there are two records of {name}; remove one")
        seen.add(name)
