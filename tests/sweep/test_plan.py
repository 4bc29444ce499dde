"""Which runs a sweep has, and what stands by what was decided."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dartboard.errors import DartboardError, RunError
from dartboard.runs import Run
from dartboard.space import GENOTYPE_FORMATS, get_space, sample
from dartboard.sweep.cells import named_cells
from dartboard.sweep.config import validate
from dartboard.sweep.grid import PlannedRun
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.stage_plan import StagePlanner
from helpers.protocol_cases import few_digits
from helpers.sweep_cases import tiny


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
    few_digits(tmp_path / "few.npz")
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
    few_digits(tmp_path / "few.npz")
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


pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = ["search/darts-s0", "search/darts-s1"]
TRAINED = {"batch": 16, "net.channels": 4, "net.auxiliary": 0, "data.pad": 1, "epochs": 2}


def cell(seed: int) -> str:
    return GENOTYPE_FORMATS["json"].encode(sample(get_space("nano"), Random(seed)))


def decide(folder: Path, **decisions: Any) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    taken = {key.replace("_", " "): value for key, value in decisions.items()}
    (folder / "decisions.json").write_text(json.dumps(taken))


def compared(*names: str, **more: Any) -> dict[str, Any]:
    return {"keep": 3, "accuracies": dict.fromkeys(names, 0.5), "dropped": {}, "failed": {}, **more}


def rungs(data: str) -> dict[str, Any]:
    return tiny(data, settings={"epochs": 3}, stop={"after": [1, 2]})


def two_stages(data: str, cells: str = "search", **final: Any) -> dict[str, Any]:
    search = {"do": "search", "settings": tiny(data)["settings"], "grid": {"seed": "0..1"}}
    return {
        "stages": {"search": search, "final": {"do": "train", "cells": cells, "settings": TRAINED, **final}}
    }


def made(folder: Path, values: dict[str, Any]) -> SweepPlanner:
    return SweepPlanner(validate(values), folder)


def finish(planner: SweepPlanner, names: Sequence[str], stage: str = "search", **result: Any) -> None:
    """Writes runs that are finished."""
    for planned in planner.plan(stage):
        if planned.name in names:
            path = planner.folder / planned.name
            with Run.create(path, planned.config, space=get_space("nano")) as run:
                run.finish({"genotype": json.loads(cell(planned.config["seed"])), **result})


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        ({"search_after_1": compared(NAMES[0])}, f"compared after 1 epochs already, and {NAMES[1]} makes"),
        ({"search_after_1": compared(*NAMES, "search/x")}, "and search/x makes a difference"),
        (
            {"search_after_1": compared(*NAMES), "search_after_2": compared(NAMES[0])},
            f"compared after 2 epochs already, and {NAMES[1]} makes",
        ),
        ({"search_after_1": {}}, "'search after 1' does not say accuracies as it should"),
        ({"search_after_1": "x"}, "'search after 1' does not say accuracies"),
        ({"search_after_1": compared(*NAMES, dropped=[])}, "'search after 1' does not say dropped"),
        ({"search_after_1": compared(*NAMES, keep="x")}, "'search after 1' does not say keep"),
        ({"search_after_1": compared(*NAMES, keep=1)}, "after 1 epochs already, to keep 1 and not 3; name"),
        ({"search_after_1": compared(*NAMES) | {"accuracies": {NAMES[0]: "x"}}}, "does not say accuracies"),
    ],
)
def test_decisions_that_a_sweep_does_not_fit_are_told_first(
    decisions: dict[str, Any], words: str, data: str, tmp_path: Path
) -> None:
    decide(tmp_path, **decisions)
    with pytest.raises(RunError, match=words):
        made(tmp_path, rungs(data)).rehearse()


def test_decisions_that_a_sweep_fits(data: str, tmp_path: Path) -> None:
    first = compared(NAMES[0], failed={NAMES[1]: "why"})
    decide(tmp_path, search_after_1=first, search_after_2=first)
    assert [run.name for run in made(tmp_path, rungs(data)).rehearse()["search"]] == NAMES
    dropped = compared(*NAMES, dropped={NAMES[1]: "bad"})
    decide(tmp_path, search_after_1=dropped, search_after_2=compared(NAMES[0]))
    assert [run.name for run in made(tmp_path, rungs(data)).rehearse()["search"]] == NAMES


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        ({"among": NAMES}, "'cells of final' does not say cells"),
        ({"among": 3, "cells": []}, "'cells of final' does not say among"),
        ({"among": NAMES, "cells": [], "best": "x"}, "'cells of final' does not say best"),
        ({"among": NAMES, "cells": [{"name": "x"}], "best": 1}, "'cells of final' has a cell that is none"),
        (
            {"among": NAMES[:1], "cells": [], "best": None},
            f"from other runs of search already, {NAMES[1]} makes the",
        ),
        (
            {"among": NAMES, "cells": [], "best": 2},
            "final has taken the best 2 of search already, so it cannot take all cells; name another",
        ),
    ],
)
def test_cells_that_a_sweep_does_not_fit(
    taken: dict[str, Any], words: str, data: str, tmp_path: Path
) -> None:
    decide(tmp_path, cells_of_final=taken)
    with pytest.raises(RunError, match=words):
        made(tmp_path, two_stages(data)).rehearse()


def test_other_settings_of_a_later_stage_are_told_first(data: str, tmp_path: Path) -> None:
    planner = made(tmp_path, two_stages(data))
    finish(planner, NAMES)
    finish(planner, [run.name for run in planner.plan("final")], "final")
    other = two_stages(data, settings={**TRAINED, "batch": 8})
    with pytest.raises(RunError, match="final/found-0-s0 is a run with other settings: batch was 16, is 8"):
        made(tmp_path, other).rehearse()
    assert made(tmp_path, two_stages(data)).rehearse()["final"][0].name == "final/found-0-s0"


def test_runs_that_cells_leave_out_are_reported(data: str, tmp_path: Path) -> None:
    said: list[str] = []
    planner = made(tmp_path, two_stages(data))
    planner.message = said.append
    finish(planner, NAMES[:1])
    assert len(planner.plan("final")) == 1
    assert said == [f"final takes its cells without {NAMES[1]}, which failed"]
    finish(planner, NAMES[1:])
    assert len(planner.plan("final")) == 1
    late = f"final took its cells before {NAMES[1]} was finished, and without it"
    assert said[1:] == [f"{late}; name another directory with --out"]


@pytest.mark.parametrize("file", ["result.json", "config.yaml", "space.json"])
def test_a_damaged_search_gives_no_cell(file: str, data: str, tmp_path: Path) -> None:
    planner = made(tmp_path, two_stages(data))
    finish(planner, NAMES)
    (tmp_path / NAMES[0] / file).write_text("[")
    assert [run.config["cell"] for run in planner.plan("final")] == [json.dumps(json.loads(cell(1)))]


@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_run_is_left_to_who_does_it(data: str, tmp_path: Path) -> None:
    planner = made(tmp_path, two_stages(data))
    finish(planner, NAMES)
    (tmp_path / NAMES[0] / "config.yaml").write_text("[")
    assert [run.name for run in planner.rehearse()["search"]] == NAMES


def test_cells_of_trainings_are_those_that_were_trained(data: str, tmp_path: Path) -> None:
    screen = {"do": "train", "cells": [cell(0), cell(1)], "settings": {**TRAINED, "data": data}}
    final = {"do": "train", "cells": "screen", "settings": TRAINED}
    planner = made(tmp_path, {"stages": {"screen": screen, "final": final}})
    finish(planner, ["screen/cell-1-s0"], "screen")
    assert [run.name for run in planner.plan("final")] == ["final/cell-1-s0"]


def test_images_are_released(data: str, tmp_path: Path) -> None:
    screen = {"do": "train", "cells": [cell(0)], "settings": {**TRAINED, "data": data}, "stop": {"after": 1}}
    planner = made(tmp_path, {"stages": {"screen": screen}})
    planner.plan("screen")
    assert planner._builder._images is None
