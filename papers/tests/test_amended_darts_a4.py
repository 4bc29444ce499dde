from random import Random

import pytest

from dartboard.space import sample
from dartboard.space.formats import GENOTYPE_FORMATS
from dartboard_papers import REPRODUCTIONS, RunOptions
from dartboard_papers._amended import small_s2
from dartboard_papers._amended_training import TRAINED, TrainingSpec
from dartboard_papers.amended_darts_a4 import (
    AMENDED,
    DARTS,
    FULL,
    RANDOM,
    SINGLE,
    Comparison,
    best_samples,
    plan,
    reproduce,
)
from reproducing import OTHER_NUMBERS

TINY = Comparison(
    cells=3, epochs=1, batch=300, seeds=1, samples=3, kept=1, short=1, retrain=1, repeats=1, images="digits"
)


def options(tmp_path):
    return RunOptions(tmp_path)


def test_methods_are_compared_by_the_means_of_their_networks(tmp_path, monkeypatch):
    """DARTS is worse with every network, random search with none."""

    def known(trainings, *_):
        means = {AMENDED: 10.0, SINGLE: 10.0, DARTS: 20.0, RANDOM: 10.0}
        return {
            label: next(mean for method, mean in means.items() if label.startswith(method)) + int(label[-1])
            for label in trainings
        }

    genotypes = [sample(small_s2(3), Random(0))] * 5
    monkeypatch.setattr("dartboard_papers.amended_darts_a4.searches", lambda configs, _: configs)
    monkeypatch.setattr("dartboard_papers.amended_darts_a4.final_genotype", lambda _: genotypes[0])
    monkeypatch.setattr("dartboard_papers.amended_darts_a4.best_samples", lambda *_: genotypes)
    monkeypatch.setattr("dartboard_papers.amended_darts_a4.errors", known)
    result = reproduce(options(tmp_path), TINY.model_copy(update={"seeds": 5, "repeats": 3}))
    assert [part.held for part in result.parts.values()] == [True, False]
    assert list(result.parts) == list(REPRODUCTIONS["amended-darts-a4"].rules)
    here = {row.what: row.here for row in result.rows}
    assert here["darts: worse by, points"] == pytest.approx(10)
    assert here["amended-darts: mean error, %"] == pytest.approx(11)


def test_random_search_keeps_the_best_by_validation(tmp_path, monkeypatch):
    asked = {}

    def known(trainings, *_):
        asked.update(trainings)
        return {label: float(place) for place, label in zip((2, 0, 1), trainings, strict=True)}

    monkeypatch.setattr("dartboard_papers.amended_darts_a4.errors", known)
    like = TrainingSpec("", "", "digits", 4, 8, 64, 0.1, 0)
    kept = best_samples(options(tmp_path), TINY.model_copy(update={"kept": 2}), like)
    drawn = list(asked.values())
    assert [GENOTYPE_FORMATS["json"].encode(own) for own in kept] == [drawn[1].genotype, drawn[2].genotype]
    assert {(own.part, own.epochs) for own in drawn} == {("valid", TINY.short)}
    assert len({own.genotype for own in drawn}) == 3


def test_networks_of_all_ways_are_trained(tmp_path):
    result = reproduce(options(tmp_path), TINY)
    numbers = result.numbers
    assert {way: [len(own) for own in each] for way, each in numbers.items()} == {
        AMENDED: [1], DARTS: [1], SINGLE: [1], RANDOM: [1],
    }  # fmt: skip
    assert len(list((tmp_path / TRAINED).iterdir())) == 3 + 4
    here = {row.what: row.here for row in result.rows}
    assert here["darts: worse by, points"] == pytest.approx(numbers[DARTS][0][0] - numbers[AMENDED][0][0])
    assert 0 <= here["random: skip-connects, % of edges"] <= 100
    paper = {row.what: row.paper for row in result.rows}
    assert paper["darts: skip-connects, % of edges"] == "all (500 epochs)"
    assert (paper["S1, lowest error of a network, %"], here["S1, lowest error of a network, %"]) == (
        "2.71 +- 0.15", None,
    )  # fmt: skip
    assert any("as far as 100 of the paper's epochs" in remark for remark in result.remarks)


def test_networks_are_trained_as_the_scale_says(tmp_path, monkeypatch):
    """Searches and all trainings have the same regularization."""
    own = {"pad": 1, "flip": True, "cutout": 2, "auxiliary": 0.4, "drop_path": 0.2}
    asked = []

    def known(trainings, *_):
        asked.extend(trainings.values())
        return dict.fromkeys(trainings, 1.0)

    monkeypatch.setattr("dartboard_papers.amended_darts_a4.errors", known)
    reproduce(options(tmp_path), TINY.model_copy(update=own))
    assert len(asked) == 7
    for training in asked:
        assert {key: getattr(training, key) for key in own} == own
    assert own | {"images": "cifar10", "pad": 4, "cutout": 16} == FULL.model_dump(include={*own, "images"})


@pytest.mark.parametrize(
    ("key", "value"), (OTHER_NUMBERS | {"cells": 4, "cutout": 2, "auxiliary": 0.4, "drop_path": 0.2}).items()
)
def test_every_number_changes_the_searches(tmp_path, key, value):
    usual, other = (plan(options(tmp_path), TINY.model_copy(update=own)) for own in ({}, {key: value}))
    assert usual != other
