"""GAEA figure 4: the cell that DARTS and GAEA DARTS recommend at every epoch, looked up in NAS-Bench-201.

Without a table the same is searched in nano. "Nearly all skip connections" is taken to mean all edges but one
at most, on the mean over the searches.
"""

from collections.abc import Sequence
from dataclasses import replace
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
    remarks,
    size,
    skips,
    spread,
    title,
)
from dartboard_papers._differences import TEST, larger_mean
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.chance import chance_between

DARTS, GAEA = "darts", "gaea-darts"
PAPER = "cifar10"
SHIFT = 0.06
"""Offset between lines of equal integers."""
SKIPS, FEWER, BETTER = "DARTS ends with nearly all skips", "GAEA does not", "GAEA's cells are better"
SETUP = (
    "records of results/nb201: one cell a stage instead of five, 8 channels instead of 16, 10,000 images of "
    "16x16 pixels; rates are the library's rules"
)
LATE = (
    "Until now a larger mean was enough, and rates were those of the paper times ratios; rules and rates "
    "were fixed anew before seeds 20 to 24 were looked at."
)


@reproduction(
    "gaea-figure-4",
    about="the cell that DARTS and GAEA DARTS recommend at every epoch, looked up in NAS-Bench-201",
    claim="DARTS converges to nearly all skip connections while GAEA does not, and finds better cells",
    rules={
        SKIPS: "on average at most one edge of DARTS' final cells is no skip connection",
        FEWER: "on average more than one edge of GAEA's final cells is none, and DARTS' have more skip "
        f"connections, {TEST}",
        BETTER: f"the mean test accuracy of the final cells on CIFAR-10 is higher with GAEA, {TEST}",
    },
    setup=SETUP,
    minutes=6,
    laptop=BenchScale(),
    full=BenchScale(epochs=25, cells=5, channels=16, pixels=32),
    takes=("data", "table"),
    check=choose_benchmark,
)
def reproduce(options: RunOptions, scale: BenchScale) -> ReproductionResult:
    """Searches with both methods, or reads records of searches."""
    bench = run_bench(choose_benchmark(options, scale), (DARTS, GAEA), options, scale)
    return ReproductionResult(
        rows=rows(bench),
        parts=check(bench),
        sentence=in_words(bench),
        size=size(bench),
        seeds=bench.seeds,
        figures={"learning-curves": draw(bench)},
        numbers=numbers(bench),
        remarks=[*remarks(bench), LATE],
    )


def check(bench: BenchResults) -> dict[str, PartResult]:
    """Parts of the claim; none if a method has no searches."""
    darts, gaea = bench.groups.get(DARTS), bench.groups.get(GAEA)
    if not darts or not gaea:
        return {}
    counts = {
        label: [float(skips(record.final)) for record in group] for label, group in bench.groups.items()
    }
    most, total, dataset = edges(darts[0]) - 1, edges(darts[0]), bench.datasets[0]
    groups = (np.array(counts[label]) for label in (DARTS, GAEA))
    chance = chance_between(lambda first, _: bool(first.mean() >= most), *groups)
    fewer = larger_mean(counts[DARTS], counts[GAEA], "skip connections")
    tests, others = ([100 * record.final.test[dataset] for record in group] for group in (gaea, darts))
    return {
        SKIPS: PartResult(nearly_all(darts), f"{final_skips(darts):.1f} of {total}", chance),
        FEWER: replace(
            fewer,
            held=fewer.held and not nearly_all(gaea),
            observed=f"{final_skips(gaea):.1f} of {total}; {fewer.observed}",
        ),
        BETTER: larger_mean(tests, others, "points"),
    }


def in_words(bench: BenchResults) -> str:
    """Sentence about the final cells of both methods."""
    dataset, total = bench.datasets[0], edges(bench.records[0])
    came = [
        f"{title(label)}: {final_skips(records):.1f} of {total} edges are skip connections at the end, "
        f"{spread(accuracies(records, dataset))} %"
        for label, records in bench.groups.items()
    ]
    return "; ".join(came)


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
