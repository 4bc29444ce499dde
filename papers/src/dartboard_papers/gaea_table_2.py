"""GAEA table 2: what is found in NAS-Bench-201 with and without exponentiated gradient.

Without a table the same is searched in nano, with the benchmark that ships with the package; then the order
of the methods can be compared with the paper's, their numbers cannot.

Four orderings are tested, on every data set of the benchmark: both GAEA DARTS are above the DARTS they
modify; GAEA GDAS is above GDAS or level with it; GAEA DARTS (ERM) is above everything else, random search and
evolution too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field
from scipy.special import ndtr

from dartboard.config.schema import Count
from dartboard.scoreboard.baselines import DIRECT, TRANSFER, PublishedResult, run_baseline
from dartboard.utils.statistics import Summary, summarize
from dartboard.viz.line_styles import line_styles
from dartboard_papers._bench import BenchResults, BenchScale, choose_benchmark, run_bench
from dartboard_papers._bench_summary import is_cut_off, remarks, size, spread, title
from dartboard_papers._differences import TEST, all_held, larger_mean
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, reproduction
from dartboard_papers.gaea_figure_4 import LATE, SETUP

METHODS = ("random-ws", "darts", "gaea-darts", "darts-erm", "gaea-darts-erm", "gdas", "gaea-gdas")
BASELINES = {"random": "RS", "evolution": "REA"}
FIRST = "cifar10"
"""The data set of the paper that stands beside those it does not know."""
BEST = "gaea-darts-erm"
PAIRS = {"gaea-darts": "darts", "gaea-darts-erm": "darts-erm"}
ON_EACH = ("gdas", "gaea-gdas")
"""The paper compares these with each other where it searched on each data set itself."""

KEY = [
    Line2D([], [], color="0.4", marker="o", ls="", alpha=0.6, label="a search"),
    Line2D([], [], color="0.4", marker="|", ls="", ms=14, mew=2.5, label="mean"),
    Line2D([], [], marker="D", ls="", mfc="none", mec="black", label="mean in the paper"),
]

Summaries = Mapping[str, Mapping[str, Summary]]
Accuracies = Mapping[str, Mapping[str, Sequence[float]]]
"""Test accuracies of final cells by label and data set, or of random search and evolution."""
ABOVE = {better: f"{title(better)} above {title(worse)}" for better, worse in PAIRS.items()}
LEVEL_WITH, ABOVE_ALL = "GAEA GDAS level with GDAS or above", f"{title(BEST)} above all others"


class SearchTable(BenchScale):
    """The searches of the table."""

    seeds: Count = Field(default=5, description="searches with each method")
    gdas_epochs: Count = Field(default=10, description="passes over the images with GDAS")
    gaea_gdas_epochs: Count = Field(default=10, description="passes over the images with GAEA GDAS")
    draws: Count = Field(default=200, description="how many times random search and evolution are repeated")


FULL = SearchTable(
    seeds=5, epochs=25, cells=5, channels=16, pixels=32, gdas_epochs=250, gaea_gdas_epochs=150, draws=500
)


@reproduction(
    "gaea-table-2",
    about="test accuracy of what DARTS and GDAS find in NAS-Bench-201, with GAEA and without",
    claim="GAEA DARTS (ERM) is the best on all three data sets, both GAEA DARTS are above DARTS, and GAEA "
    "GDAS is level with GDAS or above it",
    rules={
        **dict.fromkeys(
            ABOVE.values(), f"the mean test accuracy is higher on every data set, {TEST} on each"
        ),
        LEVEL_WITH: "on every data set the mean of GAEA GDAS is at most one standard deviation, the larger "
        "of both, below that of GDAS; chance is that of a method two deviations worse",
        ABOVE_ALL: "its mean test accuracy is higher than that of each other method, of random search and of "
        f"evolution on every data set, {TEST} for each",
    },
    setup=f"{SETUP}; GDAS and GAEA GDAS have 50 epochs and no `none`, 250 and 150 with it in the paper",
    minutes=12,
    laptop=SearchTable(),
    full=FULL,
    takes=("data", "table"),
    check=choose_benchmark,
)
def reproduce(options: RunOptions, scale: SearchTable) -> ReproductionResult:
    """Searches with all methods, or records of them, beside the table."""
    epochs = {"gdas": scale.gdas_epochs, "gaea-gdas": scale.gaea_gdas_epochs}
    more = {label: {"epochs": count} for label, count in epochs.items()}
    bench = run_bench(choose_benchmark(options, scale), METHODS, options, scale, more)
    measured = measure(bench, scale.draws)
    parts = orderings(measured, bench.datasets)
    summaries = {
        label: {dataset: summarize(values) for dataset, values in by_dataset.items()}
        for label, by_dataset in measured.items()
    }
    return ReproductionResult(
        rows=list(rows(summaries, bench)),
        parts=parts,
        sentence=in_words(parts),
        size=size(bench),
        seeds=bench.seeds,
        figures={"accuracies": draw(bench, summaries)},
        numbers=numbers(bench, summaries),
        remarks=[*remarks(bench), *others(bench), LATE],
    )


def measure(bench: BenchResults, draws: int) -> dict[str, dict[str, list[float]]]:
    """Test accuracies by label and data set, of final cells and of random search and evolution."""
    measured = {
        label: {dataset: [record.final.test[dataset] for record in group] for dataset in bench.datasets}
        for label, group in bench.groups.items()
    }
    if bench.oracle is not None:
        for name in BASELINES:
            tests = run_baseline(name, bench.oracle, bench.queries, draws).tests
            measured[name] = {dataset: list(values) for dataset, values in tests.items()}
    return measured


def orderings(measured: Accuracies, datasets: Sequence[str]) -> dict[str, PartResult]:
    """The orderings of the paper; those of which a method was not measured are left out."""
    parts = {
        ABOVE[better]: _above(measured, better, [worse], datasets)
        for better, worse in PAIRS.items()
        if {better, worse} <= measured.keys()
    }
    if set(ON_EACH) <= measured.keys():
        parts[LEVEL_WITH] = _level(measured, datasets)
    others = [label for label in (*METHODS, *BASELINES) if label != BEST]
    if {BEST, *others} <= measured.keys():
        parts[ABOVE_ALL] = _above(measured, BEST, others, datasets)
    return parts


def _above(measured: Accuracies, first: str, others: Sequence[str], datasets: Sequence[str]) -> PartResult:
    """Whether a method is above others on every data set; what is observed are those that it is not above."""
    tests = {
        (other, dataset): larger_mean(
            [100 * value for value in measured[first][dataset]],
            [100 * value for value in measured[other][dataset]],
            f"points on {dataset}" + (f" from {other}" if len(others) > 1 else ""),
        )
        for other in others
        for dataset in datasets
    }
    part = all_held(*tests.values())
    failed = [test.observed for test in tests.values() if not test.held]
    return replace(part, observed="; ".join(failed)) if failed and len(others) > 1 else part


def _level(measured: Accuracies, datasets: Sequence[str]) -> PartResult:
    """Whether GAEA GDAS is at most one deviation below GDAS on every data set."""
    gdas, gaea = ({dataset: summarize(measured[label][dataset]) for dataset in datasets} for label in ON_EACH)
    gaps = {
        dataset: (
            gaea[dataset].mean - gdas[dataset].mean,
            max(own[dataset].deviation or 0.0 for own in (gdas, gaea)),
        )
        for dataset in datasets
    }
    words = "; ".join(
        f"{100 * gap:+.2f} points on {dataset}, a deviation is {100 * deviation:.2f}"
        for dataset, (gap, deviation) in gaps.items()
    )
    first = datasets[0]
    spread_of_gap = sqrt(1 / gdas[first].count + 1 / gaea[first].count)
    held = all(gap >= -deviation for gap, deviation in gaps.values())
    return PartResult(held, words, float(ndtr(-1 / spread_of_gap)))


def in_words(parts: Mapping[str, PartResult]) -> str:
    """Sentence that says which orderings hold."""
    failed = [name for name, part in parts.items() if not part.held]
    words = f"{len(parts) - len(failed)} of {len(parts)} orderings were seen on every data set"
    return words + (f"; not {', '.join(failed)}" if failed else "")


def published(label: str) -> PublishedResult | None:
    """The paper's row: searched on CIFAR-10, but for both GDAS, which were on each data set itself."""
    return (DIRECT if label in ON_EACH else TRANSFER).get(label)


