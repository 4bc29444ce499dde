"""How much supernets mind when one mixed edge becomes what was chosen for it (asm-nas 5.3.1)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dartboard.analysis.trajectories import grouped
from dartboard.analysis.trajectory import Floats, settings_of
from dartboard.arch.objective import Batch
from dartboard.errors import GenotypeError, RunError
from dartboard.runs import Run
from dartboard.search import stability as search_stability
from dartboard.search.load import load_searcher
from dartboard.search.searcher import Searcher
from dartboard.search.stability import EdgeStability
from dartboard.space import GENOTYPE_FORMATS, Genotype
from dartboard.space.spec import SearchSpace
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class RunStability:
    """What became of the accuracy of one supernet, edge by edge.

    Args:
        path: Of the run.
        settings: By dotted names all that make it another search, but for its seed.
        seed: Of the search.
        accuracy: Of the supernet with every edge mixed.
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
        return np.array([own.change for own in self.edges])

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
            "edges": [asdict(own) for own in self.edges],
        }


def measure(
    run: Run | str | Path,
    device: torch.device | str = "cpu",
    *,
    fall_back: bool = False,
    tell: Progress = no_progress,
) -> RunStability:
    """Replaces one mixed edge at a time by what the search chose for it, and measures on held-out images.

    Args:
        run: Of a finished search.
        device: Where to compute.
        fall_back: Whether an older checkpoint will do where the last is damaged.
        tell: Is told how far it is.

    Raises:
        DartboardError: If it is no run of a finished search, or has no checkpoint that can be read.
    """
    run = run if isinstance(run, Run) else Run.read(run)
    genotype = _chosen(run)
    searcher = load_searcher(run, device, fall_back=fall_back, progress=tell)
    total = 1 + sum(len(cell.edges) for _, cell in searcher.space.archs)
    passes = _Told(searcher, tell, total)
    found = search_stability.stability(searcher.objective, genotype, passes)
    kept = [own for own in found if _chooses(searcher.space, own)]
    mixed = found[0].accuracy - found[0].change
    return RunStability(run.path, settings_of(run), run.config["seed"], mixed, kept)


def _chosen(run: Run) -> Genotype:
    """What a search chose in the end."""
    if (result := run.result()) is None:
        raise RunError(f"{run.path} is not finished, and has chosen nothing yet; go on with it first")
    try:
        return GENOTYPE_FORMATS["json"].decode(json.dumps(result["genotype"]))
    except (KeyError, GenotypeError):
        raise RunError(f"{run.path} is damaged: what it chose cannot be read from its result") from None


def _chooses(space: SearchSpace, own: EdgeStability) -> bool:
    cell = space.cells[own.arch]
    return len(cell.edges[own.edge].ops) > 1 or cell.contest_of(own.edge) is not None


class _Told:
    """The held-out images of a search; each pass over them is told."""

    def __init__(self, searcher: Searcher, tell: Progress, total: int) -> None:
        self._searcher, self._tell, self._total, self._done = searcher, tell, total, 0

    def __call__(self) -> Iterable[Batch]:
        self._tell("edges", self._done, self._total)
        self._done += 1
        return self._searcher.valid_batches()


@dataclass(frozen=True)
class Stabilities:
    """Searches by what tells them apart besides their seeds.

    Args:
        groups: By label, such as `asm` and `darts`.
    """

    groups: Mapping[str, Sequence[RunStability]]

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {label: [own.facts() for own in group] for label, group in self.groups.items()}

    def plot(self) -> "Figure":
        """The accuracy for each edge that is decided, a panel for each group."""
        from dartboard.viz.plots import EdgeAccuracies, plot_stability

        return plot_stability(
            {
                label: [
                    EdgeAccuracies(run.accuracy, [edge.accuracy for edge in run.edges], run.changes.tolist())
                    for run in group
                ]
                for label, group in self.groups.items()
            }
        )


def stability(
    *runs: Run | str | Path,
    device: torch.device | str = "cpu",
    fall_back: bool = False,
    tell: Progress = no_progress,
) -> Stabilities:
    """The stability of what finished searches chose, those that differ by their seed alone together.

    Args:
        runs: Runs of finished searches; groups stand in the order in which they come.
        device: Where to compute.
        fall_back: Whether older checkpoints will do where the last are damaged.
        tell: Is told how far it is.

    Raises:
        RunError: If there are none, or two are the same search with the same seed.
        DartboardError: As `measure`.
    """
    if not runs:
        raise RunError("no runs to look at; name the directories of some")
    found = [measure(own, device, fall_back=fall_back, tell=tell) for own in runs]
    return Stabilities(grouped(found))
