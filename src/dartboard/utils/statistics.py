"""How sure a mean of few values is: means of samples that are drawn anew from them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

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


ERRORS = 2
"""A network is clearly worse than the best by more than so many standard errors of the difference."""
DIVERGED = "its training diverged"


def standard_error(one: float, other: float, examples: int) -> float:
    """Of the difference of two shares, each of so many examples."""
    return math.sqrt((one * (1 - one) + other * (1 - other)) / examples)


def sift(accuracies: Mapping[str, float | None], examples: int, keep: int) -> dict[str, str | None]:
    """Why each network is dropped, in words; None for those that stay, the best of them at least.

    Dropped are those that are clearly worse than the best, and those that are not among the first `keep`; of
    equal ones the first in order stay.

    Args:
        accuracies: After a short training; None for a network whose training diverged.
        examples: How many images they were measured on.
        keep: At most so many stay.
    """
    known = {name: value for name, value in accuracies.items() if value is not None}
    ranked = sorted(known, key=lambda name: -known[name])
    reasons: dict[str, str | None] = dict.fromkeys(accuracies, DIVERGED)
    for rank, name in enumerate(ranked):
        crowded = _crowded(keep) if rank >= keep else None
        reasons[name] = _fault(known[name], known[ranked[0]], examples) or crowded
    return reasons


def _fault(accuracy: float, best: float, examples: int) -> str | None:
    margin = ERRORS * standard_error(best, accuracy, examples)
    if best - accuracy <= margin:
        return None
    gap = f"{100 * (best - accuracy):.2f} points below the best"
    return f"{gap}; {ERRORS} standard errors are {100 * margin:.2f}"


def _crowded(keep: int) -> str:
    return f"not among the best {keep}" if keep > 1 else "not the best"


def affordable(seconds: float, costs: Sequence[float]) -> int:
    """How many more things so many seconds pay for, at the mean of what others have cost."""
    return math.floor(seconds / fmean(costs))


@dataclass(frozen=True)
class Summary:
    """Values in two numbers.

    Args:
        mean: Of all.
        deviation: The standard deviation, with n - 1; None for a single value.
        count: How many there are.
    """

    mean: float
    deviation: float | None
    count: int


def summarize(values: Sequence[float]) -> Summary:
    """Mean and deviation of at least one value."""
    return Summary(fmean(values), stdev(values) if len(values) > 1 else None, len(values))


@dataclass(frozen=True)
class Difference:
    """By how much one mean is above another.

    Args:
        mean: The difference of the means.
        low: The lower end of its 95 % interval; None where there is none, with fewer than two values a side.
        high: The upper end.
    """

    mean: float
    low: float | None
    high: float | None


def compare(one: Sequence[float], other: Sequence[float]) -> Difference:
    """The difference of two means with Welch's interval, which takes the two variances as they are."""
    first, second = summarize(one), summarize(other)
    gap = first.mean - second.mean
    if first.deviation is None or second.deviation is None:
        return Difference(gap, None, None)
    shares = [own.deviation**2 / own.count for own in (first, second) if own.deviation is not None]
    variance = math.fsum(shares)
    if not variance:
        return Difference(gap, gap, gap)
    freedom = variance**2 / (shares[0] ** 2 / (first.count - 1) + shares[1] ** 2 / (second.count - 1))
    reach = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    return Difference(gap, gap - reach, gap + reach)


def verdict(difference: Difference) -> str:
    """In one sentence whether search beat random architectures here."""
    points = f"{100 * difference.mean:+.2f} points"
    if difference.low is None or difference.high is None:
        return f"With one seed nobody can say whether search beat random here: {points}, without an interval."
    interval = f"{points}, 95 % interval {100 * difference.low:+.2f} to {100 * difference.high:+.2f}"
    if difference.low > 0:
        return f"Search beat random here: {interval}."
    if difference.high < 0:
        return f"Random beat search here: {interval}."
    return f"Search did not beat random here, nor random search: {interval}."
