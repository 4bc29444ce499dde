"""Rungs of a stage: after some epochs its runs are compared, and the clearly bad go no further.

A comparison is made once, by the runs that got there, and stands. A run that failed before it may be tried
again: when it gets there it goes further if it would have done so among the others, whatever these did since.
Runs that were finished before there was a comparison take part in it, and stay finished.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dartboard.errors import RunError
from dartboard.jobs.job import JobResult
from dartboard.runs import RunReader
from dartboard.sweep.decision_log import RungDecision, key_of, late_key, read_rung
from dartboard.sweep.plan import PlannedRun
from dartboard.sweep.planner import SweepPlanner
from dartboard.sweep.selection import finished
from dartboard.train.build import VALID
from dartboard.utils.statistics import sift

Runs = Mapping[str, PlannedRun]
"""By name."""
Ends = dict[str, tuple[Literal["dropped", "failed"], str]]
"""By name, how runs end and why."""


@dataclass
class Pruner:
    """Compares runs, and says which go no further.

    Args:
        planner: The sweep.
        run: Runs them until so many epochs are complete.
        message: Called with what is decided.
    """

    planner: SweepPlanner
    run: Callable[[Runs, int], Iterable[JobResult]]
    message: Callable[[str], None]
    _failed: dict[str, dict[str, str]] = field(default_factory=dict, init=False)

    def prune(self, stage: str, epochs: int, runs: Runs) -> Ends:
        """The runs of a stage that go no further than so many epochs.

        Args:
            stage: Its name.
            epochs: How many.
            runs: Those that got past the rungs before.
        """
        taken = read_rung(self.planner.decisions, stage, epochs)
        before = {} if taken is None else dict(taken.dropped)
        waiting = runs if taken is None else _again(taken, runs)
        accuracies, failed = self._reach(waiting, epochs)
        self._failed.setdefault(stage, {}).update(failed)
        if taken is None:
            dropped = self._first(stage, epochs, runs, accuracies)
        else:
            dropped = before | self._late(stage, epochs, runs, taken, accuracies)
        self.planner.release_images()
        self._tell(epochs, {own: reason for own, reason in dropped.items() if own not in before})
        ends: Ends = {own: ("failed", reason) for own, reason in failed.items()}
        return ends | {own: ("dropped", reason) for own, reason in dropped.items() if own in runs}

    def _reach(self, runs: Runs, epochs: int) -> tuple[dict[str, float | None], dict[str, str]]:
        """The accuracies of runs that get there, and why others do not."""
        ended = self.run(runs, epochs) if runs else ()
        failed = {own.job.name: own.error for own in ended if own.state == "failed"}
        accuracies: dict[str, float | None] = {}
        for run in runs.values():
            try:
                if run.name not in failed:
                    accuracies[run.name] = self._accuracy(run, epochs)
            except RunError as error:
                failed[run.name] = str(error)
        return accuracies, failed

    def _accuracy(self, run: PlannedRun, epochs: int) -> float | None:
        """On held-out images, after so many epochs; None where a method trains nothing."""
        rows = RunReader.read(self.planner.folder / run.name).metrics()[epochs - 1 : epochs]
        found = rows[0].get(f"{VALID}_accuracy") if rows else None
        if rows and not isinstance(found, int | float):
            raise RunError(f"{self.planner.folder / run.name} has no accuracy after {epochs} epochs")
        return found

    def _first(
        self, stage: str, epochs: int, runs: Runs, accuracies: Mapping[str, float | None]
    ) -> dict[str, str]:
        """Compares the runs; where all failed there is nothing to decide."""
        dropped: dict[str, str] = {}
        for group in _groups(runs, accuracies):
            found = {own: accuracies[own] for own in group}
            dropped |= self._sift(stage, found, runs[group[0]])
        done = finished(self.planner.folder, [runs[own] for own in dropped])
        dropped = {own: reason for own, reason in dropped.items() if own not in done}
        if accuracies:
            keep, failed = self.planner.stages[stage].stop.keep, self._failed[stage]
            values = {"keep": keep, "accuracies": accuracies, "dropped": dropped, "failed": failed}
            self._record(key_of(stage, epochs), values)
        return dropped

    def _late(
        self, stage: str, epochs: int, runs: Runs, taken: RungDecision, accuracies: Mapping[str, float | None]
    ) -> dict[str, str]:
        """Judges runs that get there when the others were compared already, each by itself."""
        dropped: dict[str, str] = {}
        for own, accuracy in accuracies.items():
            found = {**taken.accuracies, own: accuracy}
            group = next(names for names in _groups(runs, found) if own in names)
            reason = self._sift(stage, {name: found[name] for name in group}, runs[own]).get(own)
            self._record(late_key(stage, epochs, own), {"accuracy": accuracy, "reason": reason})
            dropped |= {} if reason is None else {own: reason}
        return dropped

    def _record(self, key: str, values: Mapping[str, object]) -> None:
        self.planner.decisions.once(key, lambda: values)

    def _sift(self, stage: str, found: Mapping[str, float | None], one: PlannedRun) -> dict[str, str]:
        """Why runs on the same images go no further; those that have no accuracy have ended already."""
        known = {own: accuracy for own, accuracy in found.items() if accuracy is not None}
        if not known:
            return {}
        reasons = sift(known, self.planner.examples(one), self.planner.stages[stage].stop.keep)
        return {own: reason for own, reason in reasons.items() if reason is not None}

    def _tell(self, epochs: int, dropped: Mapping[str, str]) -> None:
        for own, reason in dropped.items():
            self.message(f"{own} is dropped at epoch {epochs}: {reason}")


def _again(taken: RungDecision, runs: Runs) -> dict[str, PlannedRun]:
    """The runs that failed before others were compared, and have not got there since."""
    return {own: runs[own] for own in taken.failed if own in runs and own not in taken.late}


def _groups(runs: Runs, names: Iterable[str]) -> Iterable[Sequence[str]]:
    """The names of runs that see the same images."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(repr(runs[name].config["data"]), []).append(name)
    return groups.values()
