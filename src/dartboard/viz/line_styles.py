"""Line styles that tell methods apart, with and without color vision."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's colors without the yellow, which is too pale for lines."""
STYLES = (("-", "o"), ("-.", "s"), (":", "^"))
"""Lines and markers; dashed lines are reserved for baselines."""


@dataclass(frozen=True)
class LineStyle:
    """The style of one method, the same in all pictures; line and marker as matplotlib names them."""

    color: str
    line: str
    marker: str


def line_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """A style for each label; the first 21 differ, then they repeat."""
    styles = [LineStyle(color, *style) for style, color in product(STYLES, COLORS)]
    return {label: styles[place % len(styles)] for place, label in enumerate(labels)}
