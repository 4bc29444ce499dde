"""How often a rule passes although the claim behind it is false, by permutations of the data it looked at."""

from collections.abc import Callable

import numpy as np

from dartboard.utils.statistics import Floats

DRAWS = 10_000
SEED = 0


def chance_within(rule: Callable[[Floats], bool], values: Floats, *, draws: int = DRAWS) -> float:
    """Probability that a rule passes if its rows have nothing to do with what they are named after.

    Each column is shuffled by itself, so that rows (cells, say) trade places within a repetition, and what
    repetitions (seeds) have in common stays. The data as it was observed counts as one of the draws.

    Args:
        rule: Whether it passes for values of this shape.
        values: Measured values [rows, repetitions].
        draws: Number of permutations.
    """
    rng = np.random.default_rng(SEED)
    passed = sum(rule(rng.permuted(values, axis=0)) for _ in range(draws))
    return (passed + bool(rule(values))) / (draws + 1)


def chance_between(
    rule: Callable[[Floats, Floats], bool], first: Floats, second: Floats, *, draws: int = DRAWS
) -> float:
    """Probability that a rule passes if two groups are one: all values are dealt out to them at random.

    The deal as it was observed counts as one of the draws.

    Args:
        rule: Whether it passes for two groups of these sizes.
        first: Values of the first group.
        second: Values of the second group.
        draws: Number of deals.
    """
    rng, values, size = np.random.default_rng(SEED), np.concatenate([first, second]), len(first)
    deals = (rng.permutation(values) for _ in range(draws))
    passed = sum(rule(deal[:size], deal[size:]) for deal in deals)
    return (passed + bool(rule(np.asarray(first), np.asarray(second)))) / (draws + 1)
