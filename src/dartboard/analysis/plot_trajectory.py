"""Pictures of trajectories."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.analysis.curves import Band
from dartboard.analysis.plot_ops import draw_margins, draw_ops
from dartboard.analysis.trajectories import Trajectories
from dartboard.viz.line_styles import Look, looks

PANELS = {
    "normalised entropy": "normalised entropy,\nmean over all cells",
    "entropy": "entropy (nats),\nmean over all cells",
    "margin": "lead of the strongest op,\nmean over all cells",
    "skips": "skip connections chosen",
    "gap": "accuracy lost when discrete",
    "accuracy": "accuracy of the supernet",
}
"""By quantity, what its axis says."""


def draw(found: Trajectories) -> dict[str, Figure]:
    """All pictures by name: `trajectory`, `ops` and `margins`."""
    groups = found.groups
    return {"trajectory": draw_curves(found), "ops": draw_ops(groups), "margins": draw_margins(groups)}


def draw_curves(found: Trajectories) -> Figure:
    """A panel a quantity, a line a group: the mean of its seeds, with a band of one deviation."""
    figure = Figure((11, 6), layout="constrained")
    look, panels = looks(found.groups), figure.subplots(2, 3, sharex=True)
    for axes, (quantity, words) in zip(panels.ravel(), PANELS.items(), strict=True):
        bands = {label: own for label in found.groups if (own := found.band(label, quantity)) is not None}
        for label, own in bands.items():
            plot_band(axes, own, look[label], label)
        axes.set(ylabel=words)
        mark_epochs(axes)
    for axes in panels[-1]:
        axes.set_xlabel("epochs")
    _legend(figure, panels[0, 0])
    return figure


def plot_band(axes: Axes, own: Band, look: Look, label: str) -> None:
    """A mean with its band."""
    style: dict[str, Any] = {"color": look.colour, "linestyle": look.line, "marker": look.marker}
    axes.plot(own.x, own.mean, markersize=3, label=label, **style)
    low, high = own.mean - own.deviation, own.mean + own.deviation
    axes.fill_between(own.x, low, high, color=look.colour, alpha=0.15, lw=0)


def mark_epochs(axes: Axes) -> None:
    """Whole epochs below, and a grid."""
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)


def _legend(figure: Figure, axes: Axes) -> None:
    lines, words = axes.get_legend_handles_labels()
    figure.legend(lines, words, loc="outside upper center", ncols=min(len(words), 4), frameon=False)
