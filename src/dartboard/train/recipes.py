"""Recipes: the numbers with which the papers train what they found, as data; the rest has its default.

Papers train on CIFAR-10 or ImageNet, which do not come with the package: name your images with `data`. Where
a paper gives no number, that of DARTS is taken (Liu et al. 2019): crops of images with 4 pixels around them
and flips, momentum 0.9, gradients clipped at 5, and on ImageNet crops of at least 0.08 of the area, label
smoothing 0.1 and an auxiliary loss of weight 0.4.
"""

from collections.abc import Callable
from typing import Any

from dartboard.registry import Registry

RECIPES: Registry[Callable[[], dict[str, Any]]] = Registry("training recipe", "dartboard.training_recipes")

CROPS = {"pad": 4, "flip": True}
AREA = {"size": 224, "area": 0.08, "flip": True, "pad": 0, "cutout": 0}
"""How ImageNet is cropped: any part with at least so much of the image, brought to 224 pixels."""


@RECIPES.register("quick")
def quick() -> dict[str, Any]:
    """A first training on a laptop: 16 channels, 15 epochs, as many cells as the search had."""
    return {
        "epochs": 15,
        "batch": 64,
        "net": {"channels": 16, "auxiliary": 0.0, "drop_path": 0.0},
        "data": {"pad": 2, "flip": False, "cutout": 0},
        "weights": {"lr": 0.1, "lr_end": 0.0, "by": "step", "weight_decay": 5e-4, "nesterov": True},
    }


@RECIPES.register("darts-cifar")
def darts_cifar() -> dict[str, Any]:
    """DARTS on CIFAR: 600 epochs, 20 cells, 36 channels, cutout 16 (Liu et al. 2019, A.2)."""
    return {
        "epochs": 600,
        "batch": 96,
        "net": {"channels": 36, "cells": 20, "auxiliary": 0.4, "drop_path": 0.2},
        "data": CROPS | {"cutout": 16},
        "weights": {"lr": 0.025, "lr_end": 0.0, "schedule": "cosine", "weight_decay": 3e-4, "clip": 5.0},
    }


@RECIPES.register("xnas-cifar")
def xnas_cifar() -> dict[str, Any]:
    """XNAS on CIFAR: 1,500 epochs in 5 cycles, AutoAugment, 36 to 50 channels (Nayman et al. 2019, 9.3)."""
    own = darts_cifar()
    cycles = {"power": 10.0, "cycles": 5, "cycle_decay": 0.5, "nesterov": True, "smoothing": 0.1}
    return own | {
        "epochs": 1500,
        "data": own["data"] | {"autoaugment": "cifar10"},
        "weights": own["weights"] | cycles,
    }


@RECIPES.register("xnas-imagenet")
def xnas_imagenet() -> dict[str, Any]:
    """XNAS on ImageNet: 250 epochs, 14 cells, 46 channels, AutoAugment (Nayman et al. 2019, 9.3)."""
    return {
        "epochs": 250,
        "batch": 1280,
        "net": {"channels": 46, "cells": 14, "stem": "imagenet", "auxiliary": 0.4, "drop_path": 0.0},
        "data": AREA | {"autoaugment": "imagenet"},
        "weights": {
            "lr": 0.5,  # the paper gives none; that of others with batches as large
            "power": 10.0,
            "nesterov": True,
            "weight_decay": 1e-4,
            "smoothing": 0.1,
        },
    }


@RECIPES.register("gaea-cifar")
def gaea_cifar() -> dict[str, Any]:
    """GAEA PC-DARTS on CIFAR: batches of 128, drop-path 0.3, as PC-DARTS (Li et al. 2021, C.1.2)."""
    own = darts_cifar()
    return own | {"batch": 128, "net": own["net"] | {"drop_path": 0.3}}


RECIPES.register("pc-darts")(gaea_cifar)


@RECIPES.register("asm-cifar")
def asm_cifar() -> dict[str, Any]:
    """ASM-NAS on CIFAR: the 15 found cells in their order, batches of 64, cutout (section 5.2)."""
    own = darts_cifar()
    return own | {
        "batch": 64,
        "net": {"channels": 36, "auxiliary": 0.4, "drop_path": 0.2},  # the paper names no channels,
        "data": CROPS | {"cutout": 16},  # and cutout in its tables alone, without a length
    }


@RECIPES.register("asm-imagenet")
def asm_imagenet() -> dict[str, Any]:
    """ASM-NAS on ImageNet: the 15 found cells, 54 channels, linear from 0.15, 250 epochs (section 5.2)."""
    return {
        "epochs": 250,
        "batch": 256,  # the paper names none
        "net": {"channels": 54, "stem": "imagenet", "auxiliary": 0.4, "drop_path": 0.0},
        "data": AREA,
        "weights": {"lr": 0.15, "schedule": "linear", "weight_decay": 3e-5, "smoothing": 0.1},
    }


@RECIPES.register("amended-cifar")
def amended_cifar() -> dict[str, Any]:
    """Amended DARTS on CIFAR: DARTS' own numbers (Bi et al. 2019, 4.1)."""
    return darts_cifar()


@RECIPES.register("amended-imagenet")
def amended_imagenet() -> dict[str, Any]:
    """Amended DARTS on ImageNet: 42 channels, linear from 0.5, 250 epochs (Bi et al. 2019, 4.3)."""
    return {
        "epochs": 250,
        "batch": 1024,  # the paper names none; with that of PC-DARTS come its five epochs of warm-up
        "net": {"channels": 42, "stem": "imagenet", "auxiliary": 0.4, "drop_path": 0.0},
        "data": AREA,
        "weights": {"lr": 0.5, "schedule": "linear", "warmup": 5, "weight_decay": 3e-5, "smoothing": 0.1},
    }


@RECIPES.register("understanding-cifar")
def understanding_cifar() -> dict[str, Any]:
    """Cells compared on CIFAR: batches of 80, regularised as for table 1 (Shu et al. 2020, A.3, A.4)."""
    return darts_cifar() | {"batch": 80}


@RECIPES.register("understanding-tiny-imagenet")
def understanding_tiny_imagenet() -> dict[str, Any]:
    """Cells compared on Tiny-ImageNet: 300 epochs, stride 2 in the stem (Shu et al. 2020, A.2 to A.4)."""
    own = understanding_cifar()
    return own | {"epochs": 300, "net": own["net"] | {"stem": "half"}}


@RECIPES.register("nb201")
def nb201() -> dict[str, Any]:
    """NAS-Bench-201's own: 200 epochs, 5 cells a stage, 16 channels (Dong & Yang 2020, table 2)."""
    return {
        "epochs": 200,
        "batch": 256,
        "net": {"channels": 16, "cells": 5, "auxiliary": 0.0, "drop_path": 0.0},
        "data": CROPS | {"cutout": 0},
        "weights": {"lr": 0.1, "lr_end": 0.0, "nesterov": True, "weight_decay": 5e-4, "clip": 0.0},
    }
