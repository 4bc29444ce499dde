"""Charts over epochs as data for the scripts of a page."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dartboard.analysis.trajectory import common_band
from dartboard.report.report_runs import Row
from dartboard.viz.line_styles import COLORS, line_styles

DASHES = {"-": "solid", "-.": "dashdot", ":": "dot"}
"""Plotly's names of matplotlib's line styles."""
SEAMS = "At a vertical line the run was given more epochs: its schedules are longer from there on."
Quantity = Callable[[Row], float | None]
"""A number of an epoch's metrics; None where it was not measured."""


@dataclass(frozen=True)
class ChartLine:
    """A line of a chart over complete epochs; its line style is called as plotly calls it.

    `std` is half the height of a band around the line, empty for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    color: str
    dash: str = "solid"
    std: Sequence[float] = ()


@dataclass(frozen=True)
class Chart:
    """A chart over epochs; `axis` says what the values are.

    `percent` is True for fractions to show in percent, `zero` if the axis always includes zero. `seams` are
    the complete epochs at which schedules of another length began, each a vertical line.
    """

    name: str
    lines: Sequence[ChartLine]
    axis: str
    percent: bool = False
    zero: bool = False
    seams: Sequence[int] = ()

    @property
    def ident(self) -> str:
        """The id of the element that it is drawn into: lower-case letters, digits and hyphens."""
        return "chart-" + re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def has_curve(self) -> bool:
        """True if some line has more than one point."""
        return any(len(line.x) > 1 for line in self.lines)

    def data(self) -> dict[str, Any]:
        """What the script that draws it reads, with five significant digits."""
        lines = [
            {"name": line.name, "x": line.x, "y": _rounded(line.y),
             "colour": line.color, "dash": line.dash, "spread": _rounded(line.std)}
            for line in self.lines
        ]  # fmt: skip
        return {
            "name": self.name,
            "lines": lines,
            "axis": self.axis,
            "percent": self.percent,
            "zero": self.zero,
            "seams": list(self.seams),
        }


def _rounded(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.5g}") for value in values]


def lines_of(rows: Sequence[Row], quantities: Mapping[str, Quantity]) -> list[ChartLine]:
    """A line for each quantity of one run that was measured, under its name."""
    lines = []
    for place, (name, quantity) in enumerate(quantities.items()):
        x, y = curve_of(rows, quantity)
        if y:
            lines.append(ChartLine(name, x, y, COLORS[place % len(COLORS)]))
    return lines


def curve_of(rows: Iterable[Row], quantity: Quantity) -> tuple[list[int], list[float]]:
    """Complete epochs and the values of a quantity, where it was measured."""
    known = [(row["epoch"] + 1, value) for row in rows if (value := quantity(row)) is not None]
    return [x for x, _ in known], [float(y) for _, y in known]


def bands_of(groups: Mapping[str, Sequence[Sequence[Row]]], quantity: Quantity) -> list[ChartLine]:
    """A line for each group of runs: the mean of a quantity over the epochs that all have, with a band.

    `groups` has the metrics of each run by the label of its group.
    """
    styles, lines = line_styles(groups), []
    for label, runs in groups.items():
        curves = [(x, np.array(y)) for x, y in (curve_of(rows, quantity) for rows in runs) if y]
        mean = common_band(curves)
        if mean is None or not len(mean.x):
            continue
        std = mean.std.tolist() if len(curves) > 1 else []
        style = styles[label]
        lines.append(
            ChartLine(label, mean.x.tolist(), mean.mean.tolist(), style.color, DASHES[style.line], std)
        )
    return lines


def metric(name: str) -> Quantity:
    """A metric by its name."""
    return lambda row: row.get(name)


def group_metric(group: str, name: str) -> Quantity:
    """A metric of one decision group."""
    return lambda row: row.get("cells", {}).get(group, {}).get(name)


def discretization_gap(row: Row) -> float | None:
    """The accuracy that is lost when the supernet is made discrete."""
    mixed, discrete = row.get("valid_accuracy"), row.get("discrete_accuracy")
    return None if mixed is None or discrete is None else mixed - discrete


def candidates_left(row: Row) -> float | None:
    """Candidates that have not been removed, over all groups."""
    cells = row.get("cells")
    return None if not cells else float(sum(cell["alive"] for cell in cells.values()))
