"""Trainings of understanding-cells: settings, and verdicts that follow from what is measured."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from dartboard.analysis.comparison import (
    ACCURACY,
    LOSS,
    TRAIN_LOSS,
    Comparison,
    Entry,
    LearningCurve,
    Training,
)
from dartboard.errors import OptionError
from dartboard.runs import Run
from dartboard.space import Genotype
from dartboard_papers import (
    _understanding_training,
    understanding_figure_3,
    understanding_figure_4,
    understanding_figure_5,
    understanding_figure_9,
    understanding_table_1,
)
from dartboard_papers._understanding_training import (
    BASES,
    Networks,
    darts_family,
    judge_first,
    judge_order,
    spearman,
    titles,
    train,
)
from dartboard_papers.base import REPRODUCTIONS, ReproductionResult, RunOptions, Scale, Verdict
from dartboard_papers.runner import check_options

Score = Callable[[str, float, int], float | None]
"""From a cell's label, a learning rate and a seed to its loss, at all epochs; None if it breaks off."""
TINY: dict[str, Any] = {"cells": 3, "channels": 2, "epochs": 1, "batch": 16, "size": None}
LONG = 100


def made(
    cells: Mapping[str, Genotype], lrs: Sequence[float], seeds: Sequence[int], score: Score
) -> Comparison:
    """A comparison with flat curves: accuracy is 1 less a tenth of the loss."""
    trainings = []
    for label in cells:
        for lr in lrs:
            for seed in seeds:
                loss = score(label, lr, seed)
                height = 9.0 if loss is None else loss
                curves = {name: LearningCurve((1, 2), (height, height)) for name in (TRAIN_LOSS, LOSS)}
                curves[ACCURACY] = LearningCurve((1, 2), (1 - height / 10, 1 - height / 10))
                fault = "the loss is nan" if loss is None else None
                trainings.append(Training(Entry(label, lr, seed), curves, fault))
    return Comparison(cells, trainings, "test", dict.fromkeys(cells, 1))


def judged(
    module: ModuleType,
    name: str,
    score: Score,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    **settings: Any,
) -> ReproductionResult:
    """What a reproduction says of cells with such losses."""

    def fake(
        _: RunOptions, scale: Networks, cells: Any, lrs: Any, _more: Any = None, seeds: Any = None
    ) -> Comparison:
        return made(cells, lrs, range(scale.seeds) if seeds is None else seeds, score)

    monkeypatch.setattr(module, "train", fake)
    reproduction = REPRODUCTIONS[name]
    scale = type(reproduction.laptop).model_validate(settings)
    return reproduction.work(RunOptions(tmp_path, data="cifar10"), scale)


def row(result: ReproductionResult, what: str) -> Any:
    return next(own.here for own in result.rows if own.what.startswith(what))


def noise(label: str, seed: int) -> float:
    """A little that differs between cells and seeds."""
    return 0.01 * np.random.default_rng([len(label), ord(label[-1]), seed]).random()


# Rules


def test_the_first_is_judged_by_seeds_in_which_it_is_first() -> None:
    seeds = np.linspace(0, 0.1, 5)
    clear = np.array([[5.0], [4.0], [3.0]]) + seeds
    part = judge_first(clear)
    assert part.held
    assert "first in 5 of 5 seeds" in part.observed
    assert not judge_first(clear[::-1]).held
    straggler = np.array([[5.0], [4.9], [0.0]]) + seeds
    assert judge_first(straggler).held
    one_seed = np.array([[1, 1, 1, 1, 3.0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]])
    assert not judge_first(one_seed).held


def test_an_order_is_judged_by_all_orders_of_the_cells() -> None:
    """Of 120 orders of 5 cells, 5 have a correlation of 0.9 or more, 1 has 1."""
    perfect = np.arange(5.0, 0, -1)[:, None] + np.zeros(5)
    assert judge_order(perfect).held
    assert "p 0.008" in judge_order(perfect).observed
    assert "p 0.042" in judge_order(perfect[[1, 0, 2, 3, 4]]).observed
    assert not judge_order(perfect[[2, 0, 1, 3, 4]]).held
    assert not judge_order(perfect[::-1]).held
    assert not judge_order(np.ones((5, 5))).held


