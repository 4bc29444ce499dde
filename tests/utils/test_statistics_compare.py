import math
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from dartboard.utils.statistics import Difference, affordable, compare, permutation_p, summarize


@given(st.floats(0, 1e6), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=5))
def test_what_is_paid_for_never_costs_more_than_there_is(seconds: float, costs: list[float]) -> None:
    number, mean = affordable(seconds, costs), math.fsum(costs) / len(costs)
    assert number * mean <= seconds * (1 + 1e-9)
    assert (number + 1) * mean > seconds * (1 - 1e-9)


def test_a_budget_in_numbers() -> None:
    assert affordable(100.0, [8.0, 12.0]) == 10
    assert affordable(99.9, [8.0, 12.0]) == 9
    assert affordable(9.9, [10.0]) == 0


def test_mean_and_deviation() -> None:
    found = summarize([0.2, 0.4, 0.9])
    assert found.mean == pytest.approx(0.5)
    assert found.deviation == pytest.approx(math.sqrt((0.09 + 0.01 + 0.16) / 2))
    assert found.count == 3
    assert summarize([0.3]).deviation is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([0.91, 0.93, 0.92, 0.94], [0.90, 0.95, 0.85]),
        ([0.5, 0.7], [0.1, 0.9, 0.3, 0.4, 0.41]),
        ([0.5, 0.501], [0.1, 0.2]),
    ],
)
def test_the_interval_is_welchs(one: list[float], other: list[float]) -> None:
    found = compare(one, other)
    expected = ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert found.mean == pytest.approx(sum(one) / len(one) - sum(other) / len(other))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_equal_variances_and_counts_give_students_interval() -> None:
    found = compare([0.0, 2.0, 1.0], [5.0, 6.0, 7.0])
    reach = 2.7764451051977987 * math.sqrt(2 / 3)  # t of 4 degrees of freedom
    assert (found.mean, found.low, found.high) == pytest.approx((-5, -5 - reach, -5 + reach))


def test_what_does_not_vary_has_no_width_and_one_value_no_interval() -> None:
    assert compare([0.5, 0.5], [0.25, 0.25]) == Difference(0.25, 0.25, 0.25)
    assert compare([0.5], [0.25, 0.3]) == Difference(pytest.approx(0.225), None, None)


@pytest.mark.parametrize(
    ("first", "second"),
    [([3.0, 5.0, 4.0], [1.0, 2.0, 3.5]), ([1.0, 2.0], [4.0, 3.0, 0.0]), ([0.5, 0.5], [0.5, 0.5])],
)
def test_permutations_are_those_of_all_deals(first: list[float], second: list[float]) -> None:
    """Against all ways to deal out the values, one by one."""
    values, gap = [*first, *second], fmean(first) - fmean(second)
    deals = list(combinations(range(len(values)), len(first)))
    as_large = 0
    for deal in deals:
        rest = [value for place, value in enumerate(values) if place not in deal]
        as_large += fmean(values[place] for place in deal) - fmean(rest) >= gap - 1e-12
    assert permutation_p(first, second) == pytest.approx(as_large / len(deals), abs=0.02)


def test_a_small_p_is_rare_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(3)
    values = [permutation_p(*rng.normal(size=(2, 6))) for _ in range(200)]
    assert 0.01 < np.mean([value <= 0.05 for value in values]) < 0.1
