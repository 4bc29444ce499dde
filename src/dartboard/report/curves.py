"""Charts as data: what a page draws of searches and trainings over their epochs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dartboard.analysis.trajectories import band
from dartboard.report.html import Html, data, tag
from dartboard.report.models import Floats, Row, SearchFound, TrainFound
from dartboard.report.words import slug
from dartboard.viz.line_styles import COLORS, line_styles

DASHES = {"-": "solid", "-.": "dashdot", ":": "dot"}
"""What plotly calls matplotlib's lines."""
Quantity = Callable[[Row], float | None]
"""A number of an epoch's metrics; None where it was not measured."""


@dataclass(frozen=True)
class Line:
    """A line of a chart.

    Args:
        name: For the legend.
        x: Complete epochs.
        y: The values.
        colour: Of the line and its band.
        dash: What plotly calls the style.
        spread: How far a band goes to either side; empty for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str
    dash: str = "solid"
    spread: Sequence[float] = ()


@dataclass(frozen=True)
class Chart:
    """A chart over epochs.

    Args:
        name: What stands above it.
        lines: What it shows.
        axis: What its values are.
        percent: Whether they are shares.
        zero: Whether zero is on the axis in any case.
    """

    name: str
    lines: Sequence[Line]
    axis: str
    percent: bool = False
    zero: bool = False

    def html(self) -> Html:
        """The place of the chart with its data, which a script draws."""
        ident = f"chart-{slug(self.name)}"
        values = asdict(self) | {"lines": [_rounded(own) for own in self.lines]}
        said = f"{self.name}: a chart over epochs of {', '.join(own.name for own in self.lines)}"
        return tag(
            "figure",
            tag("figcaption", self.name),
            tag("div", class_="plot", id=ident, data_chart=f"{ident}-data", role="img", aria_label=said),
            data(f"{ident}-data", values),
            class_="chart",
        )


def _rounded(line: Line) -> dict[str, Any]:
    kept = asdict(line)
    return kept | {key: [float(f"{own:.5g}") for own in kept[key]] for key in ("y", "spread")}


def lines_of(rows: Sequence[Row], quantities: Mapping[str, Quantity]) -> list[Line]:
    """A line for each quantity of one run that was measured, under its name."""
    found = []
    for place, (name, of) in enumerate(quantities.items()):
        x, y = values(rows, of)
        if y:
            found.append(Line(name, x, y, COLORS[place % len(COLORS)]))
    return found


def values(rows: Iterable[Row], of: Quantity) -> tuple[list[int], list[float]]:
    """Complete epochs and the values of a quantity there, where it was measured."""
    known = [(row["epoch"] + 1, own) for row in rows if (own := of(row)) is not None]
    return [x for x, _ in known], [float(y) for _, y in known]


def bands_of(groups: Mapping[str, Sequence[Sequence[Row]]], of: Quantity) -> list[Line]:
    """A line for each group of runs: the mean of a quantity over the epochs that all have, and a band.

    Args:
        groups: By label, the metrics of each run.
        of: The quantity.
    """
    look, found = line_styles(groups), []
    for label, runs in groups.items():
        curves = [(x, _array(y)) for x, y in (values(rows, of) for rows in runs) if y]
        own = band(curves)
        if own is None or not len(own.x):
            continue
        spread = own.std.tolist() if len(curves) > 1 else []
        dash = DASHES[look[label].line]
        found.append(Line(label, own.x.tolist(), own.mean.tolist(), look[label].color, dash, spread))
    return found


def _array(numbers: Sequence[float]) -> Floats:
    import numpy as np

    return np.array(numbers, dtype=np.float64)


def metric(name: str) -> Quantity:
    """A metric by its name."""
    return lambda row: row.get(name)


def gap(row: Row) -> float | None:
    """The accuracy that is lost when the cell is made discrete."""
    mixed, alone = row.get("valid_accuracy"), row.get("discrete_accuracy")
    return None if mixed is None or alone is None else mixed - alone


def of_cell(arch: str, name: str) -> Quantity:
    """A number of one arch's health."""
    return lambda row: row.get("cells", {}).get(arch, {}).get(name)


def alive(row: Row) -> float | None:
    """Candidates that have not been removed, over all archs."""
    cells = row.get("cells")
    return None if not cells else float(sum(own["alive"] for own in cells.values()))


def rows_of(found: SearchFound | TrainFound) -> Sequence[Row]:
    """The metrics of each epoch."""
    return found.rows if isinstance(found, TrainFound) else [own.row for own in found.moments]
