"""Learning curves as values: how fast they fall or rise, and several of them as a band."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import OptionError
from dartboard.viz.band import Band

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """A number of a network after some of its epochs.

    Args:
        epochs: How many were complete at each point, rising [points].
        values: The number there; infinite where it was not finite [points].
    """

    epochs: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.epochs) != len(self.values) or list(self.epochs) != sorted(set(self.epochs)):
            raise OptionError(
                f"a curve has a value for each of its rising epochs; got {len(self.values)} values for "
                f"{list(self.epochs)}"
            )

    @property
    def final(self) -> float | None:
        """The last value; None of a curve without points."""
        return self.values[-1] if self.values else None

    def area(self) -> float | None:
        """The area under the curve by trapezoids, divided by its length: the mean height between its ends.

        Of one point it is the value there; None of a curve without points.
        """
        if len(self.epochs) < 2:
            return self.final
        return float(np.trapezoid(self.values, self.epochs)) / (self.epochs[-1] - self.epochs[0])

    def epochs_to(self, level: float, *, falling: bool) -> float | None:
        """Epochs that it takes to come to a level, by straight lines between points; None if it never does.

        A curve that begins there needs as many epochs as its first point has, for nothing is known of those
        before.

        Args:
            level: Where to.
            falling: Whether less is better, as of a loss, or more, as of an accuracy.
        """
        sign = 1.0 if falling else -1.0
        above = [sign * (value - level) for value in self.values]
        if above and above[0] <= 0:
            return float(self.epochs[0])
        points = zip(self.epochs, above, strict=True)
        for (start, before), (end, after) in pairwise(points):
            if after <= 0:
                share = before / (before - after) if np.isfinite(before) else 1.0
                return start + share * (end - start)
        return None

    def rise(self, *, falling: bool) -> float:
        """All steps in the wrong direction together: how unsteady the curve is."""
        steps = np.diff(self.values) if falling else -np.diff(self.values)
        return float(steps[steps > 0].sum())


def band(curves: Sequence[Curve]) -> Band:
    """Several curves in one, at all epochs that one has; a curve that ends early counts as far as it goes."""
    grid = sorted({epoch for curve in curves for epoch in curve.epochs})
    by_epoch = [dict(zip(curve.epochs, curve.values, strict=True)) for curve in curves]
    columns = [np.array([own[epoch] for own in by_epoch if epoch in own]) for epoch in grid]
    means = np.array([column.mean() for column in columns])
    return Band(np.array(grid, dtype=float), means, np.array([_std(column) for column in columns]))


def _std(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 and np.isfinite(values).all() else 0.0
