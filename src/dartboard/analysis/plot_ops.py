"""Pictures of what searches would choose, and of how clearly, edge by edge."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dartboard.analysis.trajectory import Floats, Trajectory
from dartboard.space.spec import NONE
from dartboard.viz.line_styles import COLOURS

Groups = Mapping[str, Sequence[Trajectory]]
FEW = 2
"""With more archs than this, their ops are counted together."""
HATCHES = ("", "////", "....", "xxxx")
"""Tell ops apart that have the same colour."""


def draw_ops(groups: Groups) -> Figure:
    """A row a group, a column an arch: for how many edges each op would be chosen, the mean of the seeds."""
    archs = {label: _archs(group[0]) for label, group in groups.items()}
    across = max(map(len, archs.values()))
    figure = Figure((4.4 * across + 1.8, 2.2 * len(archs) + 0.6), layout="constrained")
    panels = figure.subplots(len(archs), across, squeeze=False)
    ops = list(dict.fromkeys(op for group in groups.values() for op in group[0].space.ops))
    for row, (label, group) in zip(panels, groups.items(), strict=True):
        for axes, (name, own) in zip(row, archs[label].items(), strict=False):
            _bars(axes, group, own, ops)
            axes.set_title(f"{label}, {name}" if name else label, fontsize="medium")
        for axes in row[len(archs[label]) :]:
            axes.set_axis_off()
        row[0].set_ylabel("edges")
    for axes in panels[-1]:
        axes.set_xlabel("epochs")
    handles, words = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles[::-1], words[::-1], loc="outside right upper", frameon=False)
    return figure


def _archs(own: Trajectory) -> dict[str, list[str]]:
    """By name, the archs whose ops are counted together."""
    names = [arch for arch, _ in own.space.archs]
    if len(names) > FEW:
        return {f"all {len(names)} cells": names}
    return {name if len(names) > 1 else "": [name] for name in names}


def _bars(axes: Axes, group: Sequence[Trajectory], archs: Sequence[str], ops: Iterable[str]) -> None:
    epochs = min((own.epochs for own in group), key=len)
    base = np.zeros(len(epochs))
    for place, op in enumerate(ops):
        counts = np.mean([_counts(own, archs, op)[: len(epochs)] for own in group], axis=0)
        colour = "0.85" if op == NONE else COLOURS[place % len(COLOURS)]
        hatch = HATCHES[place // len(COLOURS) % len(HATCHES)]
        axes.bar(epochs, counts, 0.9, base, color=colour, hatch=hatch, edgecolor="white", lw=0.3, label=op)
        base = base + counts
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))


def _counts(own: Trajectory, archs: Sequence[str], op: str) -> Floats:
    """How often an op would be chosen for some archs together, at each point."""
    found = [own.counts(arch).get(op, [0] * len(own.points)) for arch in archs]
    return np.asarray(np.sum(found, axis=0), dtype=np.float64)


def draw_margins(groups: Groups) -> Figure:
    """A panel a group: the lead of each edge's strongest op over the next, the mean of the seeds."""
    tables = {label: _margins(group) for label, group in groups.items()}
    height = sum(max(1.6, 0.09 * len(table)) for table in tables.values())
    figure = Figure((7, height + 0.8), layout="constrained")
    heights = [max(1.6, 0.09 * len(table)) for table in tables.values()]
    panels = figure.subplots(len(tables), 1, squeeze=False, height_ratios=heights)[:, 0]
    most = max(float(table.max(initial=0.0)) for table in tables.values()) or 1.0
    for axes, (label, table) in zip(panels, tables.items(), strict=True):
        sides = (0.5, table.shape[1] + 0.5, len(table) - 0.5, -0.5)
        image = axes.imshow(table, aspect="auto", vmin=0, vmax=most, cmap="viridis", extent=sides)
        for line in _borders(groups[label][0]):
            axes.axhline(line - 0.5, color="white", lw=0.8)
        axes.set_title(label, fontsize="medium")
        axes.set_ylabel("edge")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[-1].set_xlabel("epochs")
    figure.colorbar(image, ax=list(panels), label="lead of the strongest op")
    return figure


def _margins(group: Sequence[Trajectory]) -> Floats:
    """The mean lead [edges of all archs, epochs that all seeds have]."""
    length = min(len(own.points) for own in group)
    each = [[_leads(own, place) for place in range(length)] for own in group]
    return np.asarray(np.mean(each, axis=0)).T


def _leads(own: Trajectory, place: int) -> list[float]:
    return [lead for cell in own.points[place].cells.values() for lead in cell.margins]


def _borders(own: Trajectory) -> list[int]:
    """Where the edges of one arch end and those of the next begin."""
    sizes = [len(cell.margins) for cell in own.points[0].cells.values()]
    return list(accumulate(sizes))[:-1]
