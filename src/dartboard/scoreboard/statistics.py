"""By how much a method's mean differs from random's, and whether so few seeds show it."""

from collections.abc import Sequence

import numpy as np

from dartboard.utils.statistics import SEED, Difference, percentile_interval, resampled_means

BETTER, WORSE, UNCLEAR, ONE_SEED = "better", "worse", "no difference shown", "one seed"
"""What an interval says in a word."""
ONE_DRAW = "one draw of random"
"""Why there is none though the method has several seeds."""


def difference(one: Sequence[float], other: Sequence[float]) -> Difference:
    """By how much the mean of one sample is above that of another, with its bootstrap interval.

    The interval holds the middle 95 % of the differences between the means of 10,000 pairs of samples drawn
    anew, each side from its own values (Efron's percentile interval). Of a side with one value there is
    nothing to draw anew, so there is no interval. Of a few values the interval is too narrow: against 200
    of random it holds the true difference of normal values about 75 times in 100 with 3 seeds, 82 with 5,
    90 with 10.

    Args:
        one: At least one value.
        other: At least one value.
    """
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    gap = float(first.mean() - second.mean())
    if min(first.size, second.size) < 2:
        return Difference(gap, None, None)
    rng = np.random.default_rng(SEED)
    gaps = resampled_means(first, rng) - resampled_means(second, rng)
    return Difference(gap, *percentile_interval(gaps))


def word(found: Difference) -> str:
    """What the interval of a difference says: better, worse, or that it shows neither."""
    if found.low is None or found.high is None:
        return ONE_SEED
    if found.low > 0:
        return BETTER
    return WORSE if found.high < 0 else UNCLEAR
