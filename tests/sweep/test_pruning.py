import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.sweep.pruning import reasons_to_prune, standard_error

shares = st.floats(0, 1)


def test_the_error_of_a_difference_is_that_of_two_independent_shares() -> None:
    alone = math.sqrt(0.3 * 0.7 / 50)
    assert standard_error(0.3, 0.0, 50) == pytest.approx(alone)
    assert standard_error(0.3, 0.3, 50) == pytest.approx(alone * math.sqrt(2))
    assert standard_error(0.3, 0.3, 200) == pytest.approx(alone / math.sqrt(2))


def test_who_is_two_errors_below_the_best_is_pruned() -> None:
    assert 2 * standard_error(0.9, 0.79, 100) == pytest.approx(0.1012, abs=1e-4)
    assert 2 * standard_error(0.9, 0.81, 100) > 0.09
    found = reasons_to_prune({"best": 0.9, "near": 0.81, "far": 0.79}, 100, keep=3)
    assert found == {"far": "11.00 points below the best; 2 standard errors are 10.12"}


def test_more_images_tell_smaller_differences() -> None:
    accuracies = {"a": 0.9, "b": 0.88}
    assert reasons_to_prune(accuracies, 500, keep=2) == {}
    assert reasons_to_prune(accuracies, 5000, keep=2).keys() == {"b"}


@pytest.mark.parametrize(("keep", "left"), [(1, ["b"]), (2, ["b", "c"]), (3, ["a", "b", "c"])])
def test_at_most_so_many_stay_and_of_equal_ones_the_first(keep: int, left: list[str]) -> None:
    accuracies = {"a": 0.5, "b": 0.52, "c": 0.51, "d": 0.5}
    found = reasons_to_prune(accuracies, 100, keep)
    assert [name for name in accuracies if name not in found] == left
    assert list(found) == [name for name in accuracies if name not in left]
    assert found["d"] == (f"not among the best {keep}" if keep > 1 else "not the best")


def test_of_none_none_is_pruned() -> None:
    assert reasons_to_prune({}, 100, keep=1) == {}


@given(st.dictionaries(st.text(max_size=3), shares, min_size=1), st.integers(1, 10**6), st.integers(1, 9))
def test_the_best_always_stays(accuracies: dict[str, float], examples: int, keep: int) -> None:
    found = reasons_to_prune(accuracies, examples, keep)
    left = [name for name in accuracies if name not in found]
    assert list(found) == [name for name in accuracies if name in found]
    assert 1 <= len(left) <= keep
    assert max(accuracies.values()) in [accuracies[name] for name in left]