def test_spearman_is_scipys() -> None:
    one, other = [3.5, 2.5, 2.5, 2.0, 1.5], [0.4, 0.7, 0.6, 0.6, 0.9]
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)
    endless, large = ([most, 1.0, 2.0, 3.0, 4.0] for most in (float("inf"), 99.0))
    assert spearman(one, endless) == pytest.approx(spearmanr(one, large).statistic)
    assert spearman([1.0, 1.0], [1.0, 2.0]) is None


# Settings


OTHER = {
    "images": "digits",
    "size": 12,
    "pad": 2,
    "flip": True,
    "cells": 6,
    "channels": 3,
    "batch": 40,
    "epochs": 7,
    "seeds": 6,
}


@pytest.mark.parametrize("field", OTHER)
def test_every_number_reaches_the_trainings(
    field: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Any] = []

    def fake(cells: Any, settings: Any, folder: Path, **more: Any) -> None:  # noqa: ARG001
        asked.append((settings, list(more["seeds"])))

    monkeypatch.setattr(_understanding_training, "compare", fake)
    for scale in (Networks(), Networks(**{field: OTHER[field]})):
        train(RunOptions(tmp_path), scale, {}, [0.1])
    assert asked[0] != asked[1]
    assert asked[0][0].net.drop_path == asked[0][0].net.auxiliary == 0


def test_images_and_seeds_can_be_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        _understanding_training,
        "compare",
        lambda _, settings, *__, **more: asked.append((settings, more["seeds"])),
    )
    train(RunOptions(tmp_path, data="digits"), Networks(), {}, [0.1], {"net": {"drop_path": 0.3}}, [7])
    settings, seeds = asked[0]
    assert (settings.data.name, settings.net.drop_path, settings.net.cells) == ("digits", 0.3, 5)
    assert seeds == [7]


@pytest.mark.parametrize("name", ["figure-3", "figure-4", "figure-5", "figure-9", "table-1"])
def test_the_papers_own_numbers(name: str) -> None:
    full = REPRODUCTIONS[f"understanding-{name}"].full
    assert full is not None
    values = full.model_dump()
    assert [values[key] for key in ("cells", "channels", "batch", "epochs", "size")] == [
        20,
        36,
        80,
        600,
        None,
    ]
    assert values.get("lr", 0.025) == 0.025
    assert values["seeds"] >= 5


@pytest.mark.parametrize("name", ["figure-3", "figure-4", "figure-5"])
def test_images_are_needed_at_the_laptops_scale_alone(name: str, tmp_path: Path) -> None:
    reproduction = REPRODUCTIONS[f"understanding-{name}"]
    full = reproduction.full
    assert full is not None
    with pytest.raises(OptionError, match="--data cifar10"):
        check_options(reproduction, reproduction.laptop, RunOptions(tmp_path))
    assert reproduction.missing_inputs(RunOptions(tmp_path), reproduction.laptop) == ("data",)
    check_options(reproduction, full, RunOptions(tmp_path))
    check_options(reproduction, reproduction.laptop, RunOptions(tmp_path, data="cifar10"))


# Verdicts


