import pytest
import torch

from dartboard.search.config import build, load_config
from dartboard.search.recipes import RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_valid_and_its_parts_fit(name: str) -> None:
    parts = build(load_config(recipe=name))
    relaxation = parts.method.compose(parts.space, torch.Generator().manual_seed(0))
    assert set(relaxation.strengths()) == set(parts.space.cells)
    assert parts.method.warmup < parts.options.epochs


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_made_anew_each_time(name: str) -> None:
    recipe = RECIPES[name]()
    recipe["data"]["pad"] = 17
    assert RECIPES[name]()["data"]["pad"] != 17


# Batch, epochs, channels, first and last learning rate, share held out, as the papers give them.
SETTINGS = {
    "darts": (64, 50, 16, 0.025, 0.001, None),
    "gdas": (64, 250, 16, 0.025, 0.001, None),
    "pc-darts": (256, 50, 16, 0.1, 0.0, None),
    "gaea-nb201": (64, 25, 16, 0.025, 0.001, None),
    "gaea-gdas-nb201": (64, 150, 16, 0.025, 0.001, None),
    "gaea-gdas-nb201-released": (64, 150, 24, 0.025, 0.001, None),
    "gaea-pc-darts": (256, 50, 16, 0.1, 0.0, None),
    "xnas": (96, 50, 16, 0.025, 0.001, None),
    "asm": (64, 30, 16, 0.025, 0.0, 0.5),
    "amended-s1": (96, 100, 36, 0.025, 0.001, None),
    "amended-s2": (96, 100, 36, 0.025, 0.001, None),
}


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "quick"])
def test_the_numbers_are_the_papers(name: str) -> None:
    config = load_config(recipe=name)
    rates = config.weights.lr, config.weights.lr_end
    assert (config.batch, config.epochs, config.net.channels, *rates, config.data.valid) == SETTINGS[name]
    assert (config.weights.momentum, config.weights.weight_decay, config.weights.clip) == (0.9, 3e-4, 5.0)
    assert (config.data.pad, config.data.flip) == (4, True)


def test_sizes_of_the_stacks() -> None:
    cells = {name: build(load_config(recipe=name)).space.stack.cells for name in RECIPES}
    assert (cells["darts"], cells["gaea-nb201"], cells["asm"], cells["amended-s2"]) == (8, 5, 15, 20)


def test_gaea_leaves_none_out_of_nb201() -> None:
    assert "none" not in build(load_config(recipe="gaea-nb201")).space.ops
    assert "none" in build(load_config(recipe="gaea-gdas-nb201")).space.ops


def test_amended_darts_searches_as_it_evaluates() -> None:
    config = load_config(recipe="amended-s1")
    assert (config.data.cutout, config.net.drop_path, config.net.auxiliary) == (16, 0.2, 0.4)


# What each paper gives for its architecture; a recipe leaves none of it to the rules of the library.
ARCHITECTURE = {
    "darts": {"lr": 3e-4, "weight_decay": 1e-3},
    "gdas": {"lr": 3e-4, "weight_decay": 1e-3, "start": 10.0, "end": 0.1, "explore": 0.0, "warmup": 0},
    "pc-darts": {"lr": 6e-4, "weight_decay": 1e-3, "partial": 4, "warmup": 15},
    "gaea-nb201": {"lr": 0.1},
    "gaea-gdas-nb201": {
        "lr": 0.1, "start": 10.0, "end": 0.1, "explore": 0.0, "entropy": 0.0, "warmup": 0
    },
    "gaea-pc-darts": {"lr": 0.1, "partial": 4, "warmup": 10},
    "xnas": {"bound": 1.0, "zeta": 1.0},
    "amended-s1": {"eta": 0.1, "lr": 3e-4, "weight_decay": 1e-3},
    "amended-s2": {"eta": 0.1, "lr": 3e-4, "weight_decay": 1e-3},
}  # fmt: skip


@pytest.mark.parametrize("name", ARCHITECTURE)
def test_the_numbers_of_the_architecture_are_the_papers(name: str) -> None:
    options = load_config(recipe=name).method.options
    assert {key: options.get(key) for key in ARCHITECTURE[name]} == ARCHITECTURE[name]


def test_the_released_temperature_of_gaea_gdas() -> None:
    """It is 10 - 9.9 max(epoch - 50, 0) / 149 there."""
    options = load_config(recipe="gaea-gdas-nb201-released").method.options
    for epoch in (0, 49, 50, 90, 149):
        fraction = max(epoch - options["warmup"], 0) / (150 - 1 - options["warmup"])
        ours = options["start"] + (options["end"] - options["start"]) * fraction
        assert ours == pytest.approx(10 - 9.9 * max(epoch - 50, 0) / 149, abs=1e-4)
