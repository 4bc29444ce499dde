from pathlib import Path
from typing import Any

import pytest
import yaml

from dartboard.errors import DartboardError, OptionError
from dartboard.sweep.config import SweepConfig, load_sweep, plain, validate

STAGES: dict[str, Any] = {
    "settings": {"data": "digits"},
    "stages": {
        "search": {"do": "search", "grid": {"seed": "0..1"}},
        "screen": {"do": "train", "cells": "search", "stop": {"after": [5, 20]}},
    },
}


def load(path: Path, values: dict[str, Any], *words: str, **flags: Any) -> SweepConfig:
    file = path / "sweep.yaml"
    file.write_text(yaml.safe_dump(values, sort_keys=False))
    return load_sweep(file, words, flags)


def test_a_sweep_of_one_stage(tmp_path: Path) -> None:
    values = {"settings": {"weights": {"lr": 0.1}}, "grid": {"method": ["darts"], "seed": "0..2"}}
    config = load(tmp_path, values)
    assert list(config.parts) == ["search"]
    stage = config.parts["search"]
    assert stage.settings == {"weights.lr": 0.1}
    assert stage.grid == {"method.name": ("darts",), "seed": (0, 1, 2)}
    assert (stage.stop.after, config.tries, config.executor.name) == ((), 3, "pool")


def test_a_sweep_of_several_stages(tmp_path: Path) -> None:
    config = load(tmp_path, STAGES)
    assert list(config.parts) == ["search", "screen"]
    assert config.parts["screen"].stop.after == (5, 20)
    assert validate(plain(config)) == config


def test_words_find_their_place(tmp_path: Path) -> None:
    words = (
        "epochs=7",
        "screen.weights.lr=0.5",
        "tries=1",
        "stages.search.grid.seed=0..4",
        "executor.jobs=2",
    )
    config = load(tmp_path, STAGES, *words)
    assert config.settings == {"data.name": "digits"}
    assert config.parts["search"].words == {"epochs": 7}
    assert config.parts["screen"].words == {"epochs": 7, "weights.lr": 0.5}
    assert validate(plain(config)) == config
    assert config.stages["search"].grid["seed"] == (0, 1, 2, 3, 4)
    assert config.tries == 1
    assert (config.executor.name, config.executor.options) == ("pool", {"jobs": 2})


def test_words_of_a_single_stage(tmp_path: Path) -> None:
    config = load(
        tmp_path, {"grid": {"seed": [0]}}, "grid.weights.lr=[0.1, 0.2]", "method=gdas", "stop.after=3"
    )
    assert config.grid == {"seed": (0,), "weights.lr": (0.1, 0.2)}
    assert config.parts["search"].words == {"method.name": "gdas"}
    assert config.stop.after == (3,)


@pytest.mark.parametrize(
    ("values", "word", "told"),
    [
        ({"grid": {"epochs": [1, 2]}}, "epochs=3", "epochs is in the grid; say grid.epochs=..."),
        ({"grid": {"method": ["darts"]}}, "method=gdas", "method is in the grid; say grid.method=..."),
        ({"runs": [{"epochs": 1}]}, "epochs=3", "epochs is in a row of runs; change it there"),
        (STAGES, "seed=3", "seed is in the grid; say stages.search.grid.seed=..."),
        (STAGES, "search.seed=3", "seed is in the grid; say stages.search.grid.seed=..."),
    ],
)
def test_words_about_what_varies_are_refused(
    values: dict[str, Any], word: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionError) as error:
        load(tmp_path, values, word)
    assert str(error.value) == told


def test_methods_with_options_in_a_grid(tmp_path: Path) -> None:
    methods = [{"name": "darts", "lr": 0.1}, "gdas"]
    config = load(tmp_path, {"grid": {"method": methods, "seed": 0}})
    assert config.grid == {"method": tuple(methods), "seed": (0,)}
    assert validate(plain(config)) == config
    other = load(tmp_path, {"grid": {"method": methods, "seed": 0}}, "grid.method=[xnas]")
    assert other.grid == {"method.name": ("xnas",), "seed": (0,)}
    with pytest.raises(OptionError, match=r"method\.lr is in the grid; say grid\.method="):
        load(tmp_path, {"grid": {"method": methods}}, "method.lr=1")


@pytest.mark.parametrize("place", ["settings", "grid", "runs", "words"])
def test_cells_are_no_settings(place: str, tmp_path: Path) -> None:
    own = [{"cell": "darts-v2"}] if place == "runs" else {"cell": "darts-v2"}
    for values in ({place: own}, {"stages": {"one": {place: own}}}):
        with pytest.raises(OptionError, match=r"say what is trained with cells: \[darts-v2\]"):
            load(tmp_path, values)


