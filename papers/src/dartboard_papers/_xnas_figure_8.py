"""What XNAS figure 8 comes to: orderings, growth, rows and the picture."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dartboard.viz.line_styles import line_styles
from dartboard_papers.base import Row, Verdict
from dartboard_papers.theory.forecasters import Standing
from dartboard_papers.theory.growth import misfit

XNAS, GD = "XNAS", "GD, same rate"
BEST_XNAS, BEST_GD = "XNAS, best rate", "GD, best rate"
UNIT = "XNAS, rewards clipped to 1"
NAMES = (XNAS, GD, BEST_XNAS, BEST_GD, UNIT)
SHAPES: dict[str, Callable[[float], float]] = {
    "sqrt(ln N)": lambda n: math.sqrt(math.log(n)),
    "sqrt(N)": math.sqrt,
}
"""How regret may grow with the number of experts."""


@dataclass(frozen=True)
class Curve:
    """Forecasters along a grid.

    Args:
        name: What varies.
        grid: Its values.
        found: At each, the forecasters by name.
    """

    name: str
    grid: Sequence[float]
    found: Sequence[Mapping[str, Standing]]

    def of(self, forecaster: str, field: str) -> list[float]:
        """A number of one forecaster along the grid."""
        return [float(getattr(own[forecaster], field)) for own in self.found]

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        each = {name: [asdict(own[name]) for own in self.found] for name in NAMES}
        return {"grid": list(self.grid), "forecasters": each}


def below(curves: Sequence[Curve], one: str, other: str) -> tuple[int, int]:
    """At how many points of all curves the first forecaster has less regret, and how many there are."""
    pairs = [(own[one].regret, own[other].regret) for curve in curves for own in curve.found]
    return sum(a < b for a, b in pairs), len(pairs)


def selects(curves: Sequence[Curve], one: str, other: str) -> tuple[int, int]:
    """At how many points the first selects correctly at least as often, and how many there are."""
    shares = [(curve.of(one, "correct"), curve.of(other, "correct")) for curve in curves]
    pairs = [pair for each in shares for pair in zip(*each, strict=True)]
    return sum(a >= b for a, b in pairs), len(pairs)


def growths(curve: Curve, forecaster: str) -> dict[str, float]:
    """By shape, how far the regret along the numbers of experts is from it."""
    regrets = curve.of(forecaster, "regret")
    return {name: misfit(regrets, [shape(n) for n in curve.grid]) for name, shape in SHAPES.items()}


def conclude(left: Curve, right: Curve, runs: int) -> tuple[Verdict, str, list[Row], list[str]]:
    """Verdict, sentence, rows and remarks of curves whose points are means over so many runs.

    Held means: less regret than GD at every point, with the same rate and with the best rates; regret that is
    nearer to sqrt(ln N) than to sqrt(N) for XNAS and the other way round for GD, at the same rate; and
    correct selection of both, at that rate, that falls along both grids where regret grows, where rises
    below two standard errors count as chance.
    """
    both = left, right
    same, best = below(both, XNAS, GD), below(both, BEST_XNAS, BEST_GD)
    shapes = {name: growths(left, name) for name in (XNAS, GD)}
    nearest = {name: min(own, key=lambda shape: own[shape]) for name, own in shapes.items()}
    held = same[0] == same[1] and best[0] == best[1]
    grows = nearest[XNAS] == "sqrt(ln N)" and nearest[GD] == "sqrt(N)"
    falls = all(_opposite(curve, name, runs) for curve in both for name in (XNAS, GD))
    sentence = (
        f"XNAS has less regret than GD at {_of(same)} points with the same rate and at {_of(best)} with the "
        f"best rates; with the same rate its regret is nearest to {nearest[XNAS]}, GD's to {nearest[GD]}; "
        f"where regret grows, correct selection {'falls' if falls else 'does not always fall'}."
    )
    rows = [*_shape_rows(shapes), *(row for curve in both for row in _rows(curve))]
    verdict = Verdict.HELD if held and grows and falls else Verdict.NOT_HELD
    return verdict, sentence, rows, _remarks(both)


LATE = (
    "That correct selection falls is judged only since a first result was known, and so it is that rises "
    "below two standard errors of the difference count as chance."
)


def _of(count: tuple[int, int]) -> str:
    return f"{count[0]} of {count[1]}"


def _shape_rows(shapes: Mapping[str, Mapping[str, float]]) -> list[Row]:
    said = {(XNAS, "sqrt(ln N)"): "like it", (GD, "sqrt(N)"): "like it"}
    return [
        Row(f"{name}: misfit of the regret to {shape}", said.get((name, shape)), own)
        for name, each in shapes.items()
        for shape, own in each.items()
    ]


def _rows(curve: Curve) -> list[Row]:
    """Regret and correct selection of all forecasters, a row for each point and each of both."""
    rows = []
    correct = zip(*(curve.of(name, "correct") for name in NAMES[:4]), strict=True)
    for value, own, selected in zip(curve.grid, curve.found, correct, strict=True):
        regrets = " / ".join(f"{own[name].regret:.0f}" for name in NAMES[:4])
        shares = " / ".join(f"{100 * share:.0f}" for share in selected)
        what = f"{curve.name} {value:g}"
        rows += [
            Row(f"{what}: regret of XNAS / GD / best XNAS / best GD", "XNAS < GD", regrets),
            Row(f"{what}: correct selection in %", "XNAS > GD", shares),
        ]
    return rows


def _remarks(curves: Sequence[Curve]) -> list[str]:
    tuned = below(curves, BEST_GD, XNAS)
    same, best = selects(curves, XNAS, GD), selects(curves, BEST_XNAS, BEST_GD)
    unit = below(curves, UNIT, XNAS)
    falls = all(_opposite(curve, name) for curve in curves for name in (XNAS, GD))
    words = "it falls" if falls else "it does not always fall"
    often = f"{_of(same)} points with the same rate, at {_of(best)} with the best rates"
    return [
        LATE,
        f"Without that allowance {words}.",
        "The paper says neither rates nor clipping nor grids; here XNAS clips at three standard deviations.",
        f"GD at its best rate has less regret than XNAS at the theoretical one at {_of(tuned)} points.",
        f"XNAS selects correctly at least as often as GD at {often}, which is not judged.",
        f"Clipped to 1, as in the paper's search, XNAS has less regret at {_of(unit)} points.",
    ]


def _opposite(curve: Curve, name: str, runs: int | None = None) -> bool:
    """Whether correct selection falls, or stays, whenever the regret grows along a curve.

    Args:
        curve: Which.
        name: Of the forecaster.
        runs: That shares are over; rises that chance explains are then forgiven.
    """
    pairs = sorted(zip(curve.of(name, "regret"), curve.of(name, "correct"), strict=True))
    shares = [correct for _, correct in pairs]
    return all(later - earlier <= _chance(earlier, later, runs) for earlier, later in pairwise(shares))


def _chance(one: float, other: float, runs: int | None) -> float:
    """Two standard errors of the difference of two shares; nothing without runs."""
    return 0.0 if runs is None else 2 * math.sqrt((one * (1 - one) + other * (1 - other)) / runs)


def draw(left: Curve, right: Curve) -> Figure:
    """Regret above, correct selection below; against experts on the left and against noise on the right."""
    figure = Figure((11, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    for column, curve in enumerate((left, right)):
        _draw_curve(axes[0][column], curve, "regret")
        _draw_curve(axes[1][column], curve, "correct")
        axes[0][column].set(yscale="log", ylabel="mean regret")
        axes[1][column].set(ylabel="correct selection", ylim=(None, 1.02))
        for own in axes[:, column]:
            own.set_xscale("log", base=2)
            own.set_xlabel({"experts": "experts, N", "noise": "noise, sigma"}[curve.name])
    _draw_shapes(axes[0][0], left)
    axes[1][0].legend(*axes[0][0].get_legend_handles_labels(), fontsize=8, loc="lower left")
    return figure


def _draw_curve(axes: Axes, curve: Curve, field: str) -> None:
    for name, look in line_styles(NAMES).items():
        values, errors = curve.of(name, field), curve.of(name, "error")
        axes.plot(
            curve.grid, values, look.line, color=look.color, marker=look.marker, label=name, markersize=4
        )
        if field == "regret":
            low, high = ([v + sign * e for v, e in zip(values, errors, strict=True)] for sign in (-1, 1))
            axes.fill_between(curve.grid, low, high, color=look.color, alpha=0.2, linewidth=0)


def _draw_shapes(axes: Axes, curve: Curve) -> None:
    """What the paper says that regrets grow like, through the middle of those at the same rate."""
    half = len(curve.grid) // 2
    for (shape, own), name in zip(SHAPES.items(), (XNAS, GD), strict=True):
        values = [own(n) for n in curve.grid]
        factor = curve.of(name, "regret")[half] / values[half]
        axes.plot(
            curve.grid, [factor * value for value in values], "--", color="0.5", linewidth=1, label=shape
        )
