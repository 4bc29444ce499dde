"""Values of a grid in a file: what is missing, what is kept, and whose they are."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from dartboard.analysis.grid import Grid, GridOptions, make_problem
from dartboard.errors import RunError
from helpers.landscape_cases import images, random_model

OWN = {"of": "loss", "seed": 0, "sides": (1, 2)}


def filled(path: Path, **more: object) -> Grid:
    grid = Grid(3, OWN | more, path)
    for place in grid.missing():
        grid.put(place, float(sum(place)))
    grid.save()
    return grid


def test_what_is_missing_comes_row_by_row_and_what_is_put_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "loss.json"
    grid = Grid(3, OWN, path)
    assert grid.missing() == [(row, column) for row in range(3) for column in range(3)]
    grid.put((1, 2), math.nan)
    grid.put((0, 0), 0.1)
    grid.save()
    again = Grid(3, OWN, path)
    assert len(again.missing()) == 7
    assert again.values[0, 0] == 0.1
    assert again.values[1, 2] == np.inf
    json.loads(path.read_text(), parse_constant=pytest.fail)


def test_nothing_new_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "loss.json"
    filled(path)
    before = path.stat().st_mtime_ns, path.stat().st_ino
    Grid(3, OWN, path).save()
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


@pytest.mark.parametrize(
    ("made", "asked", "words"),
    [
        ({}, {"of": "variance"}, "was made with of=loss; name another folder"),
        ({}, {"seed": 1}, "was made with seed=0; name another folder"),
        ({"device": "cuda"}, {}, "was made with device=cuda; name another folder"),
        ({}, {"device": "cuda"}, "was made without device=cuda; name another folder"),
        ({"network": "ab"}, {"network": "cd"}, "was made with another network; name another folder"),
        ({"images": "ab"}, {"images": "cd"}, "was made with other images; name another folder"),
    ],
)
def test_how_settings_differ_is_said(
    made: dict[str, object], asked: dict[str, object], words: str, tmp_path: Path
) -> None:
    filled(tmp_path / "kept.json", **made)
    with pytest.raises(RunError, match=f"kept.json {words}"):
        Grid(3, OWN | asked, tmp_path / "kept.json")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"settings": {}}', '{"settings": 3, "values": []}'])
def test_damage_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "loss.json").write_text(text)
    with pytest.raises(RunError, match=r"loss\.json is damaged; remove it"):
        Grid(3, OWN, tmp_path / "loss.json")


def test_values_of_a_gpu_are_not_those_of_a_cpu() -> None:
    problem = make_problem(random_model(), images(), None, GridOptions())
    assert problem.settings("cuda:1") == problem.settings("cpu") | {"device": "cuda"}
    assert problem.settings(torch.device("cpu")) == problem.settings("cpu")
