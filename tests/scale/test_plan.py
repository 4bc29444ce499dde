from typing import Any

import pytest

from dartboard.errors import DartboardError
from dartboard.scale.config import validate
from dartboard.scale.plan import Planned, Planner


def searches(values: dict[str, Any]) -> list[Planned]:
    config = validate(values)
    [[name, stage]] = config.parts.items()
    return Planner(name, stage, config.settings if config.stages else {}).searches()


def told(values: dict[str, Any]) -> str:
    with pytest.raises(DartboardError) as error:
        searches(values)
    return str(error.value)


def test_options_arrive_at_every_method_of_a_grid() -> None:
    grid = {"method": ["darts", "gaea-darts"]}
    runs = searches({"settings": {"method.lr": 0.5}, "grid": grid})
    assert [run.config["method"]["name"] for run in runs] == ["darts", "gaea-darts"]
    assert [run.config["method"]["lr"] for run in runs] == [0.5, 0.5]
    rows = searches({"settings": {"method.lr": 0.5}, "runs": [{"method": "darts"}, {"method": "gaea-darts"}]})
    assert [run.config for run in rows] == [run.config for run in runs]
    assert "no option of method random called 'lr'" in told(
        {"settings": {"method.lr": 0.5}, "grid": {"method": ["darts", "random"]}}
    )


def test_options_arrive_at_every_space_of_a_grid() -> None:
    runs = searches({"settings": {"space.cells": 2}, "grid": {"space": ["nano", "nb201"]}})
    assert [run.config["space"]["cells"] for run in runs] == [2, 2]


def test_options_of_all_stages_arrive_where_a_stage_names_the_method() -> None:
    stage = {"settings": {"method": "gaea-darts"}}
    [run] = searches({"settings": {"method": {"lr": 0.5}}, "stages": {"one": stage}})
    assert (run.config["method"]["name"], run.config["method"]["lr"]) == ("gaea-darts", 0.5)


def test_another_method_leaves_the_options_of_the_first_behind() -> None:
    values = {
        "settings": {"method": {"name": "darts", "lr": 0.5}},
        "grid": {"method": ["darts", "gaea-darts"]},
    }
    one, two = searches(values)
    assert one.config["method"]["lr"] == 0.5
    assert two.config["method"]["lr"] != 0.5


def test_words_win_over_all_that_a_stage_says() -> None:
    stage = {"settings": {"epochs": 5, "method": {"name": "darts", "lr": 0.2}}}
    values = {"settings": {"epochs": 4}, "words": {"epochs": 7, "method.lr": 0.5}, "stages": {"one": stage}}
    [run] = searches(values)
    assert (run.config["epochs"], run.config["method"]["lr"]) == (7, 0.5)
    [run] = searches({**values, "stages": {"one": {**stage, "words": {"epochs": 9}}}})
    assert run.config["epochs"] == 9
    [run] = searches({**values, "words": {"method": "gaea-darts"}})
    assert run.config["method"]["name"] == "gaea-darts"
    assert run.config["method"]["lr"] != 0.2
    grid = {
        "settings": {"method": "darts"},
        "grid": {"method": ["darts", "gdas"]},
        "words": {"method.lr": 0.5},
    }
    assert [run.config["method"]["lr"] for run in searches(grid)] == [0.5, 0.5]


def test_methods_of_a_grid_have_options_of_their_own() -> None:
    values = {"grid": {"method": [{"name": "darts", "lr": 0.2}, {"name": "gaea-darts", "lr": 0.3}]}}
    runs = searches(values)
    assert [run.config["method"]["lr"] for run in runs] == [0.2, 0.3]
    assert [run.name for run in runs] == ["search/darts-method.lr0.2-s0", "search/gaea-darts-method.lr0.3-s0"]
