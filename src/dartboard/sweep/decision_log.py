"""The decision log of a sweep or a protocol: each decision is made once, written at once, and stands.

decisions.json records which runs were pruned at a rung, which cells a stage took, and how much time random
ones may take.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any

from dartboard.errors import RunError
from dartboard.sweep.cells import CellSource, SweepCell
from dartboard.sweep.config import StopRule
from dartboard.sweep.random_cells import Budget
from dartboard.utils.checksums import read_file, write_file

NAME = "decisions.json"
CHANGED = "it was changed after it was written"
ELSEWHERE = "name another directory with --out"
MISSING = object()


class DecisionLog:
    """The decisions of the run in a directory, by name.

    Raises:
        RunError: If the file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self.decisions: dict[str, Any] = {}
        if not os.path.lexists(self._path):
            return
        try:
            decisions = json.loads(read_file(self._path, root=folder))
        except (ValueError, RecursionError) as error:
            raise RunError(f"{self._path} is not JSON ({error}); {CHANGED}") from None
        if not isinstance(decisions, dict) or not all(
            isinstance(decision, dict | list | str) for decision in decisions.values()
        ):
            raise RunError(f"{self._path} should hold decisions by name; {CHANGED}")
        self.decisions = decisions

    def get(self, name: str) -> Any:
        """The decision of this name; None if it has not been made."""
        return self.decisions.get(name)

    def once(self, name: str, decide: Callable[[], Any]) -> Any:
        """The decision of this name; makes it, as plain values, and writes it if it has not been made."""
        if name not in self.decisions:
            decision = decide()  # first, for it may make others
            self.rewrite({**self.decisions, name: decision})
        return self.decisions[name]

    def rewrite(self, decisions: Mapping[str, Any]) -> None:
        """Writes these decisions, as plain values, in the place of all that there are."""
        text = json.dumps(decisions, indent=1, allow_nan=False)
        write_file(self._path, text + "\n")
        self.decisions = json.loads(text)  # the same values as a later process reads


@dataclass(frozen=True)
class RungDecision:
    """How the runs of a stage were compared after some epochs.

    Args:
        keep: Largest number of runs that stay.
        accuracies: Accuracies of the runs that got there; None for methods that train nothing.
        pruned: Reasons for which runs were pruned, late runs among them; `dropped` in the file.
        failed: Errors of the runs that had not got there.
        late_runs: Failed runs that have got there since.
    """

    keep: int
    accuracies: Mapping[str, float | None]
    pruned: Mapping[str, str]
    failed: Mapping[str, str]
    late_runs: Sequence[str]


@dataclass(frozen=True)
class CellsDecision:
    """Which cells a stage took.

    Args:
        among: The runs of the stage before.
        finished: The finished ones of them.
        cells: The cells to train.
        taken: Which cells were asked for, in words.
    """

    among: Sequence[str]
    finished: Sequence[str]
    cells: Sequence[SweepCell]
    taken: str


def rung_key(stage: str, epochs: int) -> str:
    """Name of the decision on the runs of a stage after some epochs."""
    return f"{stage} after {epochs}"


def late_run_key(stage: str, epochs: int, run: str) -> str:
    """Name of the decision on a run that got there after the others were compared."""
    return f"{rung_key(stage, epochs)}: {run}"


def cells_key(stage: str) -> str:
    """Name of the decision on the cells of a stage."""
    return f"cells of {stage}"


def budget_key(stage: str) -> str:
    """Name of the decision on the time that random cells of a stage may take."""
    return f"budget of {stage}"


