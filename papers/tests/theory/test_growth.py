import pytest

from dartboard_papers.theory.growth import misfit, power


def test_misfit_is_zero_for_a_multiple_and_one_for_what_is_across():
    assert misfit([2.0, 4.0], [1.0, 2.0]) == pytest.approx(0)
    assert misfit([1.0, -1.0], [1.0, 1.0]) == pytest.approx(1)
    assert misfit([3.0, 4.0], [1.0, 0.0]) == pytest.approx(0.8)


def test_the_exponent_of_a_power_is_found():
    assert power([1, 2, 4, 8], [3 * own**1.5 for own in (1, 2, 4, 8)]) == pytest.approx(1.5)