def rows(summaries: Summaries, bench: BenchResults) -> Iterator[Row]:
    """Every method on every data set."""
    for dataset in bench.datasets:
        for label in (*METHODS, *BASELINES):
            here = spread(summaries[label][dataset]) if label in summaries else None
            yield Row(f"{BASELINES.get(label) or title(label)}, {dataset}", _paper(label, dataset), here)
        best = bench.records[0].best[dataset]
        yield Row(f"best cell, {dataset}", _paper("best cell", dataset), f"{100 * best:.2f}")


def _paper(label: str, dataset: str) -> str | None:
    row = published(label)
    if row is None:
        return None
    known = dataset if dataset in row.means else FIRST
    return spread(Summary(row.means[known], row.deviations[known], 1))


def others(bench: BenchResults) -> Iterator[str]:
    """Remarks about numbers that are not comparable, and about searches that failed."""
    if FIRST not in bench.datasets:
        yield "The paper's numbers are of CIFAR-10 and NAS-Bench-201: only the order of methods compares."
    if bench.oracle is None:
        yield "Random search (RS) and evolution (REA) were not measured: they need the benchmark's --table."
    else:
        yield f"Random search (RS) and evolution (REA) ask about {bench.queries} architectures each time."
    yield "The paper's numbers are of searches on CIFAR-10, save for GDAS and GAEA GDAS: on each data set."
    for label, group in bench.groups.items():
        count = sum(is_cut_off(record.final) for record in group)
        if count:
            words = f"{title(label)} broke down with {count} of {len(group)} seeds: in its cells nothing"
            yield f"{words} reaches the output, so that their networks guess."


