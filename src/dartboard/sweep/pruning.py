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
from itertools import chain
from typing import Literal

from dartboard.errors import RunError
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.queue import JobQueue
from dartboard.runs import RunReader
from dartboard.sweep.cells import finished_runs
from dartboard.sweep.decision_log import RungDecision, late_run_key, read_budget, read_rung, rung_key
from dartboard.sweep.plan import SweepPlanner
from dartboard.sweep.random_cells import NO_TIME, Budget
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
class ShortTrainings:
    """What the runs that were to get to a rung came to.

    Args:
        accuracies: Accuracies of those that got there.
        failed: Errors of those that failed before it.
        pruned: Reasons for which runs are pruned whatever their accuracy.
        seconds: Duration of all that got there.
    """

    accuracies: dict[str, float | None] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    pruned: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def prune(self, name: str, reason: str) -> None:
        """Adds a run that is not compared with others, and does not continue."""
        self.accuracies[name], self.pruned[name] = None, reason


@dataclass
class Pruner:
    """Compares the runs of a stage, and decides which are pruned.

    Args:
        planner: The planner of the sweep.
        message: Called with what is decided.
        on_failure: Called with the result of a job that fails before a rung. Returns the reason for which the
            run is pruned for good, or None for one that may be tried again; raises what ends the stage.
    """

    planner: SweepPlanner
    message: Callable[[str], None]
    on_failure: Callable[[JobResult], str | None] = lambda _: None
    _failed: dict[str, dict[str, str]] = field(default_factory=dict, init=False)

    def prune(self, stage: str, epochs: int, jobs: Jobs, queue: JobQueue) -> dict[str, StateAndReason]:
        """The runs of a stage that end at a rung: pruned, or failed before it.

        Takes the jobs that were not pruned at the rungs before. If they have not been compared at this one,
        all of them run up to it; else only those do that failed then, and that may become late runs.
        """
        decision = read_rung(self.planner.log, stage, epochs)
        if decision is None:
            budget = read_budget(self.planner.log, stage)
            first_rung = epochs == self.planner.stages[stage].stop.after[0]
            trained = self._train(jobs, epochs, queue, budget if first_rung else None)
            self._failed.setdefault(stage, {}).update(trained.failed)
            pruned = newly_pruned = self._decide(stage, epochs, jobs, trained)
        else:
            missing = [name for name in decision.failed if name in jobs and name not in decision.late_runs]
            trained = self._train({name: jobs[name] for name in missing}, epochs, queue)
            self._failed.setdefault(stage, {}).update(trained.failed)
            newly_pruned = self._decide_late_runs(stage, epochs, jobs, decision, trained)
            pruned = {**decision.pruned, **newly_pruned}
        self.planner.release_images()
        for name, reason in newly_pruned.items():
            if reason != NO_TIME:
                self.message(f"{name} is pruned at epoch {epochs}: {reason}")
        ends: dict[str, StateAndReason] = {
            name: ("failed", reason) for name, reason in trained.failed.items()
        }
        return ends | {name: ("dropped", reason) for name, reason in pruned.items() if name in jobs}

    def _train(
        self, jobs: Jobs, epochs: int, queue: JobQueue, budget: Budget | None = None
    ) -> ShortTrainings:
        """Runs jobs up to a rung; with a budget, cell by cell as long as it lasts.

        As many cells are trained at a time as the executor takes. Which of them count is decided in their
        order, so that it does not depend on how many that are.
        """
        trained = ShortTrainings()
        cells = [list(jobs.values())] if budget is None else _same_cells(jobs)
        size = 1 if budget is None else max(queue.executor.capacity // max(map(len, cells), default=1), 1)
        failures: dict[str, tuple[str, str | None]] = {}
        for number, cell in enumerate(cells):
            if budget is not None and number and budget.is_spent(trained.seconds):
                self.message(f"the time is spent after {number} random networks")
                for job in chain(*cells[number:]):
                    trained.prune(job.name, NO_TIME)
                break
            if number % size == 0:
                batch = [replace(job, until=epochs) for job in chain(*cells[number : number + size])]
                for result in queue.run(batch):
                    if result.state == "failed":
                        failures[result.job.name] = result.error, self.on_failure(result)
            for job in cell:
                self._measure(job, epochs, failures.get(job.name), trained)
        return trained

    def _measure(
        self, job: Job, epochs: int, failure: tuple[str, str | None] | None, trained: ShortTrainings
    ) -> None:
        """Adds what a job came to that was run up to a rung; a failure is its error and a reason to prune."""
        path = self.planner.folder / job.name
        if failure is None:
            try:
                rows = RunReader.read(path).metrics()[epochs - 1 : epochs]
                accuracy = rows[0].get(f"{VALID}_accuracy") if rows else None
                if rows and not isinstance(accuracy, int | float):
                    raise RunError(f"{path} has no accuracy after {epochs} epochs")
                trained.accuracies[job.name] = accuracy  # without epochs its method trains nothing
                trained.seconds += rows[0].get("seconds", 0.0) if rows else 0.0
                return
            except RunError as error:
                result = JobResult(job, "failed", str(error), RunError.__name__)
                failure = result.error, self.on_failure(result)
        error_text, reason = failure
        if reason is None:
            trained.failed[job.name] = error_text
        else:
            trained.prune(job.name, reason)

    def _decide(self, stage: str, epochs: int, jobs: Jobs, trained: ShortTrainings) -> dict[str, str]:
        """Compares the runs that got to a rung; where all failed there is nothing to decide."""
        worse: dict[str, str] = {}
        for names in _same_images(jobs, trained.accuracies):
            worse |= self._reasons(stage, {name: trained.accuracies[name] for name in names}, jobs[names[0]])
        finished = finished_runs(self.planner.folder, [jobs[name] for name in worse])
        worse = {name: reason for name, reason in worse.items() if name not in finished}
        pruned = trained.pruned | worse
        if trained.accuracies:
            keep, failed = self.planner.stages[stage].stop.keep, self._failed[stage]
            values = {"keep": keep, "accuracies": trained.accuracies, "dropped": pruned, "failed": failed}
            self.planner.log.once(rung_key(stage, epochs), lambda: values)
        return pruned

    def _decide_late_runs(
        self, stage: str, epochs: int, jobs: Jobs, decision: RungDecision, trained: ShortTrainings
    ) -> dict[str, str]:
        """Compares each late run with the runs that were compared at the rung."""
        pruned: dict[str, str] = {}
        for name, accuracy in trained.accuracies.items():
            compared = {**decision.accuracies, name: accuracy}
            names = next(names for names in _same_images(jobs, compared) if name in names)
            reasons = self._reasons(stage, {other: compared[other] for other in names}, jobs[name])
            reason = (trained.pruned | reasons).get(name)
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


def _same_cells(jobs: Jobs) -> list[list[Job]]:
    """Groups of jobs that train the same cell."""
    groups: dict[str, list[Job]] = {}
    for job in jobs.values():
        groups.setdefault(job.config["cell"], []).append(job)
    return list(groups.values())
