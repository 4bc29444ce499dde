"""Plots of a bench: regret while searching, and the final cells among all architectures."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dartboard.scoreboard.baselines import Baseline
from dartboard.scoreboard.records import BenchRecord, EpochScore
from dartboard.scoreboard.table import RANDOM
from dartboard.tables import Table
from dartboard.viz.band import Band
from dartboard.viz.figures import save_figure
from dartboard.viz.plots import ReferenceCurve, plot_accuracies, plot_regret

Floats = NDArray[np.float64]


def by_epoch(records: Sequence[BenchRecord], dataset: str) -> Band | None:
    """Regret against completed epochs; None if there are no records."""
    return _band(
        [_curve(record, dataset, [float(point.epoch) for point in _points(record)]) for record in records]
    )


def by_seconds(records: Sequence[BenchRecord], dataset: str) -> Band | None:
    """Regret against seconds; None if no record knows them."""
    curves = []
    for record in records:
        times = [point.seconds for point in _points(record)]
        known = [seconds for seconds in times if seconds is not None]
        if len(known) == len(times):
            curves.append(_curve(record, dataset, known))
    return _band(curves)


def _points(record: BenchRecord) -> list[EpochScore]:
    """The points of a record; the last is the final cell, which may differ from the last epoch's."""
    return [*(point for point in record.points if point.epoch < record.final.epoch), record.final]


def _curve(record: BenchRecord, dataset: str, x: Sequence[float]) -> tuple[Floats, Floats]:
    """A record as a curve: where its points are, and the regret there."""
    regrets = [record.best[dataset] - point.test[dataset] for point in _points(record)]
    return np.array(x), np.array(regrets)


def _band(curves: Sequence[tuple[Floats, Floats]]) -> Band | None:
    """Mean and standard deviation of curves, from where all have begun; each keeps its last value."""
    if not curves:
        return None
    start = max(x[0] for x, _ in curves)
    grid = np.unique(np.concatenate([x for x, _ in curves]))
    grid = grid[grid >= start]
    values = np.array([y[np.searchsorted(x, grid, side="right") - 1] for x, y in curves])
    std = values.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(grid)
    return Band(grid, values.mean(axis=0), std)


def draw(
    records: Sequence[BenchRecord], oracle: Table, folder: Path, baselines: Sequence[Baseline] = ()
) -> list[Path]:
    """Draws all plots, each as SVG and as PNG, and returns their paths; none without records.

    `regret-epochs` and, where seconds are known, `regret-seconds` show the regret while searching,
    `final-cells` the test accuracies of the final cells.

    Args:
        records: Records of searches; methods are drawn in their order.
        oracle: The benchmark table; plots are of its first data set.
        folder: Folder of the plots, which exists.
        baselines: The one called `random` is drawn beside the methods; without it, a single random cell is.
    """
    if not records:
        return []
    labels = dict.fromkeys(record.label for record in records)
    groups = {label: [record for record in records if record.label == label] for label in labels}
    random = next((item for item in baselines if item.label == RANDOM), None) or one_cell(oracle)
    return [
        path
        for name, figure in _figures(groups, oracle, random)
        for path in save_figure(figure, folder / name)
    ]


def one_cell(oracle: Table) -> Baseline:
    """The random baseline with a single query, exactly: the mean over all architectures."""
    tests = {name: [float(oracle.ranking(name).tests.mean())] for name in oracle.datasets}
    first = oracle.datasets[0]
    return Baseline(RANDOM, 1, "test", tests, [oracle.ranking(first).best - tests[first][0]], None)


def _figures(
    groups: Mapping[str, Sequence[BenchRecord]], oracle: Table, random: Baseline
) -> Iterator[tuple[str, Figure]]:
    """All plots with their names."""
    dataset = oracle.datasets[0]
    label = f"random, best of {random.queries:,}" if random.queries > 1 else "random, one cell"
    reference = ReferenceCurve(label, random.regrets, random.seconds)
    epochs = {label: by_epoch(group, dataset) for label, group in groups.items()}
    yield "regret-epochs", plot_regret(epochs, "epochs", dataset, reference)
    seconds = {label: by_seconds(group, dataset) for label, group in groups.items()}
    if any(seconds.values()):
        yield "regret-seconds", plot_regret(seconds, "seconds", dataset, reference)
    finals = {label: [record.final.test[dataset] for record in group] for label, group in groups.items()}
    yield "final-cells", plot_accuracies(finals, dataset, oracle.ranking(dataset).tests)
