"""Means with confidence intervals, bootstrap and Welch's, and a permutation test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

RESAMPLES = 10_000
BLOCK = 2_000_000
"""Number of values drawn at a time, or one sample if that has more."""
SEED = 0
CONFIDENCE = 0.95


def resampled_means(values: Floats, rng: np.random.Generator) -> Floats:
    """Bootstrap means: of samples of the same size drawn with replacement [RESAMPLES]."""
    rows = max(BLOCK // values.size, 1)
    counts = [min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows)]
    blocks = [values[rng.integers(values.size, size=(count, values.size))].mean(axis=1) for count in counts]
    return np.concatenate(blocks)


def percentile_interval(means: Floats) -> tuple[float, float]:
    """The interval that holds the middle 95 % of values [N]."""
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [tail, 100 - tail])
    return float(low), float(high)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % confidence interval of the mean (Efron's percentile interval); None for a single value.

    With few values the interval is too narrow; it never leaves the range of the values.
    """
    if len(values) < 2:
        return None
    return percentile_interval(
        resampled_means(np.asarray(values, dtype=np.float64), np.random.default_rng(SEED))
    )


def affordable(seconds: float, costs: Sequence[float]) -> int:
    """Number of runs that fit into this many seconds, at the mean cost of earlier ones."""
    return math.floor(seconds / fmean(costs))


@dataclass(frozen=True)
class Summary:
    """Mean, sample standard deviation (n - 1; None for a single value) and number of values."""

    mean: float
    deviation: float | None
    count: int


def summarize(values: Sequence[float]) -> Summary:
    """Mean and standard deviation of at least one value."""
    return Summary(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


@dataclass(frozen=True)
class Difference:
    """Difference of two means and the ends of its 95 % interval; None if a side has fewer than two values."""

    mean: float
    low: float | None
    high: float | None


def compare(first_values: Sequence[float], second_values: Sequence[float]) -> Difference:
    """The difference of two means with Welch's interval, which does not assume equal variances."""
    first, second = summarize(first_values), summarize(second_values)
    gap = first.mean - second.mean
    if first.deviation is None or second.deviation is None:
        return Difference(gap, None, None)
    variances = [first.deviation**2 / first.count, second.deviation**2 / second.count]
    variance = math.fsum(variances)
    if not variance:
        return Difference(gap, gap, gap)
    freedom = variance**2 / (variances[0] ** 2 / (first.count - 1) + variances[1] ** 2 / (second.count - 1))
    radius = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return Difference(gap, gap - radius, gap + radius)


def permutation_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Probability of a mean difference, first less second, at least this large if the groups were one.

    Values are dealt out to two groups of these sizes at random; the deal that was observed counts as one, so
    that a p of 0.05 or less comes by chance at most one time in twenty.
    """
    values, size = np.array([*first, *second], dtype=np.float64), len(first)
    observed = values[:size].mean() - values[size:].mean()
    deals = np.random.default_rng(SEED).permuted(np.tile(values, (RESAMPLES, 1)), axis=1)
    gaps = deals[:, :size].mean(axis=1) - deals[:, size:].mean(axis=1)
    return (1 + int((gaps >= observed - 1e-12).sum())) / (1 + RESAMPLES)
