"""Questions to trainings that are made up: what the answers are can be seen."""

import json
import math

import pytest

from dartboard.analysis.comparison import ACCURACY, LOSS, METRICS, Comparison, Entry, Training
from dartboard.analysis.curves import Curve
from dartboard.space import get_published


def training(cell: str, losses: list[float], seed: int = 0, fault: str | None = None) -> Training:
    epochs = tuple(range(1, len(losses) + 1))
    curves = {metric: Curve(epochs, tuple(losses)) for metric in METRICS}
    curves[ACCURACY] = Curve(epochs, tuple(1 / (1 + loss) for loss in losses))
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