def read_rung(log: DecisionLog, stage: str, epochs: int) -> RungDecision | None:
    """How the runs of a stage were compared; None if they have not been.

    Raises:
        RunError: If the file is damaged.
    """
    key = rung_key(stage, epochs)
    decision = log.get(key)
    if decision is None:
        return None
    accuracies = _field(decision, key, "accuracies", (int, float, NoneType), dict)
    pruned, failed = (_field(decision, key, name, str, dict) for name in ("dropped", "failed"))
    late_runs: dict[str, str | None] = {}
    for run in failed:
        late_key = late_run_key(stage, epochs, run)
        if (entry := log.get(late_key)) is not None:
            late_runs[run] = _field(entry, late_key, "reason", (str, NoneType))
    pruned_late = {run: reason for run, reason in late_runs.items() if reason is not None}
    keep = _field(decision, key, "keep", int)
    return RungDecision(keep, accuracies, {**pruned, **pruned_late}, failed, list(late_runs))


def read_cells(log: DecisionLog, stage: str) -> CellsDecision | None:
    """Which cells a stage took; None if it has taken none yet.

    Raises:
        RunError: If the file is damaged.
    """
    key = cells_key(stage)
    decision = log.get(key)
    if decision is None:
        return None
    among = _field(decision, key, "among", str, list)
    finished = _field({"finished": among, **decision}, key, "finished", str, list)
    cells = _field(decision, key, "cells", dict, list)
    best = _field(decision, key, "best", (int, NoneType))
    random = _field({"random": None, **decision}, key, "random", (int, str, NoneType))
    seed = _field({"seed": 0, **decision}, key, "seed", int)
    taken = CellSource(stage, best, random=random, seed=seed).describe()
    try:
        return CellsDecision(among, finished, [SweepCell(**cell) for cell in cells], taken)
    except TypeError:
        raise RunError(f"{NAME}: {key!r} has a cell that is none; {CHANGED}") from None


def read_budget(log: DecisionLog, stage: str) -> Budget | None:
    """The time that random cells of a stage may take; None if it was not limited.

    Raises:
        RunError: If the file is damaged.
    """
    key = budget_key(stage)
    decision = log.get(key)
    if decision is None:
        return None
    return Budget(
        _field(decision, key, "search_seconds", (int, float)),
        _field(decision, key, "short_seconds", (int, float), list),
        _field(decision, key, "networks", int),
    )


def check_rungs(log: DecisionLog, stage: str, stop: StopRule, names: Sequence[str]) -> None:
    """Refuses to add or remove runs of a stage whose runs have been compared.

    Raises:
        RunError: Names a run that was added or removed; or says that another number of them was kept.
    """
    alive, every = set(names), set(names)
    for epochs in stop.after:
        decision = read_rung(log, stage, epochs)
        if decision is None:
            return
        if decision.keep != stop.keep:
            raise RunError(
                f"the runs of {stage} were compared after {epochs} epochs already, to keep {decision.keep} "
                f"and not {stop.keep}; {ELSEWHERE}"
            )
        added = [
            run
            for run in names
            if run in alive and run not in decision.accuracies and run not in decision.failed
        ]
        removed = [run for run in decision.accuracies if run not in alive]
        removed += [run for run in decision.failed if run not in every]
        if added or removed:
            raise RunError(
                f"the runs of {stage} were compared after {epochs} epochs already, and "
                f"{[*added, *removed][0]} makes a difference to that; {ELSEWHERE}"
            )
        alive -= decision.pruned.keys()


def pruned_runs(log: DecisionLog, stage: str, after: Sequence[int]) -> set[str]:
    """The names of the runs of a stage that were pruned."""
    decisions = (read_rung(log, stage, epochs) for epochs in after)
    return {run for decision in decisions if decision is not None for run in decision.pruned}


def _field(
    decision: Any, key: str, name: str, kinds: type | tuple[type, ...], container: type | None = None
) -> Any:
    """A field of a decision: a value of one of these kinds, or a dict or a list of such."""
    value: Any = decision.get(name, MISSING) if isinstance(decision, dict) else MISSING
    values: list[Any] = [value]
    if container is not None:
        items = value.values() if isinstance(value, dict) else value
        values = [*items] if isinstance(value, container) else [MISSING]
    if not all(isinstance(item, kinds) for item in values):
        raise RunError(f"{NAME}: {key!r} does not say {name} as it should; {CHANGED}")
    return value
