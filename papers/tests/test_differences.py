"""Parts of claims that are judged by a test."""

import pytest

from dartboard_papers import PartResult
from dartboard_papers._differences import all_held, larger_mean, more_than_half


@pytest.mark.parametrize(
    ("larger", "smaller", "held"),
    [
        ([2.0, 3.0, 2.5, 2.2, 2.8], [1.0, 1.5, 0.5, 1.2, 1.1], True),
        ([1.0, 1.5, 0.5, 1.2, 1.1], [2.0, 3.0, 2.5, 2.2, 2.8], False),
        ([2.0, 1.0, 2.5, 1.2, 2.8], [1.0, 1.5, 2.5, 1.2, 2.1], False),  # larger, but chance would do as well
        ([2.0, 3.0], [0.0, 1.0], False),  # of six deals of two and two one is this
    ],
)
def test_a_mean_is_larger_by_more_than_chance(larger: list[float], smaller: list[float], held: bool) -> None:
    part = larger_mean(larger, smaller, "points")
    assert part.held is held
    assert part.chance == 0.05
    gap = sum(larger) / len(larger) - sum(smaller) / len(smaller)
    assert part.observed.startswith(f"{gap:+.2f} points, p ")


def test_the_p_of_a_difference_is_that_of_all_deals() -> None:
    part = larger_mean([3.0, 4.0, 5.0], [0.0, 1.0, 2.0], "points")  # one of 20 deals
    assert float(part.observed.rpartition(" ")[2]) == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize(("count", "p"), [(5, 1 / 32), (4, 6 / 32), (0, 1.0)])
def test_more_than_half_by_the_sign_test(count: int, p: float) -> None:
    part = more_than_half([place < count for place in range(5)])
    assert part.held is (p <= 0.05)
    assert part.observed == f"in {count} of 5, p {p:.3g}"


def test_all_must_hold() -> None:
    yes, no = PartResult(True, "a", 0.05), PartResult(False, "b", 0.05)
    assert all_held(yes, yes) == PartResult(True, "a; a", 0.05)
    assert all_held(yes, no) == PartResult(False, "a; b", 0.05)
