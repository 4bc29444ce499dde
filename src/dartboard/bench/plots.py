"""Pictures of a bench: regret while searching, and the cells that were found among all there are."""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dartboard.atomic import write_bytes
from dartboard.bench.baselines import Baseline
from dartboard.bench.curves import Band, by_epoch, by_seconds
from dartboard.bench.looks import Look, looks
from dartboard.bench.records import BenchRecord
from dartboard.bench.rows import RANDOM
from dartboard.oracle import Oracle, Ranking

Floats = NDArray[np.float64]
Style = dict[str, Any]
Groups = Mapping[str, Sequence[BenchRecord]]
"""The records of each method."""

METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}}
"""By format, what is said in the file."""
FINEST = 0.1
"""Points of regret below which axes are no longer logarithmic."""
BINS = 24
ACROSS = 4
"""Panels side by side."""
TICKS = (0, 0.3, 1, 3, 10, 30)
"""Points below the best cell that are marked."""


def draw(
    records: Sequence[BenchRecord], oracle: Oracle, folder: Path, baselines: Sequence[Baseline] = ()
) -> list[Path]:
    """Draws all pictures, each as SVG and as PNG, and returns their paths; none without records.

    Args:
        records: What there is; methods stand in the order in which they come.
        oracle: The benchmark that they asked; pictures are of its first data set.
        folder: Where the pictures go; it must be there.
        baselines: The one called `random` is drawn beside the methods.
    """
    if not records:
        return []
    groups = {label: [own for own in records if own.label == label] for label in _labels(records)}
    random = next((own for own in baselines if own.label == RANDOM), None)
    return [
        path for name, figure in _figures(groups, oracle, random) for path in _save(figure, folder / name)
    ]


def _labels(records: Sequence[BenchRecord]) -> list[str]:
    return list(dict.fromkeys(own.label for own in records))


def _figures(groups: Groups, oracle: Oracle, random: Baseline | None) -> Iterator[tuple[str, Figure]]:
    dataset = oracle.datasets[0]
    beside = random or _one_cell(oracle)
    epochs = {label: by_epoch(own, dataset) for label, own in groups.items()}
    yield "regret-epochs", _regrets(epochs, "epochs", dataset, beside)
    seconds = {label: by_seconds(own, dataset) for label, own in groups.items()}
    if any(seconds.values()):
        yield "regret-seconds", _regrets(seconds, "seconds", dataset, beside)
    yield "final-cells", _final_cells(groups, dataset, oracle.ranking(dataset))


def _one_cell(oracle: Oracle) -> Baseline:
    """Random with a single query, on the mean over all architectures."""
    ranking = oracle.ranking(oracle.datasets[0])
    regret = float(ranking.best - ranking.tests.mean())
    return Baseline(RANDOM, 1, "test", {}, [regret], None)


def _regrets(bands: Mapping[str, Band | None], unit: str, dataset: str, random: Baseline) -> Figure:
    """Regret against epochs or seconds, those with the lowest regret at the end first in the legend."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes, look = figure.subplots(), looks(bands)
    found = {label: band for label, band in bands.items() if band is not None}
    for label in sorted(found, key=lambda own: found[own].mean[-1]):
        _line(axes, found[label], label, look[label])
    _dashes(axes, random, timed=unit == "seconds")
    axes.set_yscale("symlog", linthresh=FINEST)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")
    if unit == "seconds":
        axes.set_xscale("log")
    axes.set(xlabel=unit, ylabel=f"test regret on {dataset} (points)")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _line(axes: Axes, band: Band, label: str, look: Look) -> None:
    mean, spread = 100 * band.mean, 100 * band.deviation
    style: Style = {"color": look.colour, "linestyle": look.line, "marker": look.marker}
    axes.plot(band.x, mean, label=label, markevery=[-1], **style)
    axes.fill_between(band.x, np.maximum(mean - spread, 0), mean + spread, color=look.colour, alpha=0.1, lw=0)


def _dashes(axes: Axes, random: Baseline, *, timed: bool) -> None:
    """Random's expected regret: a curve where the time of its trainings is known, else what it ends with."""
    label = f"random, best of {random.queries:,}" if random.queries > 1 else "random, one cell"
    style: Style = {"color": "0.4", "linestyle": (0, (6, 3)), "lw": 2, "label": label}
    if timed and random.seconds is not None:
        axes.plot(random.seconds, 100 * np.array(random.regrets), **style)
    else:
        axes.axhline(100 * random.regrets[-1], **style)


def _final_cells(groups: Groups, dataset: str, ranking: Ranking) -> Figure:
    """A panel a method: the accuracies of its final cells over those of all architectures."""
    down = math.ceil(len(groups) / ACROSS)
    across = min(ACROSS, len(groups))
    figure = Figure(figsize=(1 + 2.6 * across, 0.8 + 1.7 * down), layout="constrained")
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat
    everything = _places(ranking.tests, ranking.best)
    edges = np.linspace(everything.min(), everything.max(), BINS + 1)
    look = looks(groups)
    for axes, (label, records) in zip(panels, groups.items(), strict=False):
        found = _places(np.array([own.final.test[dataset] for own in records]), ranking.best)
        _shares(axes, everything, edges, "0.75")
        _shares(axes, found, edges, look[label].colour)
        axes.set_title(f"{label} ({len(records)})", fontsize="medium")
        _mark(axes, ranking)
    for axes in list(panels)[len(groups) :]:
        axes.set_axis_off()
    figure.supxlabel(f"test accuracy on {dataset} (%), finer towards the best cell")
    figure.supylabel("share of final cells; grey: of all")
    return figure


def _places(tests: Floats, best: float) -> Floats:
    """Where accuracies stand on an axis that is finer towards the best one."""
    places: Floats = -np.log10(100 * np.maximum(best - tests, 0) + FINEST)
    return places


def _shares(axes: Axes, places: Floats, edges: Floats, colour: str) -> None:
    inside = np.clip(places, edges[0], edges[-1])
    axes.hist(inside, edges.tolist(), weights=np.full(len(places), 1 / len(places)), color=colour, alpha=0.8)


def _mark(axes: Axes, ranking: Ranking) -> None:
    """Ticks at accuracies so many points below the best one."""
    lowest = 100 * (ranking.best - ranking.tests[0])
    tests = [ranking.best - below / 100 for below in TICKS if below <= lowest]
    axes.set_xticks(_places(np.array(tests), ranking.best), [f"{100 * test:.1f}" for test in tests])


def _save(figure: Figure, path: Path) -> Iterator[Path]:
    """Writes a figure in all formats; the same figure gives the same bytes."""
    for ending, said in METADATA.items():
        file = io.BytesIO()
        with mpl.rc_context({"svg.hashsalt": path.name}):
            figure.savefig(file, format=ending, dpi=150, metadata=said)
        whole = path.with_name(f"{path.name}.{ending}")
        write_bytes(whole, file.getvalue())
        yield whole
