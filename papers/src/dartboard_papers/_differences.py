"""Parts of claims that are judged by a test: one group is larger than another, most cases pass."""

from collections.abc import Sequence
from statistics import fmean

from scipy.stats import binom

from dartboard.utils.statistics import permutation_p
from dartboard_papers.base import LEVEL, PartResult

TEST = f"with a p of at most {LEVEL} by permutations of the seeds"
"""End of the rules of `larger_mean`."""
SIGNS = f"with a p of at most {LEVEL} by the sign test"
"""End of the rules of `more_than_half`."""


def larger_mean(larger: Sequence[float], smaller: Sequence[float], unit: str) -> PartResult:
    """Whether the mean of a group is larger, and not by chance: the values are dealt to both at random.

    Args:
        larger: Values that the claim says are larger, one a seed.
        smaller: The others.
        unit: What they are measured in.
    """
    gap, p = fmean(larger) - fmean(smaller), permutation_p(larger, smaller)
    return PartResult(gap > 0 and p <= LEVEL, f"{gap:+.2f} {unit}, p {p:.3f}", LEVEL)


def more_than_half(passed: Sequence[bool]) -> PartResult:
    """Whether more than half of the cases pass, and not by chance (sign test)."""
    count, total = sum(passed), len(passed)
    p = float(binom.sf(count - 1, total, 0.5))
    return PartResult(p <= LEVEL, f"in {count} of {total}, p {p:.3g}", LEVEL)


def all_held(first: PartResult, *others: PartResult) -> PartResult:
    """A part of a claim that held where all of several did; chance passes it no more often than the first."""
    parts = (first, *others)
    return PartResult(
        all(part.held for part in parts), "; ".join(part.observed for part in parts), first.chance
    )
