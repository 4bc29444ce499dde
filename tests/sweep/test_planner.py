"""Which runs a sweep has, and what stands by what was decided."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dartboard.errors import RunError
from dartboard.runs import Run
from dartboard.space import GENOTYPE_FORMATS, get_space, sample
from dartboard.sweep.config import validate
from dartboard.sweep.planner import SweepPlanner
from sweeps import tiny

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


def finish(course: SweepPlanner, names: Sequence[str], stage: str = "search", **result: Any) -> None:
    """Writes runs that are finished."""
    for planned in course.plan(stage):
        if planned.name in names:
            path = course.folder / planned.name
            with Run.create(path, planned.config, space=get_space("nano")) as run:
                run.finish({"genotype": json.loads(cell(planned.seed)), **result})


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
    course = made(tmp_path, two_stages(data))
    finish(course, NAMES)
    finish(course, [run.name for run in course.plan("final")], "final")
    other = two_stages(data, settings={**TRAINED, "batch": 8})
    with pytest.raises(RunError, match="final/found-0-s0 is a run with other settings: batch was 16, is 8"):
        made(tmp_path, other).rehearse()
    assert made(tmp_path, two_stages(data)).rehearse()["final"][0].name == "final/found-0-s0"


def test_what_has_no_part_in_cells_is_told(data: str, tmp_path: Path) -> None:
    said: list[str] = []
    course = made(tmp_path, two_stages(data))
    course.say = said.append
    finish(course, NAMES[:1])
    assert len(course.plan("final")) == 1
    assert said == [f"final takes its cells without {NAMES[1]}, which failed"]
    finish(course, NAMES[1:])
    assert len(course.plan("final")) == 1
    late = f"final took its cells before {NAMES[1]} was finished, and without it"
    assert said[1:] == [f"{late}; name another directory with --out"]


@pytest.mark.parametrize("file", ["result.json", "config.yaml", "space.json"])
def test_a_damaged_search_gives_no_cell(file: str, data: str, tmp_path: Path) -> None:
    course = made(tmp_path, two_stages(data))
    finish(course, NAMES)
    (tmp_path / NAMES[0] / file).write_text("[")
    assert [run.config["cell"] for run in course.plan("final")] == [json.dumps(json.loads(cell(1)))]


def test_a_damaged_run_is_left_to_who_does_it(data: str, tmp_path: Path) -> None:
    course = made(tmp_path, two_stages(data))
    finish(course, NAMES)
    (tmp_path / NAMES[0] / "config.yaml").write_text("[")
    assert [run.name for run in course.rehearse()["search"]] == NAMES


def test_cells_of_trainings_are_those_that_were_trained(data: str, tmp_path: Path) -> None:
    screen = {"do": "train", "cells": [cell(0), cell(1)], "settings": {**TRAINED, "data": data}}
    final = {"do": "train", "cells": "screen", "settings": TRAINED}
    course = made(tmp_path, {"stages": {"screen": screen, "final": final}})
    finish(course, ["screen/cell-1-s0"], "screen")
    assert [run.name for run in course.plan("final")] == ["final/cell-1-s0"]


def test_images_are_let_go(data: str, tmp_path: Path) -> None:
    screen = {"do": "train", "cells": [cell(0)], "settings": {**TRAINED, "data": data}, "stop": {"after": 1}}
    course = made(tmp_path, {"stages": {"screen": screen}})
    course.plan("screen")
    assert course._maker._images is None