def test_figure_3_holds_if_wide_cells_are_faster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    places = {label: place for place, label in enumerate(darts_family())}
    found = judged(
        understanding_figure_3,
        "understanding-figure-3",
        lambda cell, _, seed: 3 + places[cell] / 2 + noise(cell, seed),
        monkeypatch,
        tmp_path,
    )
    assert found.verdict == Verdict.HELD
    for metric in ("test accuracy", "test loss", "training loss"):
        assert row(found, f"trainings of variants slower by {metric}") == "20 of 20"
        assert row(found, f"correlation of order and speed by {metric}") == pytest.approx(1.0)
        assert row(found, f"fastest by {metric}") == "C_darts (3.5c, 3)"
    assert row(found, "mean test loss over the epochs, C_darts") == pytest.approx(3.0, abs=0.02)


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        ({"darts": 2.0, "c1": 1.0, "c2": 3.0, "c3": 4.0, "c4": 5.0}, Verdict.PARTLY),  # another is faster
        ({"darts": 1.0, "c1": 4.0, "c2": 3.0, "c3": 2.5, "c4": 2.0}, Verdict.PARTLY),  # no order
        ({"darts": None, "c1": 4.0, "c2": 3.0, "c3": 2.5, "c4": 2.0}, Verdict.NOT_HELD),  # breaks off
    ],
)
def test_figure_3_has_two_parts(
    losses: dict[str, float | None], verdict: Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = judged(
        understanding_figure_3,
        "understanding-figure-3",
        lambda cell, _, seed: None if losses[cell] is None else (losses[cell] or 0) + noise(cell, seed),
        monkeypatch,
        tmp_path,
    )
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("low", "high", "held"),
    [
        ({"darts": 2.0, "c1": 2.1, "c3": 2.2}, {"darts": 1.0, "c1": 2.0, "c3": None}, [True, True, True]),
        ({"darts": 2.0, "c1": 2.1, "c3": 4.2}, {"darts": 1.0, "c1": 2.0, "c3": 1.5}, [True, True, False]),
        ({"darts": 2.2, "c1": 2.1, "c3": 2.3}, {"darts": 1.0, "c1": 2.0, "c3": 3.0}, [False, True, True]),
    ],
)
def test_figure_4_asks_for_a_lead_that_grows(
    low: Any, high: Any, held: list[bool], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def score(cell: str, lr: float, seed: int) -> float | None:
        loss = (low if lr < 0.1 else high)[cell]
        return None if loss is None else loss + noise(cell, seed)

    found = judged(understanding_figure_4, "understanding-figure-4", score, monkeypatch, tmp_path)
    assert [part.held for part in found.parts.values()] == held
    last = row(found, "C3 at 0.25")
    if high["c3"] is None:
        assert last == "fails to converge"
    else:
        assert last == pytest.approx(100 - 10 * high["c3"], abs=0.2)
    assert ("here it broke off" in found.remarks[1]) == (high["c3"] is None)


@pytest.mark.parametrize(("ops", "verdict"), [(0.1, Verdict.HELD), (3.0, Verdict.NOT_HELD)])
def test_figure_5_sets_ops_beside_connections(
    ops: float, verdict: Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def score(cell: str, _: float, __: int) -> float:
        return 2.0 + (ops if "-ops-" in cell else 1.0 if "-connections-" in cell else 0.0)

    found = judged(understanding_figure_5, "understanding-figure-5", score, monkeypatch, tmp_path)
    assert found.verdict == verdict
    assert row(found, "DARTS, other ops") == pytest.approx(10 * ops)
    assert row(found, "NASNet, other connections") == pytest.approx(10.0)


def test_figure_5_trains_a_variant_of_each_kind_with_each_seed() -> None:
    for number in (1, 5):
        cells = understanding_figure_5.families(number)
        assert set(cells) == {
            label
            for name in BASES
            for label in (name, f"{name}-ops-{number}", f"{name}-connections-{number}")
        }


@pytest.mark.parametrize("name", ["figure-9", "table-1"])
def test_errors_at_convergence_are_not_tested_by_short_trainings(name: str, tmp_path: Path) -> None:
    reproduction = REPRODUCTIONS[f"understanding-{name}"]
    found = reproduction.work(RunOptions(tmp_path), reproduction.laptop)
    assert "--full` " in found.sentence
    assert found.seeds == 0
    assert not list(tmp_path.iterdir())


def test_figure_9_is_not_testable_here(tmp_path: Path) -> None:
    found = understanding_figure_9.reproduce(RunOptions(tmp_path), understanding_figure_9.Figure9())
    assert found.verdict is Verdict.NOT_TESTABLE
    assert not found.parts


@pytest.mark.parametrize(
    ("variants", "held"),
    [
        ((1.5, *[2.5] * 9), [True, True]),
        ((2.5,) * 10, [False, True]),  # none is better
        ((1.5,) * 10, [True, False]),  # all are
    ],
)
def test_figure_9_asks_for_some_better_variants_and_not_for_most(
    variants: Sequence[float], held: list[bool], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def score(cell: str, _: float, seed: int) -> float:
        _, _, place = cell.partition("-")
        return (variants[int(place) - 1] if place else 2.0) + noise(cell, seed)

    found = judged(
        understanding_figure_9, "understanding-figure-9", score, monkeypatch, tmp_path, epochs=LONG
    )
    assert [part.held for part in found.parts.values()] == held
    assert row(found, "ENAS, test accuracy") == pytest.approx(80.0, abs=0.2)
    assert row(found, "ENAS, best variant") == pytest.approx(100 - 10 * min(variants), abs=0.2)


@pytest.mark.parametrize(("gain", "held"), [(-0.5, True), (0.5, False)])
def test_table_1_asks_whether_adapted_cells_are_worse(
    gain: float, held: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def score(cell: str, _: float, seed: int) -> float:
        return 2.0 - (gain if cell.endswith("adapted") else 0.0) + noise(cell, seed)

    found = judged(understanding_table_1, "understanding-table-1", score, monkeypatch, tmp_path, epochs=LONG)
    assert found.parts[understanding_table_1.WORSE].held is held
    assert row(found, "NASNet, adapted: test error") == pytest.approx(20 - 10 * gain, abs=0.2)
    assert row(found, "NASNet, original: test error") == pytest.approx(20, abs=0.2)


def test_the_sizes_of_table_1_are_the_papers(tmp_path: Path) -> None:
    found = understanding_table_1.reproduce(RunOptions(tmp_path), understanding_table_1.Table1())
    assert found.parts[understanding_table_1.EQUAL].held
    assert found.parts[understanding_table_1.EQUAL].observed == "30 of 30 sizes"
    assert found.parts[understanding_table_1.WORSE].held is None
    assert found.verdict is Verdict.PARTLY


@pytest.mark.parametrize(
    ("images", "own"),
    [
        ("cifar10", "cifar10"),
        ("/data/cifar10-10k.npz", "cifar10"),
        ("CIFAR-100", "cifar100"),
        ("/cifar10/digits", None),
    ],
)
def test_images_by_name(images: str, own: str | None) -> None:
    assert understanding_table_1.paper_dataset(images) == own


def test_table_1_asks_nothing_of_cifar_100() -> None:
    errors = {"SNAS": np.array([[3.0] * 5, [2.0] * 5])}
    assert understanding_table_1.judge(errors, "cifar100").held is None
    assert understanding_table_1.judge(errors, "cifar10").held


# Real trainings, small ones


def test_figure_3_with_real_trainings(data: str, tmp_path: Path) -> None:
    scale = understanding_figure_3.Figure3(**TINY, lr=0.05)
    heard: list[tuple[str, int, int]] = []
    options = RunOptions(tmp_path, data=data, tell=lambda *words: heard.append(words))
    found = understanding_figure_3.reproduce(options, scale)
    assert heard[-1] == ("training", 25, 25)
    assert {path.name for path in (tmp_path / "comparison/runs").iterdir()} == {
        f"{label}-lr0.05-s{seed}" for label in darts_family() for seed in range(5)
    }
    again = understanding_figure_3.reproduce(options, scale)
    assert again.numbers == found.numbers
    assert set(found.figures) == {"curves"}


def test_table_1_is_regularized(data: str, tmp_path: Path) -> None:
    scale = understanding_table_1.Table1(**TINY, lr=0.05, cutout=3, auxiliary=0.2, drop_path=0.1)
    pairs = {"SNAS": understanding_table_1.pairs()["SNAS"]}
    errors = understanding_table_1.measure_errors(RunOptions(tmp_path, data=data), scale, pairs)
    assert errors["SNAS"].shape == (2, 5)
    config = Run.read(tmp_path / "comparison/runs/SNAS-adapted-lr0.05-s0").config
    assert (config["net"]["auxiliary"], config["net"]["drop_path"], config["data"]["cutout"]) == (0.2, 0.1, 3)


def test_titles_have_widths_and_depths() -> None:
    assert titles(darts_family())["c4"] == "C4 (2c, 5)"


def test_scales_ask_for_five_seeds() -> None:
    assert issubclass(Networks, Scale)
    with pytest.raises(ValueError, match="seeds"):
        Networks(seeds=4)
