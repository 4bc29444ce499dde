"""How the accuracy of supernets changes when one mixed edge is made discrete (asm-nas 5.3.1)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dartboard.analysis.trajectory import Floats, group_by_settings, settings_of
from dartboard.arch.objective import Batch
from dartboard.errors import GenotypeError, RunError
from dartboard.runs import Run
from dartboard.search import stability as search_stability
from dartboard.search.searcher import load_searcher
from dartboard.search.stability import EdgeStability
from dartboard.space import GENOTYPE_FORMATS
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class RunStability:
    """The accuracy of one supernet, edge by edge.

    Args:
        path: The run directory.
        settings: By dotted name, all settings that identify the search except its seed.
        seed: Random seed of the search.
        accuracy: Accuracy of the supernet with every edge mixed.
        edges: Each edge that had something to choose.
    """

    path: Path
    settings: Mapping[str, Any]
    seed: int
    accuracy: float
    edges: Sequence[EdgeStability]

    @property
    def changes(self) -> Floats:
        """The change of accuracy by each edge."""
        return np.array([edge.change for edge in self.edges])

    @property
    def mean_change(self) -> float:
        """The mean size of the changes, up or down; less is more stable."""
        return float(np.abs(self.changes).mean())

    @property
    def worst(self) -> float:
        """The largest loss of accuracy by one edge, as a number below zero."""
        return float(self.changes.min())

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "run": str(self.path),
            "seed": self.seed,
            "accuracy": self.accuracy,
            "mean change": self.mean_change,
            "worst": self.worst,
            "edges": [asdict(edge) for edge in self.edges],
        }


def measure(
    run: Run | str | Path,
    device: torch.device | str = "cpu",
    *,
    fall_back: bool = False,
    progress: Progress = no_progress,
) -> RunStability:
    """Replaces one mixed edge at a time by what the search chose for it, and measures on held-out images.

    Args:
        run: Of a finished search.
        device: Where to compute.
        fall_back: Whether to use an older checkpoint where the last is damaged.
        progress: Called with the number of edges done.

    Raises:
        DartboardError: If it is not a run of a finished search, or has no checkpoint that can be read.
    """
    run = run if isinstance(run, Run) else Run.read(run)
    if (result := run.result()) is None:
        raise RunError(f"{run.path} is not finished, and has chosen nothing yet; resume it first")
    try:
        genotype = GENOTYPE_FORMATS["json"].decode(json.dumps(result["genotype"]))
    except (KeyError, GenotypeError):
        raise RunError(f"{run.path} is damaged: what it chose cannot be read from its result") from None
    searcher = load_searcher(run, device, fall_back=fall_back, progress=progress)
    total = 1 + sum(len(cell.edges) for _, cell in searcher.space.groups)
    done = count()

    def valid_batches() -> Iterable[Batch]:
        progress("edges", next(done), total)
        return searcher.valid_batches()

    edges = search_stability.stability(searcher.objective, genotype, valid_batches)
    mixed = edges[0].accuracy - edges[0].change
    open_edges = []
    for edge in edges:
        cell = searcher.space.cells[edge.group]
        if len(cell.edges[edge.edge].ops) > 1 or cell.contest_of(edge.edge) is not None:
            open_edges.append(edge)
    return RunStability(run.path, settings_of(run), run.config["seed"], mixed, open_edges)


@dataclass(frozen=True)
class Stabilities:
    """Searches grouped by their settings, all seeds of a group together, under labels such as `asm`."""

    groups: Mapping[str, Sequence[RunStability]]

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {label: [run.facts() for run in group] for label, group in self.groups.items()}

    def plot(self) -> "Figure":
        """The accuracy for each edge that is decided, a panel for each group."""
        from dartboard.viz.plots import EdgeAccuracies, plot_stability

        accuracies = {
            label: [
                EdgeAccuracies(run.accuracy, [edge.accuracy for edge in run.edges], run.changes.tolist())
                for run in group
            ]
            for label, group in self.groups.items()
        }
        return plot_stability(accuracies)


def stability(
    *runs: Run | str | Path,
    device: torch.device | str = "cpu",
    fall_back: bool = False,
    progress: Progress = no_progress,
) -> Stabilities:
    """The stability of what finished searches chose; those that differ only in their seed form a group.

    Args:
        runs: Runs of finished searches; groups stand in the order in which they come.
        device: Where to compute.
        fall_back: Whether older checkpoints will do where the last are damaged.
        progress: Called with the number of edges done.

    Raises:
        RunError: If there are none, or two are the same search with the same seed.
        DartboardError: As `measure`.
    """
    if not runs:
        raise RunError("no runs to look at; name the directories of some")
    measured = [measure(run, device, fall_back=fall_back, progress=progress) for run in runs]
    return Stabilities(group_by_settings(measured))
