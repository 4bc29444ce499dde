"""What the tools share that take cells: how they are trained, and which ops their variants have."""

import re
from typing import Any

from dartboard.cli.lookup import home_of, space_of_run
from dartboard.space import NONE, Genotype, SearchSpace, load_space

SETTING = re.compile(r"[a-z_.]+=")
"""How a word begins that is a setting such as epochs=30."""
SMALL: dict[str, Any] = {
    "epochs": 15,
    "net": {"channels": 8, "cells": 5},
    "data": {"name": "cluttered-digits", "pad": 1, "flip": False},
}
"""What cells are trained with unless words say otherwise: minutes on a laptop."""


def candidates(text: str, genotype: Genotype, given: str | None) -> list[str]:
    """The ops that can take each other's place in a cell, but for `none`, which is no connection.

    Args:
        text: What was typed for the cell.
        genotype: The cell.
        given: The space that was named; None for the one that a search chose from, else for the first of the
            catalogue that takes the cell.
    """
    space = load_space(given) if given is not None else searched_space(text) or home_of(genotype)
    edges = (edge for _, cell in space.archs for edge in cell.edges if edge.target not in cell.joins)
    return [op for op in dict.fromkeys(op for edge in edges for op in edge.ops) if op != NONE]


def searched_space(text: str) -> SearchSpace | None:
    """The space that a search chooses from, if `text` is its run; that of a training is its cell alone."""
    space = space_of_run(text)
    if space is None:
        return None
    from dartboard.runs import Run  # with torch, which a mere name does without

    return space if Run.read(text).config.get("kind", "search") == "search" else None
