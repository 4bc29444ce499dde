"""How lines are told apart, by people who see colours and by people who do not."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe & Ito's, without the yellow, which is too pale for lines."""
STYLES = (("-", "o"), ("-.", "s"), (":", "^"))
"""Lines and markers; dashed lines are left to what is no method."""


@dataclass(frozen=True)
class Look:
    """Of one method, the same in all pictures.

    Args:
        colour: Of lines, bands and bars.
        line: Matplotlib's name of a style.
        marker: Matplotlib's name of a shape.
    """

    colour: str
    line: str
    marker: str


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """By label, a look of its own for the first 21; then they begin again."""
    every = [Look(colour, *style) for style, colour in product(STYLES, COLOURS)]
    return {label: every[place % len(every)] for place, label in enumerate(labels)}
