"""Successive halving: after some epochs (a rung) the runs of a stage are compared, and the clearly bad stop.

A comparison is made once, by the runs that got there, and stands. A run that failed before it may be tried
again: when it gets there it goes further if it would have done so among the others, whatever these did since.
Runs that were finished before there was a comparison take part in it, and stay finished.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from dartboard.errors import RunError
from dartboard.jobs.job import Job
from dartboard.jobs.queue import JobQueue
from dartboard.runs import RunReader
from dartboard.sweep.cells import finished_runs
from dartboard.sweep.decision_log import RungDecision, late_key, read_rung, rung_key
from dartboard.sweep.plan import SweepPlanner
from dartboard.train.build import VALID

Jobs = Mapping[str, Job]
"""Jobs by name."""
Accuracies = Mapping[str, float | None]
"""Accuracies by name of the run; None for methods that train nothing."""
Ends = dict[str, tuple[Literal["dropped", "failed"], str]]
"""Runs that end at a rung, by name: pruned or failed, and the reason as text."""

ERRORS = 2
"""A network is clearly worse than the best if it is this many standard errors of the difference below."""
DIVERGED = "its training diverged"


def standard_error(first: float, second: float, examples: int) -> float:
    """Standard error of the difference of two accuracies, each on this many examples."""
    return math.sqrt((first * (1 - first) + second * (1 - second)) / examples)


def sift(accuracies: Accuracies, examples: int, keep: int) -> dict[str, str | None]:
    """The reason for which each network is pruned; None for those that stay, at least the best one.

    Pruned are those that are clearly worse than the best, and those that are not among the first `keep`; of
    equal ones the first in order stay.

    Args:
        accuracies: Accuracies after a short training; None for a network whose training diverged.
        examples: Number of images they were measured on.
        keep: Largest number of networks that stay.
    """
    known = {name: value for name, value in accuracies.items() if value is not None}
    ranked = sorted(known, key=lambda name: -known[name])
    reasons: dict[str, str | None] = dict.fromkeys(accuracies, DIVERGED)
    for rank, name in enumerate(ranked):
        gap = known[ranked[0]] - known[name]
        margin = ERRORS * standard_error(known[ranked[0]], known[name], examples)
        if gap > margin:
            below = f"{100 * gap:.2f} points below the best"
            reasons[name] = f"{below}; {ERRORS} standard errors are {100 * margin:.2f}"
        elif rank >= keep:
            reasons[name] = f"not among the best {keep}" if keep > 1 else "not the best"
        else:
            reasons[name] = None
    return reasons


@dataclass
class Pruner:
    """Compares the runs of a stage, and decides which are pruned.

    Args:
        planner: The planner of the sweep.
        message: Called with what is decided.
    """

    planner: SweepPlanner
    message: Callable[[str], None]
    _failed: dict[str, dict[str, str]] = field(default_factory=dict, init=False)

    def prune(self, stage: str, epochs: int, jobs: Jobs, queue: JobQueue) -> Ends:
        """The runs of a stage that end at a rung: pruned, or failed before it.

        Takes the jobs that were not pruned at the rungs before, and runs them up to this one.
        """
        decision = read_rung(self.planner.log, stage, epochs)
        before: dict[str, str] = {}
        waiting = jobs
        if decision is not None:
            before = dict(decision.dropped)
            failed_before = [name for name in decision.failed if name in jobs]
            waiting = {name: jobs[name] for name in failed_before if name not in decision.late}
        accuracies, failed = self._train(waiting, epochs, queue)
        self._failed.setdefault(stage, {}).update(failed)
        if decision is None:
            dropped = self._compare(stage, epochs, jobs, accuracies)
        else:
            dropped = before | self._compare_late(stage, epochs, jobs, decision, accuracies)
        self.planner.release_images()
        for name, reason in dropped.items():
            if name not in before:
                self.message(f"{name} is dropped at epoch {epochs}: {reason}")
        ends: Ends = {name: ("failed", reason) for name, reason in failed.items()}
        return ends | {name: ("dropped", reason) for name, reason in dropped.items() if name in jobs}

    def _train(
        self, jobs: Jobs, epochs: int, queue: JobQueue
    ) -> tuple[dict[str, float | None], dict[str, str]]:
        """Accuracies of the jobs that reach a rung, and errors of those that do not."""
        results = queue.run([replace(job, until=epochs) for job in jobs.values()]) if jobs else ()
        failed = {result.job.name: result.error for result in results if result.state == "failed"}
        accuracies: dict[str, float | None] = {}
        for name in jobs:
            if name in failed:
                continue
            path = self.planner.folder / name
            try:
                rows = RunReader.read(path).metrics()[epochs - 1 : epochs]
                accuracy = rows[0].get(f"{VALID}_accuracy") if rows else None
                if rows and not isinstance(accuracy, int | float):
                    raise RunError(f"{path} has no accuracy after {epochs} epochs")
                accuracies[name] = accuracy
            except RunError as error:
                failed[name] = str(error)
        return accuracies, failed

    def _compare(self, stage: str, epochs: int, jobs: Jobs, accuracies: Accuracies) -> dict[str, str]:
        """Compares the runs; where all failed there is nothing to decide."""
        dropped: dict[str, str] = {}
        for group in _same_images(jobs, accuracies):
            dropped |= self._sift(stage, {name: accuracies[name] for name in group}, jobs[group[0]])
        finished = finished_runs(self.planner.folder, [jobs[name] for name in dropped])
        dropped = {name: reason for name, reason in dropped.items() if name not in finished}
        if accuracies:
            keep, failed = self.planner.stages[stage].stop.keep, self._failed[stage]
            values = {"keep": keep, "accuracies": accuracies, "dropped": dropped, "failed": failed}
            self.planner.log.once(rung_key(stage, epochs), lambda: values)
        return dropped

    def _compare_late(
        self, stage: str, epochs: int, jobs: Jobs, decision: RungDecision, accuracies: Accuracies
    ) -> dict[str, str]:
        """Compares each run that gets there after the others were compared with those."""
        dropped: dict[str, str] = {}
        for name, accuracy in accuracies.items():
            known = {**decision.accuracies, name: accuracy}
            group = next(names for names in _same_images(jobs, known) if name in names)
            reason = self._sift(stage, {member: known[member] for member in group}, jobs[name]).get(name)
            entry = {"accuracy": accuracy, "reason": reason}
            self.planner.log.once(late_key(stage, epochs, name), lambda entry=entry: entry)  # type: ignore[misc]
            dropped |= {} if reason is None else {name: reason}
        return dropped

    def _sift(self, stage: str, accuracies: Accuracies, job: Job) -> dict[str, str]:
        """Reasons for which runs on the same images are pruned; those without an accuracy have ended."""
        known = {name: accuracy for name, accuracy in accuracies.items() if accuracy is not None}
        if not known:
            return {}
        reasons = sift(known, self.planner.examples(job), self.planner.stages[stage].stop.keep)
        return {name: reason for name, reason in reasons.items() if reason is not None}


def _same_images(jobs: Jobs, names: Iterable[str]) -> Iterable[Sequence[str]]:
    """Groups of names of jobs that use the same images."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(repr(jobs[name].config["data"]), []).append(name)
    return groups.values()
