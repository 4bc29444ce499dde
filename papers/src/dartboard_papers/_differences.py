"""Whether one group of measurements is larger than another, as part of a claim."""

from collections.abc import Sequence
from statistics import fmean

from dartboard.utils.statistics import permutation_p
from dartboard_papers.base import LEVEL, PartResult

TEST = f"with a p of at most {LEVEL} by permutations of the seeds"
"""End of the rules of `larger_mean`."""


def larger_mean(larger: Sequence[float], smaller: Sequence[float], unit: str) -> PartResult:
    """Whether the mean of a group is larger, and not by chance: the values are dealt to both at random.

    Args:
        larger: Values that the claim says are larger, one a seed.
        smaller: The others.
        unit: What they are measured in.
    """
    gap, p = fmean(larger) - fmean(smaller), permutation_p(larger, smaller)
    return PartResult(gap > 0 and p <= LEVEL, f"{gap:+.2f} {unit}, p {p:.3f}", LEVEL)


def all_held(first: PartResult, *others: PartResult) -> PartResult:
    """A part of a claim that held where all of several did; chance passes it no more often than the first."""
    parts = (first, *others)
    return PartResult(
        all(part.held for part in parts), "; ".join(part.observed for part in parts), first.chance
    )
