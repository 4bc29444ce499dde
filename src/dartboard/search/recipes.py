"""Recipes: the settings of the papers' searches, as data; what they leave out has its default.

Papers search on CIFAR-10, which does not come with the package: name your images with `data`. Where a paper
gives no number, that of DARTS is taken: batches of 64, drop-path 0.2, an auxiliary loss of weight 0.4.
"""

from collections.abc import Callable
from typing import Any

from dartboard.registry import Registry

RECIPES: Registry[Callable[[], dict[str, Any]]] = Registry("recipe", "dartboard.recipes")
CROPS = {"pad": 4, "flip": True}


@RECIPES.register("quick")
def quick() -> dict[str, Any]:
    """A first search: nano on the digits with GAEA DARTS, half a minute on one core."""
    # So few steps need a large rate; with the paper's 0.1 the strengths hardly move.
    return {
        "space": "nano",
        "method": {"name": "gaea-darts-erm", "lr": 10.0, "joint": True},
        "data": {"name": "digits", "pad": 1},
        "epochs": 20,
        "batch": 64,
        "net": {"channels": 8},
        "weights": {"lr": 0.1, "lr_end": 0.0},
    }


@RECIPES.register("darts")
def darts() -> dict[str, Any]:
    """DARTS, first order, on CIFAR-10 (Liu et al. 2019)."""
    return {
        "space": "darts",
        "method": {"name": "darts", "lr": 3e-4, "weight_decay": 1e-3},
        "data": {**CROPS},
        "epochs": 50,
        "batch": 64,
        "net": {"channels": 16},
        "weights": {"lr": 0.025, "lr_end": 0.001, "weight_decay": 3e-4, "clip": 5.0},
    }


@RECIPES.register("gdas")
def gdas() -> dict[str, Any]:
    """GDAS on CIFAR-10: 250 epochs, temperature from 10 to 0.1 (Dong & Yang 2019)."""
    return darts() | {"method": {"name": "gdas", "start": 10.0, "end": 0.1}, "epochs": 250}


@RECIPES.register("pc-darts")
def pc_darts() -> dict[str, Any]:
    """PC-DARTS on CIFAR-10: large batches, the architecture rests for 15 epochs (Xu et al. 2020)."""
    return darts() | {
        "method": {"name": "pc-darts", "lr": 6e-4, "weight_decay": 1e-3, "partial": 4, "warmup": 15},
        "batch": 256,
        "weights": {"lr": 0.1, "lr_end": 0.0, "weight_decay": 3e-4, "clip": 5.0},
    }


@RECIPES.register("gaea-nb201")
def gaea_nb201() -> dict[str, Any]:
    """GAEA DARTS, single level, on NAS-Bench-201 without `none`: 25 epochs (Li et al. 2021, C.3)."""
    return darts() | {
        "space": {"name": "nb201", "cells": 5, "without": ["none"]},
        "method": {"name": "gaea-darts-erm", "lr": 0.1},
        "epochs": 25,
    }


@RECIPES.register("gaea-gdas-nb201")
def gaea_gdas_nb201() -> dict[str, Any]:
    """GAEA GDAS on NAS-Bench-201: 150 epochs (Li et al. 2021, C.3)."""
    return darts() | {
        "space": {"name": "nb201", "cells": 5},
        "method": {"name": "gaea-gdas", "lr": 0.1, "start": 10.0, "end": 0.1},
        "epochs": 150,
    }


@RECIPES.register("gaea-pc-darts")
def gaea_pc_darts() -> dict[str, Any]:
    """GAEA PC-DARTS on CIFAR-10: PC-DARTS' settings, ten epochs of rest (Li et al. 2021, C.1)."""
    return pc_darts() | {"method": {"name": "gaea-pc-darts", "lr": 0.1, "partial": 4, "warmup": 10}}


@RECIPES.register("xnas")
def xnas() -> dict[str, Any]:
    """XNAS on CIFAR-10, with AutoAugment (Nayman et al. 2019)."""
    return darts() | {
        "space": "xnas",
        "method": {"name": "xnas", "bound": 1.0, "zeta": 1.0},
        "data": CROPS | {"autoaugment": "cifar10"},
        "batch": 96,
    }


@RECIPES.register("asm")
def asm() -> dict[str, Any]:
    """ASM-NAS on CIFAR-10: 15 cells of their own, 30 epochs; half the images choose."""
    return darts() | {
        "space": "asm",
        "method": "asm",
        "data": CROPS | {"valid": 0.5},
        "epochs": 30,
        "weights": {"lr": 0.025, "lr_end": 0.0, "weight_decay": 3e-4},
    }


@RECIPES.register("amended-s1")
def amended_s1() -> dict[str, Any]:
    """Amended DARTS in S1: width and regularisation as in evaluation, 100 epochs (Bi et al. 2019, 4.1)."""
    return darts() | {
        "space": "s1",
        "method": {"name": "amended-darts", "eta": 0.1, "lr": 3e-4, "weight_decay": 1e-3},
        "data": CROPS | {"cutout": 16},
        "epochs": 100,
        "batch": 96,
        "net": {"channels": 36, "drop_path": 0.2, "auxiliary": 0.4},
    }


@RECIPES.register("amended-s2")
def amended_s2() -> dict[str, Any]:
    """Amended DARTS in S2: 20 cells of their own, two ops, otherwise as in S1 (Bi et al. 2019, 4.1)."""
    return amended_s1() | {"space": "s2"}
