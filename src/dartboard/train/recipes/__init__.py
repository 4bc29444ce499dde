"""Recipes: the settings with which the papers train what they found, a YAML file each.

Papers train on CIFAR-10 or ImageNet, which do not come with the package: name your images with `data`. Where
a paper gives no number, that of DARTS is taken (Liu et al. 2019): crops of images with 4 pixels around them
and flips, momentum 0.9, gradients clipped at 5, and on ImageNet crops of at least 0.08 of the area, label
smoothing 0.1 and an auxiliary loss of weight 0.4.
"""

from pathlib import Path

from dartboard.config.loader import Recipe, register_recipes
from dartboard.registry import Registry

RECIPES: Registry[Recipe] = Registry("training recipe", "dartboard.training_recipes")
register_recipes(
    RECIPES,
    Path(__file__).parent,
    (
        "quick",
        "darts-cifar",
        "xnas-cifar",
        "xnas-imagenet",
        "gaea-cifar",
        "pc-darts",
        "asm-cifar",
        "asm-imagenet",
        "amended-cifar",
        "amended-imagenet",
        "understanding-cifar",
        "understanding-tiny-imagenet",
        "nb201",
    ),
)
