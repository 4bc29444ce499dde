import numpy as np
import pytest

from dartboard.utils.statistics import mean_interval


def test_the_interval_of_a_mean_is_that_of_the_normal_approximation() -> None:
    values = np.random.default_rng(1).normal(size=400)
    found = mean_interval(values.tolist())
    assert found is not None
    error = values.std() / 20
    assert found == pytest.approx(
        (values.mean() - 1.96 * error, values.mean() + 1.96 * error), abs=0.05 * error
    )


def test_a_single_value_has_none_and_equal_ones_have_no_width() -> None:
    assert mean_interval([0.5]) is None
    assert mean_interval([]) is None
    assert mean_interval([0.5] * 3) == (0.5, 0.5)