def numbers(bench: BenchResults, summaries: Summaries) -> dict[str, Any]:
    """Test accuracies by label and data set: of every seed, and mean and deviation."""
    return {
        label: {
            dataset: {
                "mean": summary.mean,
                "deviation": summary.deviation,
                "seeds": [record.final.test[dataset] for record in bench.groups.get(label, ())],
            }
            for dataset, summary in by_dataset.items()
        }
        for label, by_dataset in summaries.items()
    }


def draw(bench: BenchResults, summaries: Summaries) -> Figure:
    """Regret on each data set: a dot a seed, a line for the mean, and the paper's."""
    figure = Figure((3.2 + 3.2 * len(bench.datasets), 4.4), layout="constrained")
    panels: Any = figure.subplots(1, len(bench.datasets), sharey=True, squeeze=False)[0]
    labels = [*bench.groups, *(name for name in BASELINES if name in summaries)]
    for axes, dataset in zip(panels, bench.datasets, strict=True):
        _panel(axes, bench, summaries, dataset, labels)
    panels[0].set_yticks(range(len(labels)), [BASELINES.get(label) or title(label) for label in labels])
    panels[0].invert_yaxis()
    figure.legend(handles=KEY, loc="outside lower center", ncols=len(KEY), frameon=False)
    return figure


def _panel(
    axes: Axes, bench: BenchResults, summaries: Summaries, dataset: str, labels: Sequence[str]
) -> None:
    best, look = bench.records[0].best[dataset], line_styles(labels)
    for place, label in enumerate(labels):
        seeds = [100 * (best - record.final.test[dataset]) for record in bench.groups.get(label, ())]
        axes.plot(seeds, [place] * len(seeds), "o", color=look[label].color, alpha=0.6)
        mean = 100 * (best - summaries[label][dataset].mean)
        axes.plot([mean], [place], "|", ms=18, mew=2.5, color=look[label].color)
        row = published(label)
        if row is not None and dataset in row.means:
            below = 100 * (TRANSFER["best cell"].means[dataset] - row.means[dataset])
            axes.plot([below], [place], "D", mfc="none", mec="black")
    axes.set_xscale("symlog", linthresh=0.1, linscale=0.5)
    axes.set_xlim(left=-0.02)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=f"test regret on {dataset} (points)")
    axes.grid(alpha=0.3)
