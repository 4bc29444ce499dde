"""Loss and accuracy of one run against epochs."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from dartboard.viz.line_styles import line_styles
from dartboard.viz.plots.bands import mark_epochs

PANELS = {"loss": "loss", "accuracy": "accuracy"}
"""Title of each panel, by how the names of its metrics end."""


def plot_history(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """A figure with the losses and the accuracies of a run, each against the number of epochs.

    Args:
        rows: The metrics of epochs, as `RunReader.metrics` gives them; those that are None are left out.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    figure = Figure((8, 3), layout="constrained")
    for axes, (ending, title) in zip(figure.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        metrics = [name for name in names if name == ending or name.endswith(f"_{ending}")]
        styles = line_styles(metrics)
        for name in metrics:
            points = [(row["epoch"] + 1, row[name]) for row in rows if row.get(name) is not None]
            color = styles[name].color
            axes.plot(*zip(*points, strict=True), color=color, label=name.replace("_", " "), marker=".")
        axes.set_xlabel("epochs")
        axes.set_ylabel(title)
        mark_epochs(axes)
        if metrics:
            axes.legend(frameon=False, fontsize=8)
    return figure
