"""GAEA table 2: what is found in NAS-Bench-201 with and without exponentiated gradient.

Without a table the same is searched in nano, with the benchmark that ships with the package; then the order
of the methods can be compared with the paper's, their numbers cannot.

Four orderings are tested, on every data set of the benchmark: both GAEA DARTS are above the DARTS they
modify; GAEA GDAS is above GDAS or level with it, that is at most one deviation (the larger of both) below;
GAEA DARTS (ERM) is above everything else, random search and evolution too. Above is the larger mean, however
near both are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pydantic import Field

from dartboard.config.schema import Count
from dartboard.scoreboard.baselines import DIRECT, TRANSFER, PublishedResult, run_baseline
from dartboard.utils.statistics import Summary, summarize
from dartboard.viz.line_styles import line_styles
from dartboard_papers._bench import BenchResults, BenchScale, choose_benchmark, run_bench
from dartboard_papers._bench_summary import accuracies, is_cut_off, judge, remarks, size, spread, title
from dartboard_papers._gaea_settings import METHOD_SETTINGS
from dartboard_papers.base import ReproductionResult, Row, RunOptions, reproduction

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
"""By label and data set."""


class SearchTable(BenchScale):
    """The searches of the table."""

    seeds: Count = Field(default=2, description="searches with each method")
    gdas_epochs: Count = Field(default=10, description="passes over the images with GDAS")
    gaea_gdas_epochs: Count = Field(default=10, description="passes over the images with GAEA GDAS")
    draws: Count = Field(default=200, description="how many times random search and evolution are repeated")


FULL = SearchTable(
    seeds=4, epochs=25, cells=5, channels=16, pixels=32, gdas_epochs=250, gaea_gdas_epochs=150, draws=500
)


@reproduction(
    "gaea-table-2",
    about="test accuracy of what DARTS and GDAS find in NAS-Bench-201, with GAEA and without",
    claim="GAEA DARTS (ERM) is the best on all three data sets, both GAEA DARTS are above DARTS, and GAEA "
    "GDAS is level with GDAS or above it",
    minutes=4,
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
    summaries = measure(bench, scale.draws)
    orders = orderings(summaries, bench.datasets)
    return ReproductionResult(
        rows=list(rows(summaries, bench)),
        verdict=judge(*orders.values()),
        sentence=in_words(orders),
        size=size(bench),
        seeds=bench.seeds,
        figures={"accuracies": draw(bench, summaries)},
        numbers=numbers(bench, summaries),
        remarks=[*remarks(bench), *others(bench)],
    )


def measure(bench: BenchResults, draws: int) -> dict[str, dict[str, Summary]]:
    """Test accuracies by label and data set, of final cells and of random search and evolution."""
    summaries = {
        label: {dataset: accuracies(group, dataset) for dataset in bench.datasets}
        for label, group in bench.groups.items()
    }
    if bench.oracle is not None:
        for name in BASELINES:
            tests = run_baseline(name, bench.oracle, bench.queries, draws).tests
            summaries[name] = {dataset: summarize(values) for dataset, values in tests.items()}
    return summaries


def orderings(summaries: Summaries, datasets: Sequence[str]) -> dict[str, bool | None]:
    """For each ordering of the paper, True if it holds on every data set; None if something is missing."""
    tested = {
        f"{title(better)} above {title(worse)}": _above(summaries, better, worse, datasets)
        for better, worse in PAIRS.items()
    }
    tested["GAEA GDAS level with GDAS or above"] = _level(summaries, "gaea-gdas", "gdas", datasets)
    others = (label for label in (*METHODS, *BASELINES) if label != BEST)
    rest = [_above(summaries, BEST, label, datasets) for label in others]
    tested[f"{title(BEST)} above all others"] = False if False in rest else None if None in rest else True
    return tested


def _above(summaries: Summaries, first: str, second: str, datasets: Sequence[str]) -> bool | None:
    if first not in summaries or second not in summaries:
        return None
    return all(summaries[first][dataset].mean > summaries[second][dataset].mean for dataset in datasets)


def _level(summaries: Summaries, first: str, second: str, datasets: Sequence[str]) -> bool | None:
    if first not in summaries or second not in summaries:
        return None
    pairs = [(summaries[first][dataset], summaries[second][dataset]) for dataset in datasets]
    return all(
        first.mean >= second.mean - max(first.deviation or 0.0, second.deviation or 0.0)
        for first, second in pairs
    )


def in_words(orders: Mapping[str, bool | None]) -> str:
    """Sentence that says which orderings hold."""
    seen = [name for name, holds in orders.items() if holds]
    words = f"{len(seen)} of {len(orders)} orderings were seen on every data set"
    failed = [name for name, holds in orders.items() if holds is False]
    open_ = [name for name, holds in orders.items() if holds is None]
    lost = f"; not {', '.join(failed)}" if failed else ""
    return words + lost + (f"; not tested: {', '.join(open_)}" if open_ else "") + "."


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
    yield "Above is any difference of the means, however small beside the deviations; level allows one."
    for label, group in bench.groups.items():
        count = sum(is_cut_off(record.final) for record in group)
        if count:
            words = f"{title(label)} broke down with {count} of {len(group)} seeds: in its cells nothing"
            rate, paper = group[0].settings["method"].get("lr"), METHOD_SETTINGS[label].rate
            often = f"; its rate is {rate:g}, {rate / paper:.0f} times the paper's" if rate and paper else ""
            yield f"{words} reaches the output, so that their networks guess{often}."


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
