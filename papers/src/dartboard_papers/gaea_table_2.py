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
from dartboard.scoreboard import BenchRecord
from dartboard.scoreboard.baselines import run_baseline
from dartboard.scoreboard.published import DIRECT, TRANSFER, Published
from dartboard.tables import Table
from dartboard.utils.statistics import Summary, summarize
from dartboard.viz.line_styles import line_styles
from dartboard_papers._bench import Board, Searches, choose_world, make_board
from dartboard_papers._bench_summary import accuracies, is_cut_off, judge, remarks, size, spread, title
from dartboard_papers._gaea_settings import WAYS
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

Found = Mapping[str, Mapping[str, Summary]]
"""By label and data set."""


class SearchTable(Searches):
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
    check=choose_world,
)
def reproduce(options: RunOptions, scale: SearchTable) -> ReproductionResult:
    """Searches with all methods, or records of them, beside the table."""
    epochs = {"gdas": scale.gdas_epochs, "gaea-gdas": scale.gaea_gdas_epochs}
    more = {label: {"epochs": own} for label, own in epochs.items()}
    board = make_board(choose_world(options, scale), METHODS, options, scale, more)
    found = measure(board, scale.draws)
    orders = orderings(found, board.datasets)
    return ReproductionResult(
        rows=list(rows(found, board)),
        verdict=judge(*orders.values()),
        sentence=in_words(orders),
        size=size(board),
        seeds=board.seeds,
        figures={"accuracies": draw(board, found)},
        numbers=numbers(board, found),
        remarks=[*remarks(board), *others(board)],
    )


def measure(board: Board, draws: int) -> dict[str, dict[str, Summary]]:
    """By label and data set, the test accuracies of what was found, and of random search and evolution."""
    found = {
        label: {dataset: accuracies(group, dataset) for dataset in board.datasets}
        for label, group in board.groups.items()
    }
    return found if board.oracle is None else found | ask(board.oracle, board.queries, draws)


def ask(oracle: Table, queries: int, draws: int) -> dict[str, dict[str, Summary]]:
    """By name and data set, what random search and evolution come to, which ask the benchmark itself."""
    told = {name: run_baseline(name, oracle, queries, draws).tests for name in BASELINES}
    return {name: {dataset: summarize(own) for dataset, own in each.items()} for name, each in told.items()}


def orderings(found: Found, datasets: Sequence[str]) -> dict[str, bool | None]:
    """Whether each ordering of the paper is seen on every data set; None where something is missing."""
    tested = {
        f"{title(one)} above {title(other)}": _above(found, one, other, datasets)
        for one, other in PAIRS.items()
    }
    tested["GAEA GDAS level with GDAS or above"] = _level(found, "gaea-gdas", "gdas", datasets)
    others = (label for label in (*METHODS, *BASELINES) if label != BEST)
    rest = [_above(found, BEST, label, datasets) for label in others]
    tested[f"{title(BEST)} above all others"] = False if False in rest else None if None in rest else True
    return tested


def _above(found: Found, one: str, other: str, datasets: Sequence[str]) -> bool | None:
    if one not in found or other not in found:
        return None
    return all(found[one][own].mean > found[other][own].mean for own in datasets)


def _level(found: Found, one: str, other: str, datasets: Sequence[str]) -> bool | None:
    if one not in found or other not in found:
        return None
    pairs = [(found[one][own], found[other][own]) for own in datasets]
    return all(
        first.mean >= second.mean - max(first.deviation or 0.0, second.deviation or 0.0)
        for first, second in pairs
    )


def in_words(orders: Mapping[str, bool | None]) -> str:
    """Which orderings were seen, in a sentence."""
    seen = [name for name, own in orders.items() if own]
    words = f"{len(seen)} of {len(orders)} orderings were seen on every data set"
    failed = [name for name, own in orders.items() if own is False]
    open_ = [name for name, own in orders.items() if own is None]
    lost = f"; not {', '.join(failed)}" if failed else ""
    return words + lost + (f"; not tested: {', '.join(open_)}" if open_ else "") + "."


def published(label: str) -> Published | None:
    """The paper's row: searched on CIFAR-10, but for both GDAS, which were on each data set itself."""
    return (DIRECT if label in ON_EACH else TRANSFER).get(label)


