from dataclasses import replace

import pytest
import torch

from dartboard.data import Dataset, load_dataset
from dartboard.errors import DataError
from dartboard_papers import REPRODUCTIONS, RunOptions
from dartboard_papers._amended_training import (
    TRAINED,
    TrainingSpec,
    cell_options,
    errors,
    load_tested,
    result_name,
    supernet_options,
    train_supernet,
)
from dartboard_papers._searches import searches
from dartboard_papers.amended_darts_a3 import (
    CELLS,
    FULL,
    SEARCH,
    SUPERNET,
    WITH,
    WITHOUT,
    Trap,
    follow,
    plan,
    reproduce,
)
from reproducing import OTHER_NUMBERS

TINY = Trap(nodes=1, epochs=1, retrain=1, batch=300, seeds=1, images="digits")


def options(tmp_path):
    return RunOptions(tmp_path)


def test_errors_are_measured_and_kept(tmp_path):
    result = reproduce(options(tmp_path), TINY)
    kept = list((tmp_path / TRAINED).iterdir())
    assert len(kept) == 2 * 4
    numbers = result.numbers
    for what in (SEARCH, SUPERNET, CELLS):
        assert all(0 <= error <= 100 for own in numbers[what].values() for error in own)
    here = {row.what: row.here for row in result.rows}
    assert here[f"{CELLS}, {WITH}: error, %"] == numbers[CELLS][WITH][0]
    assert here[f"{SEARCH}: g2' lowers the error by, points"] == pytest.approx(
        numbers[SEARCH][WITHOUT][0] - numbers[SEARCH][WITH][0]
    )
    assert list(result.parts) == list(REPRODUCTIONS["amended-darts-a3"].rules)
    for path in kept:  # what is kept is taken as it is, and nothing is trained again
        path.write_text("12.5\n")
    again = reproduce(options(tmp_path), TINY).numbers
    assert again[SEARCH] == numbers[SEARCH]
    assert again[CELLS][WITH] == again[SUPERNET][WITH] == [12.5]


def test_searches_differ_by_the_gradient_alone(tmp_path):
    configs = plan(options(tmp_path), TINY)
    assert set(configs) == {"with-0", "without-0", "bounded-0", "single-0"}
    methods = {label: config.method for label, config in configs.items()}
    assert methods["with-0"].options["eta"] == methods["bounded-0"].options["eta"] == TINY.eta
    assert (methods["without-0"].options["eta"], methods["bounded-0"].options["bounded"]) == (0.0, True)
    assert (methods["single-0"].name, methods["single-0"].options["bilevel"]) == ("darts", False)
    others = [config.model_copy(update={"method": methods["with-0"]}) for config in configs.values()]
    assert all(config == configs["with-0"] for config in others)


def test_the_supernet_trained_again_keeps_its_mixtures(tmp_path):
    """Mixtures of another search give another error from the same start."""
    place = options(tmp_path)
    configs = plan(place, TINY.model_copy(update={"travel": 20.0}))
    runs = searches(configs, place)
    scale = TINY.model_copy(update={"retrain": 3, "batch": 150})
    first, second = (
        follow(runs[label], configs[label], scale)[SUPERNET] for label in ("with-0", "without-0")
    )
    again = replace(first, run=second.run)
    found = [train_supernet(own, torch.device("cpu")) for own in (first, first, again)]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_images_without_test_images_are_refused(monkeypatch):
    digits = load_dataset("digits")
    bare = Dataset("bare", digits.classes, digits.train)
    monkeypatch.setattr("dartboard_papers._amended_training.load_images", lambda *_: bare)
    with pytest.raises(DataError, match="mine has no test images"):
        load_tested("mine")


def test_every_number_of_a_training_makes_another(tmp_path):
    """Files are called by all there is to a training."""
    place = options(tmp_path)
    base = TrainingSpec("space", "cells", "digits", 4, 1, 8, 0.1, 0)
    folder = tmp_path / TRAINED
    changes = {
        "channels": 8,
        "epochs": 2,
        "batch": 9,
        "lr": 0.2,
        "seed": 1,
        "part": "valid",
        "genotype": "other",
        "pad": 1,
        "flip": True,
        "cutout": 2,
        "auxiliary": 0.4,
        "drop_path": 0.2,
    }
    asked = {key: replace(base, **{key: value}) for key, value in changes.items()}
    names = {result_name("one", own) for own in (base, *asked.values())}
    assert len(names) == len(changes) + 1
    folder.mkdir()
    for label, own in asked.items():
        (folder / result_name(label, own)).write_text("1.5")
    assert errors(asked, place, "trainings") == dict.fromkeys(asked, 1.5)


@pytest.mark.parametrize(("key", "value"), (OTHER_NUMBERS | {"nodes": 2, "eta": 0.5}).items())
def test_every_number_changes_the_searches(tmp_path, key, value):
    usual, other = (plan(RunOptions(tmp_path), TINY.model_copy(update=own)) for own in ({}, {key: value}))
    assert usual != other


REGULARIZED = {"pad": 1, "flip": True, "cutout": 2, "auxiliary": 0.4, "drop_path": 0.2}


def test_trainings_are_regularized_as_the_scale_says(tmp_path):
    place, scale = options(tmp_path), TINY.model_copy(update=REGULARIZED)
    configs = plan(place, scale)
    config = configs["with-0"]
    assert (config.data.pad, config.data.flip, config.data.cutout) == (1, True, 0)
    runs = searches({"with-0": config}, place)
    for own in follow(runs["with-0"], config, scale).values():
        assert {key: getattr(own, key) for key in REGULARIZED} == REGULARIZED
    assert (FULL.images, FULL.pad, FULL.cutout, FULL.auxiliary, FULL.drop_path) == (
        "cifar10",
        4,
        16,
        0.4,
        0.2,
    )


@pytest.mark.parametrize("make", [cell_options, supernet_options])
def test_regularization_reaches_the_networks(make):
    base = TrainingSpec("space", "cells", "digits", 4, 1, 8, 0.1, 0)
    for key, value in REGULARIZED.items():
        for training, expected in ((base, 0), (replace(base, **{key: value}), value)):
            options = make(training)
            part = options.net if key in ("auxiliary", "drop_path") else options.data
            assert getattr(part, key) == expected
