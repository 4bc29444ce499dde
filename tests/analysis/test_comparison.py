"""Questions to trainings that are made up: what the answers are can be seen."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.analysis.comparison import (
    ACCURACY,
    LOSS,
    METRICS,
    Comparison,
    Entry,
    LearningCurve,
    Training,
    mean_band,
)
from dartboard.errors import OptionError
from dartboard.space import get_published


def training(cell: str, losses: list[float], seed: int = 0, fault: str | None = None) -> Training:
    epochs = tuple(range(1, len(losses) + 1))
    curves = {metric: LearningCurve(epochs, tuple(losses)) for metric in METRICS}
    curves[ACCURACY] = LearningCurve(epochs, tuple(1 / (1 + loss) for loss in losses))
    return Training(Entry(cell, 0.1, seed), curves, fault)


def comparison(*trainings: Training) -> Comparison:
    names = dict.fromkeys(own.entry.cell for own in trainings)
    cells = {name: get_published("darts-v2") for name in names}
    return Comparison(cells, trainings, "test", dict.fromkeys(names, 10))


def test_the_level_is_what_the_last_of_all_comes_to() -> None:
    found = comparison(training("a", [3.0, 1.0, 2.0]), training("b", [3.0, 2.5, 1.5]))
    assert found.level() == 1.5
    assert found.level(metric=ACCURACY) == pytest.approx(0.4)
    assert found.epochs_to(1.5, "a") == [1.75]
    assert found.ranking() == ["a", "b"]


@pytest.mark.parametrize("losses", [[], [math.inf], [math.inf, math.inf]])
def test_there_is_no_level_where_one_came_to_nothing(losses: list[float]) -> None:
    found = comparison(training("a", [3.0, 1.0]), training("b", losses, fault="the loss is nan"))
    assert found.level() is None
    facts = found.facts()["rates"][0]
    assert facts["levels"][LOSS] is None
    assert facts["cells"]["a"]["epochs_to"][LOSS] == []
    json.dumps(facts, allow_nan=False)


def test_seeds_are_averaged_unless_one_broke_off() -> None:
    whole = comparison(training("a", [2.0, 1.0]), training("a", [4.0, 3.0], seed=1))
    assert whole.area("a") == pytest.approx(2.5)
    assert whole.final("a") == pytest.approx(2.0)
    broken = comparison(training("a", [2.0, 1.0]), training("a", [4.0], seed=1, fault="the loss is nan"))
    assert broken.area("a") is None
    assert broken.areas("a") == [1.5, None]
    assert broken.epochs_to(1.0, "a") == [2.0, None]


FALLING = LearningCurve((1, 2, 4), (2.0, 1.0, 0.5))
"""Trapezoids: (2 + 1) / 2 * 1 + (1 + 0.5) / 2 * 2 = 3, over 3 epochs."""


def test_the_area_is_the_mean_height() -> None:
    assert FALLING.area() == pytest.approx(1.0)


def test_the_area_of_one_point_is_its_height_and_of_none_nothing() -> None:
    assert LearningCurve((3,), (0.7,)).area() == 0.7
    assert LearningCurve((), ()).area() is None
    assert LearningCurve((), ()).final is None


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8), st.floats(-5, 5))
def test_a_curve_that_is_lifted_has_so_much_more_area(values: list[float], lift: float) -> None:
    epochs = tuple(range(1, len(values) + 1))
    lower, upper = (
        LearningCurve(epochs, tuple(values)),
        LearningCurve(epochs, tuple(value + lift for value in values)),
    )
    assert upper.area() == pytest.approx((lower.area() or 0.0) + lift, abs=1e-9)


@pytest.mark.parametrize(
    ("level", "epochs"),
    [(3.0, 1.0), (2.0, 1.0), (1.5, 1.5), (1.0, 2.0), (0.75, 3.0), (0.5, 4.0), (0.4, None)],
)
def test_epochs_to_a_loss(level: float, epochs: float | None) -> None:
    assert FALLING.epochs_to(level, falling=True) == (None if epochs is None else pytest.approx(epochs))


@pytest.mark.parametrize(("level", "epochs"), [(0.1, 1.0), (0.3, 1.5), (0.5, 2.5), (0.9, None)])
def test_epochs_to_an_accuracy(level: float, epochs: float | None) -> None:
    rising = LearningCurve((1, 2, 3), (0.2, 0.4, 0.6))
    found = rising.epochs_to(level, falling=False)
    assert found == (None if epochs is None else pytest.approx(epochs))


def test_a_level_is_reached_where_it_is_first_reached() -> None:
    assert LearningCurve((1, 2, 3, 4), (2.0, 0.5, 2.0, 0.5)).epochs_to(0.5, falling=True) == pytest.approx(
        2.0
    )


def test_an_infinite_loss_is_no_point_to_draw_lines_from() -> None:
    assert LearningCurve((1, 2), (math.inf, 1.0)).epochs_to(1.5, falling=True) == 2.0
    assert LearningCurve((1, 2), (math.inf, 1.0)).area() == math.inf
    assert LearningCurve((), ()).epochs_to(1.0, falling=True) is None


def test_rises_are_steps_in_the_wrong_direction() -> None:
    curve = LearningCurve((1, 2, 3, 4), (1.0, 1.5, 0.5, 0.75))
    assert curve.rise(falling=True) == pytest.approx(0.75)
    assert curve.rise(falling=False) == pytest.approx(1.0)
    assert FALLING.rise(falling=True) == 0.0


def test_a_band_is_mean_and_std_of_those_that_have_a_point() -> None:
    found = mean_band([LearningCurve((1, 2), (1.0, 2.0)), LearningCurve((1, 2, 3), (3.0, 6.0, 5.0))])
    assert found.x.tolist() == [1.0, 2.0, 3.0]
    assert found.mean.tolist() == [2.0, 4.0, 5.0]
    assert found.std == pytest.approx(np.array([math.sqrt(2), math.sqrt(8), 0.0]))


@pytest.mark.parametrize(("epochs", "values"), [((1, 2), (1.0,)), ((2, 1), (1.0, 2.0)), ((1, 1), (1.0, 2.0))])
def test_points_that_are_no_curve_are_refused(epochs: tuple[int, ...], values: tuple[float, ...]) -> None:
    with pytest.raises(OptionError, match="rising epochs"):
        LearningCurve(epochs, values)
