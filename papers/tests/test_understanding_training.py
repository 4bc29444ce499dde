"""Trainings of understanding-cells: cells, settings, and verdicts that follow from what is measured."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

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
    base,
    ladder,
    shape,
    spearman,
    titled,
    train,
)
from dartboard_papers.base import REPRODUCTIONS, ReproductionResult, RunOptions, Verdict

Score = Callable[[str, float], float | None]
"""From a cell's label and a learning rate to its loss, the same at all epochs; None if it breaks off."""
TINY: dict[str, Any] = {"cells": 3, "channels": 2, "epochs": 1, "seeds": 1, "batch": 16}


def made(cells: Mapping[str, Genotype], lrs: Sequence[float], score: Score) -> Comparison:
    """A comparison with flat curves: accuracy is 1 less a tenth of the loss."""
    trainings = []
    for lr in lrs:
        for label in cells:
            loss = score(label, lr)
            height = 9.0 if loss is None else loss
            curves = {name: LearningCurve((1, 2), (height, height)) for name in (TRAIN_LOSS, LOSS)}
            curves[ACCURACY] = LearningCurve((1, 2), (1 - height / 10, 1 - height / 10))
            fault = "the loss is nan" if loss is None else None
            trainings.append(Training(Entry(label, lr, 0), curves, fault))
    return Comparison(cells, trainings, "test", dict.fromkeys(cells, 1))


def judged(
    module: ModuleType, name: str, score: Score, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> ReproductionResult:
    """What a reproduction says of cells with such losses."""

    def fake(_: RunOptions, __: Networks, cells: Any, lrs: Any, more: Any = None) -> Comparison:  # noqa: ARG001
        return made(cells, lrs, score)

    monkeypatch.setattr(module, "train", fake)
    told = REPRODUCTIONS[name]
    return told.work(RunOptions(tmp_path), told.laptop)


def row(result: ReproductionResult, what: str) -> Any:
    return next(own.here for own in result.rows if own.what.startswith(what))


# Cells


def test_variants_go_from_wide_to_narrow_and_differ_in_normal_cells_alone() -> None:
    for name in BASES:
        original = base(name)
        every = ladder(original, 13, 0)
        order = [(-shape(own)[0], shape(own)[1]) for own in every]
        assert order == sorted(order)
        assert {own.cells["reduce"] for own in every} == {original.cells["reduce"]}
        assert len({own.cells["normal"] for own in every}) == 13
        assert ladder(original, 4, 0) == [every[place] for place in (2, 5, 8, 12)]
        assert ladder(original, 4, 1) != ladder(original, 4, 0)
    assert len(ladder(base("DARTS"), 20, 0)) == 20


def test_the_original_is_the_widest_of_figure_3() -> None:
    cells = understanding_figure_3.family(4, 1)
    widths = [shape(own)[0] for own in cells.values()]
    assert list(cells) == ["darts", "c1", "c2", "c3", "c4"]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > widths[1]
    assert (
        understanding_figure_3.names(cells)["darts"]
        == titled("C_darts", cells["darts"])
        == "C_darts (3.5c, 3)"
    )


def test_spearman_is_scipys() -> None:
    one, other = [3.5, 2.5, 2.5, 2.0, 1.5], [0.4, 0.7, 0.6, 0.6, 0.9]
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)
    endless, large = ([most, 1.0, 2.0, 3.0, 4.0] for most in (float("inf"), 99.0))
    assert spearman(one, endless) == pytest.approx(spearmanr(one, large).statistic)
    assert spearman([1.0, 1.0], [1.0, 2.0]) is None


# Settings


