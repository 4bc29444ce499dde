"""Figures 6 to 8 of understanding-cells: verdicts follow from landscapes, and landscapes from networks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dartboard.analysis.grid import GridOptions
from dartboard.analysis.landscape import Landscape, landscape
from dartboard.data import load_dataset
from dartboard.errors import OptionError
from dartboard.nn import load_model
from dartboard_papers import understanding_figure_6, understanding_figure_7, understanding_figure_8
from dartboard_papers._understanding_landscape import Landscapes, LandscapeSurvey, measure_landscapes
from dartboard_papers._understanding_training import darts_family
from dartboard_papers.base import REPRODUCTIONS, ReproductionResult, RunOptions, Verdict
from dartboard_papers.runner import choose_scale
from helpers.protocol_cases import few_digits

pytestmark = pytest.mark.usefixtures("one_thread")

TINY: dict[str, Any] = {
    "cells": 3,
    "channels": 2,
    "epochs": 1,
    "batch": 16,
    "grid": 3,
    "examples": 12,
}
FIGURES = {6: understanding_figure_6, 7: understanding_figure_7, 8: understanding_figure_8}


def bowl(scale: float, of: str = "loss") -> Landscape:
    """The steeper, the larger `scale`."""
    grid = GridOptions.model_validate({"of": of, "grid": 9, "radius": 1.0})
    return Landscape(grid, 0.5 + scale * np.add.outer(grid.steps**2, grid.steps**2))


def judged(
    number: int, scale: Callable[[int], float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ReproductionResult:
    """What a figure says of bowls that are as steep as the place of the cell says, from wide to narrow."""
    cells, module = darts_family(), FIGURES[number]

    def fake(_: RunOptions, __: Landscapes, of: str) -> LandscapeSurvey:
        return LandscapeSurvey(
            cells, {name: [bowl(scale(place), of)] * 5 for place, name in enumerate(cells)}
        )

    monkeypatch.setattr(module, "measure_landscapes", fake)
    told = REPRODUCTIONS[f"understanding-figure-{number}"]
    return told.work(RunOptions(tmp_path), told.laptop)


@pytest.mark.parametrize("number", FIGURES)
def test_wide_cells_in_wide_bowls(number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = judged(number, lambda place: 2.0 ** (place + 1), monkeypatch, tmp_path)
    assert result.verdict is Verdict.HELD
    assert result.figures


@pytest.mark.parametrize("number", FIGURES)
@pytest.mark.parametrize("scale", [lambda place: 2.0 ** (5 - place), lambda place: 2.0 + 2 * (place == 0)])
def test_wide_cells_in_narrow_bowls(
    number: int, scale: Callable[[int], float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert judged(number, scale, monkeypatch, tmp_path).verdict is Verdict.NOT_HELD


@pytest.mark.parametrize("number", FIGURES)
def test_the_best_alone_is_one_part(number: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The original has the widest bowl, the others are in the wrong order."""
    result = judged(number, lambda place: 2.0 ** (6 - place if place else 1), monkeypatch, tmp_path)
    assert [part.held for part in result.parts.values()] == [True, False]
    assert result.verdict is Verdict.PARTLY


def test_the_numbers_of_the_bowls_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = judged(6, lambda place: 2.0 ** (place + 1), monkeypatch, tmp_path)
    basins = [own.here for own in result.rows if own.what.startswith("share of the grid in the basin")]
    distances = bowl(1.0).values - 0.5
    assert basins == [
        pytest.approx(float((2.0 ** (place + 1) * distances <= 1).mean())) for place in range(5)
    ]


@pytest.mark.parametrize("grid", [1, 4, 1003])
def test_grids_without_a_middle_are_refused_before_anything_is_trained(grid: int) -> None:
    for number in FIGURES:
        told = REPRODUCTIONS[f"understanding-figure-{number}"]
        with pytest.raises(OptionError, match=r"^grid"):
            choose_scale(told, [f"grid={grid}"])


def test_regions_are_below_the_median_of_all_cells_with_the_same_seed() -> None:
    cells = {label: cell for label, cell in darts_family().items() if label in ("darts", "c1")}
    survey = LandscapeSurvey(cells, {"darts": [bowl(1.0), bowl(9.0)], "c1": [bowl(4.0), bowl(1.0)]})
    found = understanding_figure_7.regions(survey)
    for seed in (0, 1):
        middle = np.median([survey.landscapes[name][seed].values for name in cells])
        for place, name in enumerate(cells):
            expected = (survey.landscapes[name][seed].values < middle).mean()
            assert found[place, seed] == pytest.approx(expected)
    assert found[0, 0] > 0.5 > found[0, 1]


def test_heights_and_roughness_are_of_logarithms() -> None:
    own = Landscape(GridOptions(grid=3), np.array([[1.0, 1, 1], [1, 1, np.e**4], [1, 1, 1]]))
    assert understanding_figure_8.height(own) == pytest.approx(4 / 9)
    assert understanding_figure_8.roughness(own) == pytest.approx(4.0)


def test_landscapes_are_those_of_the_trained_networks(tmp_path: Path) -> None:
    images, of = few_digits(tmp_path / "few.npz"), "loss"
    told: list[tuple[str, int, int]] = []
    options = RunOptions(tmp_path / "work", data=images, tell=lambda *words: told.append(words))
    scale = Landscapes.model_validate(TINY | {"directions": 3, "radius": 0.2})
    own = measure_landscapes(options, scale, of)
    assert list(own.cells) == list(darts_family())
    model = load_model(tmp_path / "work/comparison/runs/c1-lr0.025-s0/last.safetensors")
    test = load_dataset(images).test
    assert test is not None
    grid = GridOptions.model_validate({"of": of, "grid": 3, "radius": 0.2, "examples": 12, "seed": 3})
    assert np.array_equal(own.landscapes["c1"][0].values, landscape(model, test, grid).values)
    assert told[-1] == ("landscapes", 25, 25)
    again = measure_landscapes(options, scale, of)
    assert np.array_equal(again.landscapes["darts"][0].values, own.landscapes["darts"][0].values)


def test_a_whole_figure(tmp_path: Path) -> None:
    told = REPRODUCTIONS["understanding-figure-7"]
    scale = type(told.laptop).model_validate(TINY)
    result = told.work(RunOptions(tmp_path / "work", data=few_digits(tmp_path / "few.npz")), scale)
    assert set(result.parts) == set(told.rules)
    assert result.seeds == 5
    assert set(result.numbers) == set(darts_family())
    assert (tmp_path / "work/landscapes/darts-lr0.025-s0/variance.json").is_file()
