"""What the values on a grid say about the shape of a landscape, in single numbers."""

import math

import numpy as np
from scipy.ndimage import label

from dartboard.analysis.grid import Floats
from dartboard.analysis.landscape import Landscape

RISE = 1.0
"""By how much, in units of the loss, a point of the basin may lie above the trained weights."""


def sharpness(found: Landscape, radius: float | None = None) -> float:
    """By how much the loss rises within a radius, in percent: 100 (max f - f*) / (1 + f*).

    That is the sharpness of Keskar et al. (2017), with the maximum over the points of the grid.

    Args:
        found: Losses.
        radius: In units of the directions; None for that of the grid.
    """
    near = found.distances <= (found.options.radius if radius is None else radius)
    return 100 * (float(found.values[near].max()) - found.centre) / (1 + found.centre)


def basin(found: Landscape, rise: float = RISE) -> float:
    """How much of the grid is the basin around the trained weights, from 0 to 1.

    The basin are the points that can be reached from the middle, from neighbour to neighbour along rows and
    columns, without the value being more than `rise` above that of the middle; NaN where that is infinite.
    """
    if not np.isfinite(found.centre):
        return math.nan
    regions, _ = label(found.values <= found.centre + rise)
    half = found.options.grid // 2
    return float((regions == regions[half, half]).mean())


def steepness(found: Landscape) -> float:
    """The largest difference of neighbouring values, per distance; NaN where all values are infinite."""
    with np.errstate(invalid="ignore"):  # between two infinite values there is no difference
        across = [np.abs(np.diff(found.values, axis=axis)) for axis in (0, 1)]
    every = np.concatenate([own[~np.isnan(own)] for own in across])
    step = found.options.steps[1] - found.options.steps[0]
    return float(every.max() / step) if every.size else math.nan


def convexity(found: Landscape) -> float:
    """The share of inner points at which second differences make a positive semi-definite matrix."""
    values = np.where(np.isfinite(found.values), found.values, np.finfo(np.float64).max ** 0.25)
    xx, yy = _bend(values), _bend(values.T).T
    xy = (values[2:, 2:] - values[2:, :-2] - values[:-2, 2:] + values[:-2, :-2]) / 4
    return float(((xx + yy >= 0) & (xx * yy - xy**2 >= 0)).mean())


def _bend(values: Floats) -> Floats:
    """Second differences along columns, of inner points."""
    bend: Floats = values[1:-1, 2:] - 2 * values[1:-1, 1:-1] + values[1:-1, :-2]
    return bend


def summary(found: Landscape) -> dict[str, float]:
    """The numbers that are of use for what was measured, by name.

    Of losses the shape; of all else mean and median, and the maximum: of gradients and of their changes it is
    a lower bound of the Lipschitz constant of the loss, or of its gradient.
    """
    if found.options.of == "loss":
        shape = {"sharpness": sharpness(found), "basin": basin(found), "steepness": steepness(found)}
        return {"centre": found.centre, **shape, "convexity": convexity(found)}
    values = {"mean": float(found.values.mean()), "median": float(np.median(found.values))}
    return {"centre": found.centre, **values, "maximum": float(found.values.max())}