def test_another_executor_leaves_the_options_behind(tmp_path: Path) -> None:
    values = {"grid": {"seed": 0}, "executor": {"name": "slurm", "partition": "gpu"}}
    same = load(tmp_path, values, executor={"jobs": 3})
    assert (same.executor.name, same.executor.options) == ("slurm", {"partition": "gpu", "jobs": 3})
    other = load(tmp_path, values, executor={"name": "pool", "jobs": 3})
    assert (other.executor.name, other.executor.options) == ("pool", {"jobs": 3})
    assert load(tmp_path, {**values, "executor": "here"}).executor.name == "here"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"sttings": {}}, "no setting called 'sttings'; did you mean 'settings'"),
        ({"name": "../x"}, "name: expected the name of a folder such as methods, got '../x'"),
        ({"name": ".."}, "name: expected the name of a folder such as methods, got '..'"),
        ({"name": ""}, "name: expected the name of a folder such as methods, got ''"),
        ({"do": "dance"}, "do='dance': input should be 'search' or 'train'"),
        ({"grid": [1]}, "grid=[1]: expected a group such as {seed: 0..4}"),
        ({"grid": {"seed": None}}, "sweep.yaml: grid.seed=null: expected values such as [1, 2] or 0..4"),
        (
            {"grid": {"seed": "0..9999", "batch": "1..9999"}},
            "grid: 99,990,000 runs are too many; at most 100,000",
        ),
        (
            {"stages": {"a": {"grid": {"seed": "0..99999"}, "runs": [{"batch": 1}, {"batch": 2}]}}},
            "stages.a: 200,000 runs are too many; at most 100,000",
        ),
        ({"grid": {"method": ["darts", "darts"]}}, "sweep.yaml: grid.method: 'darts' stands there twice"),
        ({}, "says nothing of its runs; a sweep has a grid such as {seed: 0..4}, runs, settings or stages"),
        ({"kind": "sweep", "grid": {}, "name": "x"}, "says nothing of its runs; a sweep has a grid such as"),
        ({"settings": 3}, "settings=3: expected a group such as {epochs: 25}"),
        ({"runs": {"seed": 3}}, "runs={seed: 3}: expected a list such as [{epochs: 5}, {epochs: 10}]"),
        ({"runs": [3]}, "runs.0=3: expected a group such as {epochs: 25}"),
        ({"stop": 1}, "stop=1: expected a group such as {after: 5}"),
        ({"tries": 0}, "tries=0"),
        ({"tries": True}, "tries=true: expected a number"),
        ({"stop": {"after": 0}}, "stop.after.0=0"),
        ({"stop": {"after": True}}, "stop.after=true: expected a number"),
        ({"stop": {"keep": True}}, "stop.keep=true: expected a number"),
        ({"stop": {"after": [1, True]}}, "stop.after=[1, true]: expected a number"),
        ({"stop": {"after": [20, 5]}}, "expected epochs in rising order, such as [5, 20], got [20, 5]"),
        ({"stop": {"epochs": 3}}, "no setting called 'stop.epochs'; did you mean"),
        ({"stages": [1]}, "stages=[1]: expected a group"),
        ({"stages": {"a b": {}}}, "stages.a b: a stage has letters"),
        ({"stages": {"ray": {}}}, "stages.ray: a stage has letters, digits"),
        ({"stages": {"lock": {}}}, "stages.lock: a stage has letters, digits"),
        ({"grid": {"weights.lr": [{}]}}, "grid.weights.lr=[{}]: expected values such as"),
        ({"settings": {"weights": {"lr": 1}, "weights.lr": 2}}, "weights.lr is said twice"),
        ({"grid": {"method": ["a"], "method.name": ["b"]}}, "method.name is said twice"),
        ({"runs": [{"seed": "0..2"}]}, "runs.0: seed=0..2: a range is several values; say them in the grid"),
        ({"settings": {"seed": "0..2"}}, "settings: seed=0..2: a range is several values"),
        ({"stages": {"a": 3}}, "stages.a=3: expected a group such as {do: search}"),
        ({"stages": {"a": {"cels": 1}}}, "stages.a: no setting called 'cels'; did you mean 'cells'"),
        ({"stages": {"a": {}}, "grid": {}}, "grid: a sweep of several stages says it in each"),
    ],
)
def test_what_cannot_be_is_told(tmp_path: Path, values: dict[str, Any], words: str) -> None:
    with pytest.raises(DartboardError) as told:
        load(tmp_path, values)
    assert words in str(told.value)
    assert "sweep.yaml" in str(told.value)


def test_a_word_that_is_no_setting(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="expected a setting such as"):
        load(tmp_path, {}, "epochs")


def test_what_has_nothing_in_it_says_nothing(tmp_path: Path) -> None:
    empty = dict.fromkeys(("settings", "grid", "runs", "stop", "words"))
    whole = {"executor": None, "stages": None, **empty, "grid": {"seed": 1}}
    assert load(tmp_path, whole) == load(tmp_path, {"grid": {"seed": 1}})
    assert load(tmp_path, {"stages": {"a": empty, "b": None}}) == load(
        tmp_path, {"stages": {"a": {}, "b": {}}}
    )
    assert load(tmp_path, {"grid": None}, "grid.seed=0..1").grid == {"seed": (0, 1)}


def test_an_empty_file_may_leave_the_runs_to_words(tmp_path: Path) -> None:
    assert load(tmp_path, {}, "grid.seed=0..1").grid == {"seed": (0, 1)}
    assert load(tmp_path, {}, "epochs=3").words == {"epochs": 3}
