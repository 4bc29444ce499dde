"""Learning curves against numbers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.analysis.curves import Curve, band
from dartboard.errors import OptionError

FALLING = Curve((1, 2, 4), (2.0, 1.0, 0.5))
"""Trapezoids: (2 + 1) / 2 * 1 + (1 + 0.5) / 2 * 2 = 3, over 3 epochs."""


def test_the_area_is_the_mean_height() -> None:
    assert FALLING.area() == pytest.approx(1.0)


def test_the_area_of_one_point_is_its_height_and_of_none_nothing() -> None:
    assert Curve((3,), (0.7,)).area() == 0.7
    assert Curve((), ()).area() is None
    assert Curve((), ()).final is None


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8), st.floats(-5, 5))
def test_a_curve_that_is_lifted_has_so_much_more_area(values: list[float], lift: float) -> None:
    epochs = tuple(range(1, len(values) + 1))
    lower, upper = Curve(epochs, tuple(values)), Curve(epochs, tuple(value + lift for value in values))
    assert upper.area() == pytest.approx((lower.area() or 0.0) + lift, abs=1e-9)


@pytest.mark.parametrize(
    ("level", "epochs"),
    [(3.0, 1.0), (2.0, 1.0), (1.5, 1.5), (1.0, 2.0), (0.75, 3.0), (0.5, 4.0), (0.4, None)],
)
def test_epochs_to_a_loss(level: float, epochs: float | None) -> None:
    assert FALLING.epochs_to(level, falling=True) == (None if epochs is None else pytest.approx(epochs))


@pytest.mark.parametrize(("level", "epochs"), [(0.1, 1.0), (0.3, 1.5), (0.5, 2.5), (0.9, None)])
def test_epochs_to_an_accuracy(level: float, epochs: float | None) -> None:
    rising = Curve((1, 2, 3), (0.2, 0.4, 0.6))
    found = rising.epochs_to(level, falling=False)
    assert found == (None if epochs is None else pytest.approx(epochs))


def test_a_level_is_reached_where_it_is_first_reached() -> None:
    assert Curve((1, 2, 3, 4), (2.0, 0.5, 2.0, 0.5)).epochs_to(0.5, falling=True) == pytest.approx(2.0)


def test_an_infinite_loss_is_no_point_to_draw_lines_from() -> None:
    assert Curve((1, 2), (math.inf, 1.0)).epochs_to(1.5, falling=True) == 2.0
    assert Curve((1, 2), (math.inf, 1.0)).area() == math.inf
    assert Curve((), ()).epochs_to(1.0, falling=True) is None


def test_rises_are_steps_in_the_wrong_direction() -> None:
    curve = Curve((1, 2, 3, 4), (1.0, 1.5, 0.5, 0.75))
    assert curve.rise(falling=True) == pytest.approx(0.75)
    assert curve.rise(falling=False) == pytest.approx(1.0)
    assert FALLING.rise(falling=True) == 0.0


def test_a_band_is_mean_and_std_of_those_that_have_a_point() -> None:
    found = band([Curve((1, 2), (1.0, 2.0)), Curve((1, 2, 3), (3.0, 6.0, 5.0))])
    assert found.x.tolist() == [1.0, 2.0, 3.0]
    assert found.mean.tolist() == [2.0, 4.0, 5.0]
    assert found.std == pytest.approx(np.array([math.sqrt(2), math.sqrt(8), 0.0]))


@pytest.mark.parametrize(("epochs", "values"), [((1, 2), (1.0,)), ((2, 1), (1.0, 2.0)), ((1, 1), (1.0, 2.0))])
def test_points_that_are_no_curve_are_refused(epochs: tuple[int, ...], values: tuple[float, ...]) -> None:
    with pytest.raises(OptionError, match="rising epochs"):
        Curve(epochs, values)
