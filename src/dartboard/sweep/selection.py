"""The cells that a stage takes from the finished runs of the stage before it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dartboard.errors import DartboardError
from dartboard.runs import RunReader, is_run
from dartboard.sweep.cells import CellSource, SweepCell, best_of, found_cells, held_out_accuracy
from dartboard.sweep.grid import CELL
from dartboard.sweep.plan import PlannedRun

SEARCH = "search"


def finished(folder: Path, runs: Sequence[PlannedRun]) -> dict[str, RunReader]:
    """By name, the runs that came to their end and can be read.

    Args:
        folder: The directory of the sweep.
        runs: All of a stage.
    """
    found = ((run.name, _done(folder / run.name, run.kind)) for run in runs)
    return {name: run for name, run in found if run is not None}


def _done(path: Path, kind: str) -> RunReader | None:
    """A run that came to its end; None where it did not, or is damaged."""
    try:
        found = RunReader.read(path) if is_run(path) else None
        if found is None or found.result() is None:
            return None
        if kind == SEARCH:
            found_cells({path.name: found})  # what cannot be read here would end the sweep later
    except (DartboardError, OSError, LookupError, TypeError):
        return None
    return found


def take(
    source: CellSource,
    runs: Sequence[PlannedRun],
    trained: Sequence[SweepCell],
    done: Mapping[str, RunReader],
) -> list[SweepCell]:
    """The cells that finished runs found or trained; the best of them if so many are asked.

    Args:
        source: What is asked for.
        runs: All of the stage before.
        trained: The cells of that stage, if it trains some.
        done: Those of its runs that came to their end.

    Raises:
        RunError: If the best are asked, and nothing says which these are.
    """
    searched = any(run.kind == SEARCH for run in runs)
    cells = found_cells(done) if searched else trained
    makers = {cell.label: cell.runs if searched else _trainings(runs, cell) for cell in cells}
    makers = {label: [own for own in names if own in done] for label, names in makers.items()}
    if source.best is None:
        return [cell for cell in cells if makers[cell.label]]
    scores: dict[str, list[float]] = {}
    for label, names in makers.items():
        found = [held_out_accuracy(done[name]) for name in names]
        scores[label] = [own for own in found if own is not None]
    best = best_of(scores, source.best, source.stage or "")
    return [next(cell for cell in cells if cell.label == label) for label in best]


def _trainings(runs: Sequence[PlannedRun], cell: SweepCell) -> list[str]:
    return [run.name for run in runs if run.varied[CELL] == cell.label]
