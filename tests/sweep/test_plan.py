from pathlib import Path
from typing import Any

import pytest

from dartboard.errors import DartboardError
from dartboard.sweep.cells import named_cells
from dartboard.sweep.config import validate
from dartboard.sweep.plan import PlannedRun, StagePlanner
from protocols import few


def searches(values: dict[str, Any]) -> list[PlannedRun]:
    config = validate(values)
    [[name, stage]] = config.parts.items()
    return StagePlanner(name, stage, config.settings if config.stages else {}).searches()


def trainings(values: dict[str, Any]) -> list[PlannedRun]:
    stage = validate({"do": "train", **values}).parts["train"]
    return StagePlanner("train", stage, {}).trainings(named_cells(["darts-v2"]), lambda _: False)


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


def test_values_are_the_same_however_they_are_spelt() -> None:
    [run] = searches({"grid": {"weights.lr": ["1e-3"], "batch": [64.0], "seed": [0.0]}})
    assert run.name == "search/darts-batch64-lr0.001-s0"
    assert run.varied == {"method.name": "darts", "weights.lr": 0.001, "batch": 64}
    [run] = searches({"grid": {"method": ["darts"], "method.lr": ["1e-3"]}})
    assert run.name == "search/darts-method.lr0.001-s0"


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"runs": [{"seed": 3}, {"seed": 3}]}, "darts-s3"),
        ({"grid": {"seed": [0, 0.0]}}, "darts-s0"),
        ({"grid": {"weights.lr": [0.001, "1e-3"]}}, "darts-lr0.001-s0"),
        ({"grid": {"method.lr": ["1e-3", 0.001]}}, "darts-method.lr0.001-s0"),
        ({"grid": {"data": ["few.npz", "./few.npz"]}}, "darts-few-s0"),
    ],
)
def test_a_run_is_there_once(
    values: dict[str, Any], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few(tmp_path / "few.npz")
    assert told(values) == f"search/{name} would be there twice; leave out one of the two runs"


def test_a_cell_is_trained_once() -> None:
    stage = validate({"do": "train", "cells": "x"}).parts["train"]
    with pytest.raises(DartboardError, match="train/darts-v2-s0 would be there twice"):
        StagePlanner("train", stage, {}).trainings(named_cells(["darts-v2", "darts-v2"]), lambda _: False)


def test_cells_count_among_the_runs() -> None:
    stage = validate({"do": "train", "cells": "x", "grid": {"seed": "0..59999"}}).parts["train"]
    with pytest.raises(DartboardError, match=r"^train: 120,000 runs are too many; at most 100,000$"):
        StagePlanner("train", stage, {}).trainings(named_cells(["darts-v1", "darts-v2"]), lambda _: False)


def test_images_are_the_same_however_their_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few(tmp_path / "few.npz")
    [run] = searches({"grid": {"data": ["./few.npz"]}})
    assert (run.name, run.varied["data.name"]) == ("search/darts-few-s0", "./few.npz")


def test_runs_that_are_the_same_are_refused() -> None:
    rows = [{"batch": 8}, {"batch": 8, "weights.momentum": 0.9}]
    words = "search/darts-batch8-s0 and search/darts-batch8-momentum0.9-s0 are the same run; leave out one"
    assert words in told({"runs": rows})


def test_schedules_are_known_before_the_first_run() -> None:
    words = "weights.schedule=nosuch: no schedule called 'nosuch'; there are "
    assert words in told({"grid": {"weights.schedule": ["cosine", "nosuch"]}})
    with pytest.raises(DartboardError, match="no schedule called 'nosuch'"):
        trainings({"grid": {"weights.schedule": ["cosine", "nosuch"]}})


def test_the_setting_that_is_wrong_is_named_once() -> None:
    assert told({"grid": {"seed": -1}}) == "search: seed=-1: input should be greater than or equal to 0"
    grid = {"method": ["darts"], "seed": [True]}
    assert told({"grid": grid}) == "search: method.name=darts: seed=true: expected a number"
    assert told({"settings": {"epochs": True}}) == "search: epochs=true: expected a number"
    assert told({"runs": [{"epochs": True}]}) == "search: epochs=true: expected a number"
