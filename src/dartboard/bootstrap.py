"""How sure a mean of few values is: means of samples that are drawn anew from them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 10_000
BLOCK = 2_000_000
"""So many values are drawn at a time, or one sample if that has more."""
SEED = 0
CONFIDENCE = 0.95


def resampled_means(values: Floats, rng: np.random.Generator) -> Floats:
    """Means of samples drawn from the values, as many as there are, with replacement [RESAMPLES]."""
    rows = max(BLOCK // values.size, 1)
    counts = [min(rows, RESAMPLES - start) for start in range(0, RESAMPLES, rows)]
    blocks = [values[rng.integers(values.size, size=(count, values.size))].mean(axis=1) for count in counts]
    return np.concatenate(blocks)


def middle(means: Floats) -> tuple[float, float]:
    """The ends of the middle 95 % of values [N]."""
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [tail, 100 - tail])
    return float(low), float(high)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Where the mean lies with 95 % confidence (Efron's percentile interval); None for a single value.

    Of a few values the interval is too narrow; it never leaves the range of the values.
    """
    if len(values) < 2:
        return None
    return middle(resampled_means(np.asarray(values, dtype=np.float64), np.random.default_rng(SEED)))