def rows(found: Found, board: Board) -> Iterator[Row]:
    """Every method on every data set."""
    for dataset in board.datasets:
        for label in (*METHODS, *BASELINES):
            here = spread(found[label][dataset]) if label in found else None
            yield Row(f"{BASELINES.get(label) or title(label)}, {dataset}", _paper(label, dataset), here)
        best = board.records[0].best[dataset]
        yield Row(f"best cell, {dataset}", _paper("best cell", dataset), f"{100 * best:.2f}")


def _paper(label: str, dataset: str) -> str | None:
    own = published(label)
    if own is None:
        return None
    known = dataset if dataset in own.means else FIRST
    return spread(Summary(own.means[known], own.deviations[known], 1))


def others(board: Board) -> Iterator[str]:
    """What a reader should know of numbers that do not compare, and of searches that broke down."""
    if FIRST not in board.datasets:
        yield "The paper's numbers are of CIFAR-10 and NAS-Bench-201: only the order of methods compares."
    if board.oracle is None:
        yield "Random search (RS) and evolution (REA) were not measured: they need the benchmark's --table."
    else:
        yield f"Random search (RS) and evolution (REA) ask about {board.queries} architectures each time."
    yield "The paper's numbers are of searches on CIFAR-10, save for GDAS and GAEA GDAS: on each data set."
    yield "Above is any difference of the means, however small beside the deviations; level allows one."
    for label, group in board.groups.items():
        yield from broken(label, group)


def broken(label: str, group: Sequence[BenchRecord]) -> Iterator[str]:
    """In a sentence, how many of a method's cells let nothing through, and with what rate they were found."""
    count = sum(is_cut_off(own.final) for own in group)
    if not count:
        return
    words = f"{title(label)} broke down with {count} of {len(group)} seeds: in its cells nothing reaches the"
    rate, paper = group[0].settings["method"].get("lr"), WAYS[label].rate
    often = f"; its rate is {rate:g}, {rate / paper:.0f} times the paper's" if rate and paper else ""
    yield f"{words} output, so that their networks guess{often}."


def numbers(board: Board, found: Found) -> dict[str, Any]:
    """Test accuracies by label and data set: of every seed, and mean and deviation."""
    return {
        label: {
            dataset: {
                "mean": own.mean,
                "deviation": own.deviation,
                "seeds": [record.final.test[dataset] for record in board.groups.get(label, ())],
            }
            for dataset, own in by_dataset.items()
        }
        for label, by_dataset in found.items()
    }


def draw(board: Board, found: Found) -> Figure:
    """Regret on each data set: a dot a seed, a line for the mean, and the paper's."""
    figure = Figure((3.2 + 3.2 * len(board.datasets), 4.4), layout="constrained")
    panels: Any = figure.subplots(1, len(board.datasets), sharey=True, squeeze=False)[0]
    labels = [*board.groups, *(name for name in BASELINES if name in found)]
    for axes, dataset in zip(panels, board.datasets, strict=True):
        _panel(axes, board, found, dataset, labels)
    panels[0].set_yticks(range(len(labels)), [BASELINES.get(own) or title(own) for own in labels])
    panels[0].invert_yaxis()
    figure.legend(handles=KEY, loc="outside lower center", ncols=len(KEY), frameon=False)
    return figure


def _panel(axes: Axes, board: Board, found: Found, dataset: str, labels: Sequence[str]) -> None:
    best, look = board.records[0].best[dataset], line_styles(labels)
    for place, label in enumerate(labels):
        seeds = [100 * (best - own.final.test[dataset]) for own in board.groups.get(label, ())]
        axes.plot(seeds, [place] * len(seeds), "o", color=look[label].color, alpha=0.6)
        mean = 100 * (best - found[label][dataset].mean)
        axes.plot([mean], [place], "|", ms=18, mew=2.5, color=look[label].color)
    papers = [(_papers_regret(label, dataset), place) for place, label in enumerate(labels)]
    known = [(regret, place) for regret, place in papers if regret is not None]
    axes.plot([own for own, _ in known], [place for _, place in known], "D", mfc="none", mec="black")
    axes.set_xscale("symlog", linthresh=0.1, linscale=0.5)
    axes.set_xlim(left=-0.02)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=f"test regret on {dataset} (points)")
    axes.grid(alpha=0.3)


def _papers_regret(label: str, dataset: str) -> float | None:
    """The paper's mean below the best cell, in points; None where it has none on this data set."""
    own, best = published(label), TRANSFER["best cell"]
    if own is None or dataset not in own.means:
        return None
    return 100 * (best.means[dataset] - own.means[dataset])
