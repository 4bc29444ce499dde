"""Many searches beside each other: those that differ by their seed alone make a mean and a band."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from dartboard.analysis.trajectory import QUANTITIES, Floats, Trajectory, read_trajectory
from dartboard.errors import RunError
from dartboard.runs import Run
from dartboard.viz.band import Band
from dartboard.viz.line_styles import line_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

YLABELS = {
    "normalised entropy": "normalised entropy,\nmean over all cells",
    "entropy": "entropy (nats),\nmean over all cells",
    "margin": "lead of the strongest op,\nmean over all cells",
    "skips": "skip connections chosen",
    "gap": "accuracy lost when discrete",
    "accuracy": "accuracy of the supernet",
}
"""Axis labels by quantity."""
FEW_ARCHS = 2
"""With more archs than this, their ops are counted together."""


@dataclass(frozen=True)
class Trajectories:
    """Searches by what tells them apart besides their seeds.

    Args:
        groups: By label, such as `darts` or `darts, weight_decay=0.1`.
    """

    groups: Mapping[str, Sequence[Trajectory]]

    def band(self, label: str, quantity: str) -> Band | None:
        """One of `QUANTITIES` over the epochs that all searches of a group have; None if one lacks it."""
        return band([(own.epochs, own.curve(quantity)) for own in self.groups[label]])

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {label: self._group_facts(label) for label in self.groups}

    def _group_facts(self, label: str) -> dict[str, Any]:
        bands = {name: self.band(label, name) for name in QUANTITIES}
        known = {name: own for name, own in bands.items() if own is not None}
        return {
            "epochs": next(iter(known.values())).x.tolist(),
            "mean": {name: own.mean.tolist() for name, own in known.items()},
            "deviation": {name: own.std.tolist() for name, own in known.items()},
            "runs": [own.facts() for own in self.groups[label]],
        }

    def plot(self) -> "dict[str, Figure]":
        """All figures by name: `trajectory`, `ops` and `margins`."""
        from dartboard.viz.plots import plot_band_panels, plot_margins, plot_op_counts

        panels = {
            ylabel: {label: found for label in self.groups if (found := self.band(label, name)) is not None}
            for name, ylabel in YLABELS.items()
        }
        counts = {label: mean_op_counts(group) for label, group in self.groups.items()}
        epochs = {label: min((own.epochs for own in group), key=len) for label, group in self.groups.items()}
        ops = list(dict.fromkeys(op for group in self.groups.values() for op in group[0].space.ops))
        leads = {label: mean_margins(group) for label, group in self.groups.items()}
        borders = {label: _arch_borders(group[0]) for label, group in self.groups.items()}
        return {
            "trajectory": plot_band_panels(panels, line_styles(self.groups)),
            "ops": plot_op_counts(counts, epochs, ops),
            "margins": plot_margins(leads, borders),
        }


def mean_op_counts(group: Sequence[Trajectory]) -> dict[str, dict[str, Floats]]:
    """For each arch, or for all together if there are many, how often each op would be chosen [epochs].

    Counts are means over searches, for the epochs that all of them have. An arch that is alone is called "".
    """
    space, length = group[0].space, min(len(own.points) for own in group)
    names = [arch for arch, _ in space.archs]
    panels = {name if len(names) > 1 else "": [name] for name in names}
    if len(names) > FEW_ARCHS:
        panels = {f"all {len(names)} cells": names}

    def counts(op: str, archs: Sequence[str]) -> Floats:
        """How often an op would be chosen for some archs together [searches, epochs]."""
        rows = [[own.counts(arch)[op][:length] for arch in archs] for own in group]
        return np.asarray(np.sum(rows, axis=1))

    return {
        title: {op: np.asarray(counts(op, archs).mean(0)) for op in space.ops}
        for title, archs in panels.items()
    }


def mean_margins(group: Sequence[Trajectory]) -> Floats:
    """The mean lead of each edge's strongest op [edges of all archs, epochs that all searches have]."""
    length = min(len(own.points) for own in group)
    leads = [
        [[lead for cell in point.cells.values() for lead in cell.margins] for point in own.points[:length]]
        for own in group
    ]
    return np.asarray(np.mean(leads, axis=0)).T


def _arch_borders(search: Trajectory) -> list[int]:
    """The numbers of edges before which those of another arch begin."""
    sizes = [len(cell.margins) for cell in search.points[0].cells.values()]
    return list(accumulate(sizes))[:-1]


def band(curves: Sequence[tuple[Sequence[int], Floats | None]]) -> Band | None:
    """Curves together, over the epochs that all of them have; None where one was not measured."""
    known = [(x, y) for x, y in curves if y is not None]
    if len(known) < len(curves) or not known:
        return None
    shared = sorted(set.intersection(*(set(x) for x, _ in known)))
    values = np.array([[y[list(x).index(epoch)] for epoch in shared] for x, y in known])
    spread = values.std(axis=0, ddof=1) if len(known) > 1 else np.zeros(len(shared))
    return Band(np.array(shared, dtype=np.float64), values.mean(axis=0), spread)


def trajectory(*runs: Run | str | Path) -> Trajectories:
    """The trajectories of searches, those that differ by their seed alone together.

    Args:
        runs: Runs of searches, finished or not; groups stand in the order in which they come.

    Raises:
        RunError: If there are none, one is no run of a search, has no epochs or is damaged, or two are the
            same search with the same seed.
    """
    if not runs:
        raise RunError("no runs to look at; name the directories of some")
    return Trajectories(grouped([read_trajectory(own) for own in runs]))


class Searched(Protocol):
    """Something of a search."""

    @property
    def path(self) -> Path: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def seed(self) -> int: ...


T = TypeVar("T", bound=Searched)


def grouped(found: Sequence[T]) -> dict[str, list[T]]:
    """By label, those that differ by their seed alone, in the order in which they come.

    Raises:
        RunError: If two are the same search with the same seed.
    """
    different: list[Mapping[str, Any]] = []
    for own in found:
        if own.settings not in different:
            different.append(own.settings)
    groups = [[own for own in found if own.settings == each] for each in different]
    for group in groups:
        _check_seeds(group)
    return dict(zip(labels(different), groups, strict=True))


def _check_seeds(group: Sequence[Searched]) -> None:
    first: dict[int, Path] = {}
    for own in group:
        if own.seed in first:
            raise RunError(
                f"{first[own.seed]} and {own.path} are the same search with seed {own.seed}; name one of them"
            )
        first[own.seed] = own.path


def labels(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each group of settings: its method, and what tells it from others with the same one."""
    return [_label(own, [each for each in groups if _method(each) == _method(own)]) for own in groups]


def _method(settings: Mapping[str, Any]) -> str:
    return str(settings["method.name"])


def _label(own: Mapping[str, Any], rivals: Sequence[Mapping[str, Any]]) -> str:
    names = dict.fromkeys(name for each in rivals for name in each)
    apart = [name for name in names if any(each.get(name) != own.get(name) for each in rivals)]
    words = [f"{name.removeprefix('method.')}={own.get(name)}" for name in apart]
    return ", ".join([_method(own), *words])
