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


@dataclass(frozen=True)
class ShortRun:
    """A run that was to get to a rung.

    Args:
        accuracy: Its accuracy there; None if it has none to be compared by.
        seconds: Its duration up to there.
        error: Why it failed before; None if it did not.
        pruned: Why it is pruned whatever its accuracy; None if it is not.
    """

    accuracy: float | None = None
    seconds: float = 0.0
    error: str | None = None
    pruned: str | None = None


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
            is_first = epochs == self.planner.stages[stage].stop.after[0]
            budget = read_budget(self.planner.log, stage) if is_first else None
            runs = self._train(jobs, epochs, queue, budget)
        else:
            missing = [name for name in decision.failed if name in jobs and name not in decision.late_runs]
            runs = self._train({name: jobs[name] for name in missing}, epochs, queue)
        failed = {name: run.error for name, run in runs.items() if run.error is not None}
        self._failed.setdefault(stage, {}).update(failed)
        reached = {name: run for name, run in runs.items() if run.error is None}
        if decision is None:
            pruned = newly_pruned = self._decide(stage, epochs, jobs, reached)
        else:
            newly_pruned = self._decide_late_runs(stage, epochs, jobs, decision, reached)
            pruned = {**decision.pruned, **newly_pruned}
        self.planner.release_images()
        for name, reason in newly_pruned.items():
            if reason != NO_TIME:
                self.message(f"{name} is pruned at epoch {epochs}: {reason}")
        ends: dict[str, StateAndReason] = {name: ("failed", reason) for name, reason in failed.items()}
        return ends | {name: ("dropped", reason) for name, reason in pruned.items() if name in jobs}

    def _train(
        self, jobs: Jobs, epochs: int, queue: JobQueue, budget: Budget | None = None
    ) -> dict[str, ShortRun]:
        """Runs jobs up to a rung; with a budget, cell by cell as long as it lasts.

        As many cells are trained at a time as the executor takes. Which of them count is decided in their
        order, so that it does not depend on how many that are.
        """
        cells = [list(jobs.values())] if budget is None else _same_cells(jobs)
        size = 1 if budget is None else max(queue.executor.capacity // max(map(len, cells), default=1), 1)
        ended: dict[str, ShortRun] = {}
        runs: dict[str, ShortRun] = {}
        for number, cell in enumerate(cells):
            seconds = sum(run.seconds for run in runs.values())
            if budget is not None and number and budget.is_spent(seconds):
                self.message(f"the time is spent after {number} random networks")
                return runs | {job.name: ShortRun(pruned=NO_TIME) for job in chain(*cells[number:])}
            if number % size == 0:
                batch = [replace(job, until=epochs) for job in chain(*cells[number : number + size])]
                ended |= {result.job.name: self._read(result, epochs) for result in queue.run(batch)}
            runs |= {job.name: ended[job.name] for job in cell}
        return runs

    def _read(self, result: JobResult, epochs: int) -> ShortRun:
        """What a job came to that was run up to a rung."""
        if result.state != "failed":
            path = self.planner.folder / result.job.name
            try:
                rows = RunReader.read(path).metrics()[epochs - 1 : epochs]
                accuracy = rows[0].get(f"{VALID}_accuracy") if rows else None
                if rows and not isinstance(accuracy, int | float):
                    raise RunError(f"{path} has no accuracy after {epochs} epochs")
                # without epochs its method trains nothing
                return ShortRun(accuracy, rows[0].get("seconds", 0.0)) if rows else ShortRun()
            except RunError as error:
                result = replace(result, error=str(error), error_type=RunError.__name__)
        reason = self.on_failure(result)
        return ShortRun(error=result.error) if reason is None else ShortRun(pruned=reason)

    def _decide(self, stage: str, epochs: int, jobs: Jobs, reached: Mapping[str, ShortRun]) -> dict[str, str]:
        """Compares the runs that got to a rung; where all failed there is nothing to decide."""
        worse: dict[str, str] = {}
        for names in _same_images(jobs, reached):
            accuracies = {name: reached[name].accuracy for name in names}
            worse |= self._reasons(stage, accuracies, jobs[names[0]])
        finished = finished_runs(self.planner.folder, [jobs[name] for name in worse])
        pruned = {name: run.pruned for name, run in reached.items() if run.pruned is not None}
        pruned |= {name: reason for name, reason in worse.items() if name not in finished}
        if reached:
            values = {
                "keep": self.planner.stages[stage].stop.keep,
                "accuracies": {name: run.accuracy for name, run in reached.items()},
                "dropped": pruned,
                "failed": self._failed[stage],
            }
            self.planner.log.once(rung_key(stage, epochs), lambda: values)
        return pruned

    def _decide_late_runs(
        self, stage: str, epochs: int, jobs: Jobs, decision: RungDecision, reached: Mapping[str, ShortRun]
    ) -> dict[str, str]:
        """Compares each late run with the runs that were compared at the rung."""
        pruned: dict[str, str] = {}
        for name, run in reached.items():
            compared = {**decision.accuracies, name: run.accuracy}
            names = next(names for names in _same_images(jobs, compared) if name in names)
            reasons = self._reasons(stage, {other: compared[other] for other in names}, jobs[name])
            reason = run.pruned or reasons.get(name)
            entry = {"accuracy": run.accuracy, "reason": reason}
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
