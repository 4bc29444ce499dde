"""Successive halving: after some epochs (a rung) the runs of a stage are compared, the clearly bad pruned.

A comparison is made once, by the runs that have got to the rung by then, and its decision stands.

A late run is one that failed before the comparison and gets to the rung later, when it is tried again. It is
compared with the accuracies that were recorded at the rung, not with what the other runs have reached since.
It continues if it would have continued then.

Runs that were finished before there was a comparison take part in it, and stay finished.

A pruned run has the state `dropped` in decisions.json and in the results.
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
from dartboard.sweep.decision_log import RungDecision, late_run_key, read_rung, rung_key
from dartboard.sweep.plan import SweepPlanner
from dartboard.train.build import VALID

Jobs = Mapping[str, Job]
"""Jobs by name."""
Accuracies = Mapping[str, float | None]
"""Accuracies at a rung by name of the run; None if its method trains nothing, so that it is not compared."""
StateAndReason = tuple[Literal["dropped", "failed"], str]
"""How a run ends, as results record it, and why."""

STANDARD_ERRORS = 2
"""Number of standard errors of the difference by which a clearly worse network is below the best."""
DIVERGED = "its training diverged"


def standard_error(first: float, second: float, examples: int) -> float:
    """Standard error of the difference of two accuracies, each on this many examples."""
    return math.sqrt((first * (1 - first) + second * (1 - second)) / examples)


def reasons_to_prune(accuracies: Mapping[str, float], examples: int, keep: int) -> dict[str, str]:
    """Why each network that is pruned is pruned, by name; the others continue, at least the best one.

    Pruned are those that are clearly worse than the best, and those that are not among the first `keep`; of
    equal ones the first in order continue.

    Args:
        accuracies: Accuracies after a short training, by name.
        examples: Number of images they were measured on.
        keep: Largest number of networks that continue.
    """
    ranked = sorted(accuracies, key=lambda name: -accuracies[name])
    reasons: dict[str, str] = {}
    for rank, name in enumerate(ranked):
        best, accuracy = accuracies[ranked[0]], accuracies[name]
        gap, margin = best - accuracy, STANDARD_ERRORS * standard_error(best, accuracy, examples)
        if gap > margin:
            below = f"{100 * gap:.2f} points below the best"
            reasons[name] = f"{below}; {STANDARD_ERRORS} standard errors are {100 * margin:.2f}"
        elif rank >= keep:
            reasons[name] = f"not among the best {keep}" if keep > 1 else "not the best"
    return {name: reasons[name] for name in accuracies if name in reasons}


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

    def prune(self, stage: str, epochs: int, jobs: Jobs, queue: JobQueue) -> dict[str, StateAndReason]:
        """The runs of a stage that end at a rung: pruned, or failed before it.

        Takes the jobs that were not pruned at the rungs before. If they have not been compared at this one,
        all of them run up to it; else only those do that failed then, and that may become late runs.
        """
        decision = read_rung(self.planner.log, stage, epochs)
        if decision is None:
            accuracies, failed = self._train(stage, jobs, epochs, queue)
            pruned = newly_pruned = self._decide(stage, epochs, jobs, accuracies)
        else:
            missing = [name for name in decision.failed if name in jobs and name not in decision.late_runs]
            accuracies, failed = self._train(stage, {name: jobs[name] for name in missing}, epochs, queue)
            newly_pruned = self._decide_late_runs(stage, epochs, jobs, decision, accuracies)
            pruned = {**decision.pruned, **newly_pruned}
        self.planner.release_images()
        for name, reason in newly_pruned.items():
            self.message(f"{name} is pruned at epoch {epochs}: {reason}")
        ends: dict[str, StateAndReason] = {name: ("failed", reason) for name, reason in failed.items()}
        return ends | {name: ("dropped", reason) for name, reason in pruned.items() if name in jobs}

    def _train(
        self, stage: str, jobs: Jobs, epochs: int, queue: JobQueue
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
                accuracies[name] = accuracy  # without epochs its method trains nothing
            except RunError as error:
                failed[name] = str(error)
        self._failed.setdefault(stage, {}).update(failed)
        return accuracies, failed

    def _decide(self, stage: str, epochs: int, jobs: Jobs, accuracies: Accuracies) -> dict[str, str]:
        """Compares the runs that got to a rung; where all failed there is nothing to decide."""
        pruned: dict[str, str] = {}
        for names in _same_images(jobs, accuracies):
            pruned |= self._reasons(stage, {name: accuracies[name] for name in names}, jobs[names[0]])
        finished = finished_runs(self.planner.folder, [jobs[name] for name in pruned])
        pruned = {name: reason for name, reason in pruned.items() if name not in finished}
        if accuracies:
            keep, failed = self.planner.stages[stage].stop.keep, self._failed[stage]
            values = {"keep": keep, "accuracies": accuracies, "dropped": pruned, "failed": failed}
            self.planner.log.once(rung_key(stage, epochs), lambda: values)
        return pruned

    def _decide_late_runs(
        self, stage: str, epochs: int, jobs: Jobs, decision: RungDecision, accuracies: Accuracies
    ) -> dict[str, str]:
        """Compares each late run with the runs that were compared at the rung."""
        pruned: dict[str, str] = {}
        for name, accuracy in accuracies.items():
            compared = {**decision.accuracies, name: accuracy}
            names = next(names for names in _same_images(jobs, compared) if name in names)
            reason = self._reasons(stage, {other: compared[other] for other in names}, jobs[name]).get(name)
            entry = {"accuracy": accuracy, "reason": reason}
            self.planner.log.once(late_run_key(stage, epochs, name), lambda entry=entry: entry)  # type: ignore[misc]
            pruned |= {} if reason is None else {name: reason}
        return pruned

    def _reasons(self, stage: str, accuracies: Accuracies, job: Job) -> dict[str, str]:
        """Reasons for which runs on the same images, of which `job` is one, are pruned."""
        compared = {name: accuracy for name, accuracy in accuracies.items() if accuracy is not None}
        if not compared:
            return {}
        return reasons_to_prune(compared, self.planner.examples(job), self.planner.stages[stage].stop.keep)


def _same_images(jobs: Jobs, names: Iterable[str]) -> Iterable[Sequence[str]]:
    """Groups of names of jobs that use the same images."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(repr(jobs[name].config["data"]), []).append(name)
    return groups.values()
