"""GAEA figure 4: the cell that DARTS and GAEA DARTS recommend at every epoch, looked up in NAS-Bench-201.

Without a table the same is searched in nano. "Nearly all skip connections" is taken to mean all edges but one
at most, on the mean over the searches.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.scoreboard import BenchRecord
from dartboard.scoreboard.baselines import TRANSFER
from dartboard.utils.statistics import Summary
from dartboard.viz.line_styles import line_styles
from dartboard_papers._bench import BenchResults, BenchScale, choose_benchmark, run_bench
from dartboard_papers._bench_summary import (
    accuracies,
    curve,
    edges,
    judge,
    remarks,
    size,
    skips,
    spread,
    title,
)
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction

DARTS, GAEA = "darts", "gaea-darts"
PAPER = "cifar10"
SHIFT = 0.06
"""Offset between lines of equal integers."""


@reproduction(
    "gaea-figure-4",
    about="the cell that DARTS and GAEA DARTS recommend at every epoch, looked up in NAS-Bench-201",
    claim="DARTS converges to nearly all skip connections while GAEA does not, and finds better cells",
    minutes=4,
    laptop=BenchScale(),
    full=BenchScale(epochs=25, cells=5, channels=16, pixels=32),
    takes=("data", "table"),
    check=choose_benchmark,
)
def reproduce(options: RunOptions, scale: BenchScale) -> ReproductionResult:
    """Searches with both methods, or reads records of searches."""
    bench = run_bench(choose_benchmark(options, scale), (DARTS, GAEA), options, scale)
    tested = check(bench)
    return ReproductionResult(
        rows=rows(bench),
        verdict=judge(*tested),
        sentence=in_words(bench, tested),
        size=size(bench),
        seeds=bench.seeds,
        figures={"learning-curves": draw(bench)},
        numbers=numbers(bench),
        remarks=list(remarks(bench)),
    )


def check(bench: BenchResults) -> tuple[bool | None, ...]:
    """Whether DARTS ends with nearly all skip connections, GAEA does not, and GAEA's cells are better."""
    darts, gaea = bench.groups.get(DARTS), bench.groups.get(GAEA)
    first = nearly_all(darts) if darts else None
    second = not nearly_all(gaea) if gaea else None
    dataset = bench.datasets[0]
    third = accuracies(gaea, dataset).mean > accuracies(darts, dataset).mean if darts and gaea else None
    return first, second, third


def in_words(bench: BenchResults, tested: tuple[bool | None, ...]) -> str:
    """Sentence about the final cells of both methods."""
    came = [f"{title(label)} {final_skips(records):.1f}" for label, records in bench.groups.items()]
    words = {True: "GAEA's cells are better", False: "GAEA's cells are no better", None: "one is missing"}
    total = edges(bench.records[0])
    return f"Of {total} edges {' and '.join(came)} are skip connections at the end; {words[tested[2]]}."


def rows(bench: BenchResults) -> list[Row]:
    """Skip connections and accuracies of the final cells, and every seed."""
    dataset, words = bench.datasets[0], {DARTS: "nearly all", GAEA: "not nearly all"}
    lines: list[Row] = []
    for label, records in bench.groups.items():
        paper = TRANSFER[label]
        known = Summary(paper.means[PAPER], paper.deviations[PAPER], 1) if dataset in paper.means else None
        lines += [
            Row(f"{title(label)}: skip connections at the end", words[label], final_skips(records)),
            Row(
                f"{title(label)}: test accuracy at the end, {dataset}",
                None if known is None else spread(known),
                spread(accuracies(records, dataset)),
            ),
            *seed_rows(label, records, dataset),
        ]
    return lines


def final_skips(records: Sequence[BenchRecord]) -> float:
    """Mean number of skip connections of the final cells."""
    return float(np.mean([skips(record.final) for record in records]))


def nearly_all(records: Sequence[BenchRecord]) -> bool:
    """True if, on average, at most one edge of the final cells is not a skip connection."""
    return final_skips(records) >= edges(records[0]) - 1


def seed_rows(label: str, records: Sequence[BenchRecord], dataset: str) -> list[Row]:
    """A row for every search: accuracy and skip connections of its final cell."""
    return [
        Row(
            f"{title(label)}, seed {record.seed}: test accuracy and skip connections",
            None,
            f"{100 * record.final.test[dataset]:.2f}, {skips(record.final)} of {edges(record)}",
        )
        for record in records
    ]


def numbers(bench: BenchResults) -> dict[str, Any]:
    """By label, epochs, test accuracies on the first data set and skip connections of every search."""
    dataset = bench.datasets[0]
    return {
        label: [
            {
                "seed": record.seed,
                "epoch": [point.epoch for point in curve(record)],
                "test": [point.test[dataset] for point in curve(record)],
                "skips": [skips(point) for point in curve(record)],
            }
            for record in group
        ]
        for label, group in bench.groups.items()
    }


def draw(bench: BenchResults) -> Figure:
    """A line a search: the test accuracy of the cell of every epoch, and how many skip connections it has."""
    figure = Figure((10, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    dataset, styles = bench.datasets[0], line_styles(bench.groups)
    for label, group in bench.groups.items():
        for index, record in enumerate(group):
            points = curve(record)
            epochs = [point.epoch for point in points]
            style: dict[str, Any] = {
                "color": styles[label].color,
                "linestyle": styles[label].line,
                "alpha": 0.8,
                "label": None if index else title(label),
            }
            left.plot(epochs, [100 * point.test[dataset] for point in points], **style)
            right.plot(epochs, [skips(point) + SHIFT * index for point in points], **style)
    total = edges(bench.records[0])
    left.set(xlabel="epochs", ylabel=f"test accuracy on {dataset} (%)")
    right.set(xlabel="epochs", ylabel=f"skip connections of {total} edges", ylim=(-0.2, total + 0.4))
    right.axhline(total - 1, color="0.45", linestyle=(0, (4, 2)), zorder=1, label="nearly all")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
