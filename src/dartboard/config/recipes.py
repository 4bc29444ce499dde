"""Recipes: settings with a name, in YAML files beside the schema of the settings."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dartboard.config.loader import read_file
from dartboard.registry import Registry

Recipe = Callable[[], dict[str, Any]]
"""Returns the settings of a recipe, nested; those it leaves out have their defaults."""


def register_recipes(registry: Registry[Recipe], folder: Path, names: Iterable[str]) -> None:
    """Registers the recipe in `folder`/NAME.yaml for every name, in this order.

    A file starts with a comment of one line, the recipe's description.
    """
    for name in names:
        registry.register(name, stacklevel=2)(_file_recipe(folder / f"{name}.yaml"))


def _file_recipe(file: Path) -> Recipe:
    def recipe() -> dict[str, Any]:
        return read_file(file)

    with file.open(encoding="utf-8") as lines:
        recipe.__doc__ = lines.readline().removeprefix("#").strip()
    return recipe
