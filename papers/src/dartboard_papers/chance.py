"""How often a rule passes although the claim behind it is false, by permutations of the data it looked at."""

import math
from collections.abc import Callable
from itertools import permutations

import numpy as np

from dartboard.utils.statistics import Floats

DRAWS = 10_000
SEED = 0
ROUNDING = 1e-12
"""Statistics that differ by less are equal."""


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


def chance_across(rule: Callable[[Floats], bool], values: Floats, *, draws: int = DRAWS) -> float:
    """Probability that a rule passes if its rows differ, but not by what they are named after.

    Rows (cells, say) trade places in all repetitions at once: by all orders, or by random ones where there
    are more than `draws`, among which the data as it was observed counts as one.

    Args:
        rule: Whether it passes for values of this shape.
        values: Measured values [rows, repetitions].
        draws: Number of orders, at the most.
    """
    rows = len(values)
    if math.factorial(rows) <= draws:
        orders = list(permutations(range(rows)))
        return sum(bool(rule(values[list(order)])) for order in orders) / len(orders)
    rng = np.random.default_rng(SEED)
    passed = sum(bool(rule(values[rng.permutation(rows)])) for _ in range(draws))
    return (passed + bool(rule(values))) / (draws + 1)


def p_within(statistic: Callable[[Floats], float], values: Floats, *, draws: int = DRAWS) -> float:
    """Probability of a statistic at least as large as observed, if rows trade places within repetitions."""
    observed = statistic(values)
    return chance_within(lambda shuffled: statistic(shuffled) >= observed - ROUNDING, values, draws=draws)


def p_across(statistic: Callable[[Floats], float], values: Floats, *, draws: int = DRAWS) -> float:
    """Probability of a statistic at least as large as observed, if rows trade places in all repetitions."""
    observed = statistic(values)
    return chance_across(lambda shuffled: statistic(shuffled) >= observed - ROUNDING, values, draws=draws)
