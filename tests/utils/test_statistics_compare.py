import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from dartboard.utils.statistics import (
    DIVERGED,
    Difference,
    affordable,
    compare,
    sift,
    standard_error,
    summarize,
    verdict,
)

shares = st.floats(0, 1)


def test_the_error_of_a_difference_is_that_of_two_independent_shares() -> None:
    alone = math.sqrt(0.3 * 0.7 / 50)
    assert standard_error(0.3, 0.0, 50) == pytest.approx(alone)
    assert standard_error(0.3, 0.3, 50) == pytest.approx(alone * math.sqrt(2))
    assert standard_error(0.3, 0.3, 200) == pytest.approx(alone / math.sqrt(2))


def test_who_is_two_errors_below_the_best_is_dropped() -> None:
    assert 2 * standard_error(0.9, 0.79, 100) == pytest.approx(0.1012, abs=1e-4)
    assert 2 * standard_error(0.9, 0.81, 100) > 0.09
    found = sift({"best": 0.9, "near": 0.81, "far": 0.79}, 100, keep=3)
    assert found["best"] is None
    assert found["near"] is None
    assert found["far"] == "11.00 points below the best; 2 standard errors are 10.12"


def test_more_images_tell_smaller_differences() -> None:
    accuracies = {"a": 0.9, "b": 0.88}
    assert sift(accuracies, 500, keep=2)["b"] is None
    assert sift(accuracies, 5000, keep=2)["b"] is not None


@pytest.mark.parametrize(("keep", "left"), [(1, ["b"]), (2, ["b", "c"]), (3, ["a", "b", "c"])])
def test_at_most_so_many_stay_and_of_equal_ones_the_first(keep: int, left: list[str]) -> None:
    found = sift({"a": 0.5, "b": 0.52, "c": 0.51, "d": 0.5}, 100, keep)
    assert [name for name, reason in found.items() if reason is None] == left
    assert found["d"] == (f"not among the best {keep}" if keep > 1 else "not the best")


def test_who_diverged_is_dropped_and_counts_for_nothing() -> None:
    assert sift({"a": None, "b": 0.2}, 100, keep=1) == {"a": DIVERGED, "b": None}
    assert sift({"a": None}, 100, keep=1) == {"a": DIVERGED}


@given(st.dictionaries(st.text(max_size=3), shares, min_size=1), st.integers(1, 10**6), st.integers(1, 9))
def test_the_best_always_stays(accuracies: dict[str, float], examples: int, keep: int) -> None:
    found = sift(accuracies, examples, keep)
    left = [name for name, reason in found.items() if reason is None]
    assert list(found) == list(accuracies)
    assert 1 <= len(left) <= keep
    assert max(accuracies.values()) in [accuracies[name] for name in left]


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
    ("low", "high", "words"),
    [
        (0.001, 0.019, "Search beat random here: +1.00 points, 95 % interval +0.10 to +1.90."),
        (0.0, 0.02, "Search did not beat random here, nor random search: +1.00 points"),
        (-0.01, 0.03, "Search did not beat random here, nor random search: +1.00 points"),
        (None, None, "With one seed nobody can say whether search beat random here: +1.00 points"),
    ],
)
def test_the_verdict(low: float | None, high: float | None, words: str) -> None:
    assert verdict(Difference(0.01, low, high)).startswith(words)


def test_random_can_win() -> None:
    assert verdict(Difference(-0.01, -0.02, -0.001)).startswith("Random beat search here: -1.00 points")
