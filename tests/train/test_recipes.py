"""The papers' numbers, as data."""

import pytest

from dartboard.train import RECIPES, TrainOptions
from dartboard.train.build import learning_rate
from dartboard.train.config import TRAIN, train_options

PAPERS = {
    "xnas-cifar": {
        "epochs": 1500, "batch": 96, "net.channels": 36, "net.cells": 20, "net.drop_path": 0.2,
        "net.auxiliary": 0.4, "data.cutout": 16, "data.autoaugment": "cifar10", "weights.lr": 0.025,
        "weights.cycles": 5, "weights.cycle_decay": 0.5, "weights.nesterov": True, "weights.momentum": 0.9,
        "weights.smoothing": 0.1, "weights.weight_decay": 3e-4,
    },
    "xnas-imagenet": {
        "epochs": 250, "batch": 1280, "net.channels": 46, "net.cells": 14, "net.auxiliary": 0.4,
        "weights.weight_decay": 1e-4, "weights.nesterov": True, "weights.cycles": 1, "data.area": 0.08,
        "data.flip": True, "data.autoaugment": "imagenet", "net.stem": "imagenet",
    },
    "gaea-cifar": {
        "epochs": 600, "batch": 128, "weights.lr": 0.025, "weights.lr_end": 0.0, "weights.momentum": 0.9,
        "weights.weight_decay": 3e-4, "net.channels": 36, "net.cells": 20, "data.autoaugment": "none",
        "data.cutout": 16, "net.auxiliary": 0.4, "net.drop_path": 0.3, "weights.clip": 5.0,
        "weights.smoothing": 0.0, "weights.schedule": "cosine",
    },
    "asm-cifar": {
        "epochs": 600, "batch": 64, "weights.lr": 0.025, "net.drop_path": 0.2, "weights.weight_decay": 3e-4,
        "net.auxiliary": 0.4, "net.cells": None, "data.flip": True, "data.cutout": 16,
    },
    "asm-imagenet": {
        "epochs": 250, "net.channels": 54, "weights.lr": 0.15, "weights.schedule": "linear",
        "weights.lr_end": 0.0, "weights.momentum": 0.9, "weights.weight_decay": 3e-5, "net.cells": None,
    },
    "amended-cifar": {
        "epochs": 600, "net.channels": 36, "weights.lr": 0.025, "weights.lr_end": 0.0,
        "weights.weight_decay": 3e-4, "weights.momentum": 0.9,
    },
    "amended-imagenet": {
        "epochs": 250, "net.channels": 42, "weights.lr": 0.5, "weights.schedule": "linear",
        "weights.momentum": 0.9, "weights.weight_decay": 3e-5,
    },
    "understanding-cifar": {
        "epochs": 600, "batch": 80, "weights.lr": 0.025, "weights.lr_end": 0.0, "net.cells": 20,
        "weights.weight_decay": 3e-4, "data.cutout": 16, "net.auxiliary": 0.4, "net.drop_path": 0.2,
        "net.drop_path_schedule": "linear", "data.pad": 4, "data.flip": True,
    },
    "understanding-tiny-imagenet": {
        "epochs": 300, "batch": 80, "net.stem": "half", "net.cells": 20, "weights.lr": 0.025,
    },
}  # fmt: skip
"""What the papers say."""


def value(config, key):
    for part in key.split("."):
        config = getattr(config, part)
    return config


@pytest.mark.parametrize("name", PAPERS)
def test_a_recipe_has_the_numbers_of_its_paper(name):
    config = TRAIN.load(recipe=name, flags={"cell": "x"})
    assert {key: value(config, key) for key in PAPERS[name]} == PAPERS[name]


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_a_training_that_says_what_it_is(name):
    config = TRAIN.load(recipe=name, flags={"cell": "x"})
    options = train_options(config)
    assert isinstance(options, TrainOptions)
    assert RECIPES[name].__doc__.endswith(".")
    assert learning_rate(options.weights, 0.0, options.epochs) > 0


@pytest.mark.parametrize("name", RECIPES)
def test_every_number_of_a_recipe_can_be_overridden(name):
    words = ["epochs=3", "net.channels=5", "weights.lr=0.5", "data.cutout=3", "weights.weight_decay=0.01"]
    config = TRAIN.load(recipe=name, flags={"cell": "x"}, words=words)
    found = [value(config, word.partition("=")[0]) for word in words]
    assert found == [3, 5, 0.5, 3, 0.01]


def test_pc_darts_is_another_name_for_gaeas():
    assert RECIPES["pc-darts"]() == RECIPES["gaea-cifar"]()
