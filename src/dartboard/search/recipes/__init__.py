"""Recipes: the settings of the papers' searches, a YAML file each; what they leave out has its default.

Papers search on CIFAR-10, which does not come with the package: name your images with `data`. Where a paper
gives no number, that of DARTS is taken: batches of 64, drop-path 0.2, an auxiliary loss of weight 0.4.
"""

from pathlib import Path

from dartboard.config.loader import Recipe, register_recipes
from dartboard.registry import Registry

RECIPES: Registry[Recipe] = Registry("recipe", "dartboard.recipes")
register_recipes(
    RECIPES,
    Path(__file__).parent,
    (
        "quick",
        "darts",
        "gdas",
        "pc-darts",
        "gaea-nb201",
        "gaea-gdas-nb201",
        "gaea-gdas-nb201-released",
        "gaea-pc-darts",
        "xnas",
        "asm",
        "amended-s1",
        "amended-s2",
    ),
)
