"""Regret while searching: several seeds of one method as a mean and a band."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dartboard.scoreboard.records import BenchRecord, EpochScore
from dartboard.viz.band import Band

Floats = NDArray[np.float64]


def by_epoch(records: Sequence[BenchRecord], dataset: str) -> Band | None:
    """Regret against completed epochs; None if there are no records."""
    return _band([_curve(own, dataset, [float(point.epoch) for point in _points(own)]) for own in records])


def by_seconds(records: Sequence[BenchRecord], dataset: str) -> Band | None:
    """Regret against seconds; None if no record knows them."""
    timed = [(own, [point.seconds for point in _points(own)]) for own in records]
    known = [(own, [each for each in times if each is not None]) for own, times in timed if None not in times]
    return _band([_curve(own, dataset, times) for own, times in known])


def _points(record: BenchRecord) -> list[EpochScore]:
    """Its points; the last one is the final choice, which may be another than the last epoch's."""
    return [*(own for own in record.points if own.epoch < record.final.epoch), record.final]


def _curve(record: BenchRecord, dataset: str, x: Sequence[float]) -> tuple[Floats, Floats]:
    """Where a record has points, and its regret there."""
    regrets = [record.best[dataset] - point.test[dataset] for point in _points(record)]
    return np.array(x), np.array(regrets)


def _band(curves: Sequence[tuple[Floats, Floats]]) -> Band | None:
    """The curves together, from where all of them have begun; one that has ended keeps its last value."""
    if not curves:
        return None
    begun = max(x[0] for x, _ in curves)
    grid = np.unique(np.concatenate([x for x, _ in curves]))
    grid = grid[grid >= begun]
    values = np.array([y[np.searchsorted(x, grid, side="right") - 1] for x, y in curves])
    spread = values.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(grid)
    return Band(grid, values.mean(axis=0), spread)