OTHER = {
    "images": "digits",
    "pad": 2,
    "flip": True,
    "cells": 6,
    "channels": 3,
    "batch": 40,
    "epochs": 7,
    "seeds": 3,
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


def test_images_can_be_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(
        _understanding_training, "compare", lambda _, settings, *__, **___: asked.append(settings)
    )
    train(RunOptions(tmp_path, data="digits"), Networks(), {}, [0.1], {"net": {"drop_path": 0.3}})
    assert (asked[0].data.name, asked[0].net.drop_path, asked[0].net.cells) == ("digits", 0.3, 5)


def test_the_papers_own_numbers() -> None:
    for name in ("figure-3", "figure-4", "figure-5", "figure-9", "table-1"):
        full = REPRODUCTIONS[f"understanding-{name}"].full
        assert full is not None
        told = full.model_dump()
        assert [told[key] for key in ("cells", "channels", "batch", "epochs")] == [20, 36, 80, 600]
        assert told.get("lr", 0.025) == 0.025


# Verdicts


def widths(draw: int = 1) -> dict[str, float]:
    return {label: shape(own)[0] for label, own in understanding_figure_3.family(4, draw).items()}


def test_figure_3_holds_if_wide_cells_are_faster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = widths()
    found = judged(
        understanding_figure_3, "understanding-figure-3", lambda cell, _: 5 - own[cell], monkeypatch, tmp_path
    )
    assert found.verdict == Verdict.HELD
    for metric, trend in (("test accuracy", 1.0), ("test loss", -1.0), ("training loss", -1.0)):
        assert row(found, f"trainings of variants slower by {metric}") == "4 of 4"
        assert row(found, f"Spearman's correlation of width and {metric}") == pytest.approx(trend)
        assert row(found, f"fastest by {metric}") == "C_darts (3.5c, 3)"


@pytest.mark.parametrize(
    "losses",
    [
        {"darts": 2.0, "c1": 1.0, "c2": 2.0, "c3": 3.0, "c4": 4.0},  # another is faster
        {"darts": 1.0, "c1": 4.0, "c2": 3.0, "c3": 2.0, "c4": 1.5},  # the narrowest of the others is
        {"darts": None, "c1": 4.0, "c2": 4.1, "c3": 4.2, "c4": 4.3},  # the original breaks off
    ],
)
def test_figure_3_does_not_hold_otherwise(
    losses: dict[str, float | None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = judged(
        understanding_figure_3, "understanding-figure-3", lambda cell, _: losses[cell], monkeypatch, tmp_path
    )
    assert found.verdict == Verdict.NOT_HELD


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        ({"darts": 2.0, "c1": 2.1, "c3": 2.2}, {"darts": 1.0, "c1": 2.0, "c3": None}, Verdict.HELD),
        ({"darts": 2.0, "c1": 2.1, "c3": 4.2}, {"darts": 1.0, "c1": 2.0, "c3": 1.5}, Verdict.NOT_HELD),
        ({"darts": 2.2, "c1": 2.1, "c3": 2.3}, {"darts": 1.0, "c1": 2.0, "c3": 3.0}, Verdict.NOT_HELD),
    ],
)
def test_figure_4_asks_for_a_lead_that_grows(
    low: Any, high: Any, verdict: Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = judged(
        understanding_figure_4,
        "understanding-figure-4",
        lambda cell, lr: (low if lr < 0.1 else high)[cell],
        monkeypatch,
        tmp_path,
    )
    assert found.verdict == verdict
    assert row(found, "C3 at 0.25") == ("fails to converge" if high["c3"] is None else 100 - 10 * high["c3"])
    assert ("here it broke off" in found.remarks[-1]) == (high["c3"] is None)


@pytest.mark.parametrize(("ops", "verdict"), [(0.1, Verdict.HELD), (3.0, Verdict.NOT_HELD)])
def test_figure_5_sets_ops_beside_connections(
    ops: float, verdict: Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def score(cell: str, _: float) -> float:
        return 2.0 + (ops if "-ops-" in cell else 1.0 if "-connections-" in cell else 0.0)

    found = judged(understanding_figure_5, "understanding-figure-5", score, monkeypatch, tmp_path)
    assert found.verdict == verdict
    assert row(found, "DARTS, other ops") == pytest.approx(10 * ops)
    assert row(found, "NASNet, other connections") == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("variants", "verdict"),
    [
        ((1.9, 2.1, 2.2), Verdict.HELD),
        ((2.1, 2.1, 2.2), Verdict.NOT_HELD),  # none is better
        ((1.9, 1.9, 2.2), Verdict.NOT_HELD),  # most are
    ],
)
def test_figure_9_asks_for_some_better_variants_and_not_for_most(
    variants: Sequence[float], verdict: Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def score(cell: str, _: float) -> float:
        _, _, place = cell.partition("-")
        return variants[int(place) - 1] if place else 2.0

    found = judged(understanding_figure_9, "understanding-figure-9", score, monkeypatch, tmp_path)
    assert found.verdict == verdict
    assert row(found, "ENAS, test accuracy") == pytest.approx(80.0)
    assert row(found, "ENAS, best variant") == pytest.approx(100 - 10 * min(variants))
    assert "0.75" in found.remarks[1]
    assert found.remarks[2].endswith("some was." if min(variants) < 2.0 else "none was.")


@pytest.mark.parametrize(("better", "verdict"), [(2, Verdict.HELD), (3, Verdict.NOT_HELD)])
def test_table_1_counts_adapted_cells_that_are_better(
    better: int, verdict: Verdict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = list(understanding_table_1.ERRORS)

    def score(cell: str, _: float) -> float:
        name, _, kind = cell.partition("-")
        gain = 0.5 if names.index(name) < better else -0.5
        return 2.0 - (gain if kind == "adapted" else 0.0)

    found = judged(understanding_table_1, "understanding-table-1", score, monkeypatch, tmp_path)
    assert found.verdict == verdict
    assert row(found, f"{names[0]}, adapted: test error") == pytest.approx(15.0)
    assert found.rows[0].paper == "2.65 on CIFAR-10"
    assert any("with probability 0.50" in own for own in found.remarks)


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


def test_table_1_asks_nothing_of_cifar_100(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fake(_: RunOptions, __: Networks, cells: Any, lrs: Any, more: Any = None) -> Comparison:  # noqa: ARG001
        return made(cells, lrs, lambda *_: 2.0)

    monkeypatch.setattr(understanding_table_1, "train", fake)
    told, verdicts = REPRODUCTIONS["understanding-table-1"], {}
    for images in ("cifar10", "cifar100"):
        found = told.work(RunOptions(tmp_path, data=images), told.laptop)
        verdicts[images] = found.verdict, found.rows[0].paper, "5 of 5 are better" in found.remarks[-1]
    assert verdicts == {
        "cifar10": (Verdict.HELD, 2.65, False),
        "cifar100": (Verdict.NOT_TESTABLE, 17.06, True),
    }


def test_the_sizes_of_table_1_are_the_papers() -> None:
    pairs = understanding_table_1.pairs()
    for name, paper in understanding_table_1.SIZES.items():
        here = tuple(round(understanding_table_1.millions(own), 2) for own in pairs[name].values())
        assert here == paper


# Real trainings, small ones


def test_figure_3_with_real_trainings(data: str, tmp_path: Path) -> None:
    scale = understanding_figure_3.Figure3(**TINY, variants=2, lr=0.05)
    heard: list[tuple[str, int, int]] = []
    options = RunOptions(tmp_path, data=data, tell=lambda *words: heard.append(words))
    found = understanding_figure_3.reproduce(options, scale)
    assert heard[-1] == ("training", 3, 3)
    assert sorted(path.name for path in (tmp_path / "comparison/runs").iterdir()) == [
        "c1-lr0.05-s0",
        "c2-lr0.05-s0",
        "darts-lr0.05-s0",
    ]
    again = understanding_figure_3.reproduce(options, scale)
    assert again.numbers == found.numbers
    assert set(found.figures) == {"curves"}


def test_table_1_is_regularized(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(understanding_table_1, "ERRORS", {"SNAS": (2.88, 2.69)})
    scale = understanding_table_1.Table1(**TINY, lr=0.05, cutout=3, auxiliary=0.2, drop_path=0.1)
    found = understanding_table_1.reproduce(RunOptions(tmp_path, data=data), scale)
    assert set(found.numbers["errors"]) == {"SNAS"}
    config = Run.read(tmp_path / "comparison/runs/SNAS-adapted-lr0.05-s0").config
    assert (config["net"]["auxiliary"], config["net"]["drop_path"], config["data"]["cutout"]) == (0.2, 0.1, 3)
