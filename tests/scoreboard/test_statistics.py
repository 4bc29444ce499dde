import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard.scoreboard.statistics import BETTER, ONE_SEED, UNCLEAR, WORSE, difference, word
from dartboard.utils import statistics
from dartboard.utils.statistics import RESAMPLES, Difference, resampled_means

samples = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def coverage(seeds: int, times: int = 200) -> float:
    """How often the interval holds the true difference, 0.3, of normal values from 50 of random."""
    rng = np.random.default_rng(0)
    found = [
        difference(rng.normal(0.3, 1, seeds).tolist(), rng.normal(0, 1, 50).tolist()) for _ in range(times)
    ]
    return float(np.mean([(own.low or 0) <= 0.3 <= (own.high or 0) for own in found]))


def test_intervals_from_many_seeds_hold_the_truth_as_often_as_they_say() -> None:
    assert 0.90 <= coverage(30) <= 0.99


def test_intervals_from_three_seeds_are_too_narrow() -> None:
    assert 0.65 <= coverage(3) <= 0.85


def test_the_width_is_that_of_the_normal_approximation() -> None:
    one, other = np.random.default_rng(1).normal(size=(2, 400))
    found = difference(one.tolist(), other.tolist())
    assert found.mean == pytest.approx(one.mean() - other.mean())
    error = np.sqrt((one.var() + other.var()) / 400)
    assert found.low == pytest.approx(found.mean - 1.96 * error, abs=0.05 * error)
    assert found.high == pytest.approx(found.mean + 1.96 * error, abs=0.05 * error)


def test_of_two_values_every_resample_is_known() -> None:
    means = resampled_means(np.array([0.0, 1.0]), np.random.default_rng(0))
    assert means.shape == (RESAMPLES,)
    shares = [np.mean(means == value) for value in (0.0, 0.5, 1.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.02)


@pytest.mark.parametrize("block", [1, 70, 333, 1_000_000])
def test_blocks_of_any_size_draw_the_same(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(size=7)
    whole = values[np.random.default_rng(0).integers(7, size=(RESAMPLES, 7))].mean(axis=1)
    monkeypatch.setattr(statistics, "BLOCK", block)
    assert np.array_equal(resampled_means(values, np.random.default_rng(0)), whole)


def test_many_values_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "BLOCK", 10_000)
    values = np.arange(1000, dtype=np.float64)
    tracemalloc.start()
    try:
        resampled_means(values, np.random.default_rng(0))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@given(samples, samples)
@settings(max_examples=25, deadline=None)
def test_worse_by_as_much_is_the_mirror_image(one: list[float], other: list[float]) -> None:
    found = difference(one, other)
    mirrored = difference([-value for value in one], [-value for value in other])
    assert (mirrored.mean, mirrored.low, mirrored.high) == pytest.approx(
        (-found.mean, -(found.high or 0), -(found.low or 0)), abs=1e-12
    )


@given(samples, samples)
@settings(max_examples=25, deadline=None)
def test_the_interval_stays_within_what_resamples_can_reach(one: list[float], other: list[float]) -> None:
    found = difference(one, other)
    assert found.low is not None
    assert found.high is not None
    tiny = 1e-9
    assert min(one) - max(other) - tiny <= found.low <= found.high <= max(one) - min(other) + tiny


def test_sides_change_places_up_to_chance() -> None:
    one, other = np.random.default_rng(2).normal(size=(2, 40))
    there, back = difference(one.tolist(), other.tolist()), difference(other.tolist(), one.tolist())
    assert there.low == pytest.approx(-(back.high or 0), abs=0.02)
    assert there.high == pytest.approx(-(back.low or 0), abs=0.02)


def test_twice_the_same_is_the_same() -> None:
    assert difference([0.1, 0.4, 0.3], [0.2, 0.1]) == difference([0.1, 0.4, 0.3], [0.2, 0.1])


@pytest.mark.parametrize(("one", "other"), [([0.5], [0.1, 0.2]), ([0.5, 0.6], [0.1]), ([0.5], [0.1])])
def test_one_value_has_no_interval(one: list[float], other: list[float]) -> None:
    found = difference(one, other)
    assert (found.low, found.high) == (None, None)
    assert found.mean == pytest.approx(np.mean(one) - np.mean(other))
    assert word(found) == ONE_SEED


def test_without_spread_the_interval_is_a_point() -> None:
    found = difference([0.75, 0.75], [0.5, 0.5, 0.5])
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, 0.2, BETTER),
        (-0.2, -0.1, WORSE),
        (-0.1, 0.1, UNCLEAR),
        (0.0, 0.2, UNCLEAR),
        (-0.2, 0.0, UNCLEAR),
    ],
)
def test_what_an_interval_says(low: float, high: float, expected: str) -> None:
    assert word(Difference(0.0, low, high)) == expected
