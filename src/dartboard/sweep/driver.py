"""The driver of sweeps and protocols: runs the stages of a plan, one after the other.

The queue begins again what is lost, saves what is asked to stop, and passes over what is finished already, so
that a plan whose decisions stand goes on where an earlier process left off.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.queue import JobQueue


class StagedPlan(Protocol):
    """Jobs in stages; what a stage has follows from the results of those before it."""

    @property
    def stages(self) -> Collection[str]:
        """Names of the stages, in their order."""
        ...

    def begin(self, stage: str) -> Sequence[Job]:
        """The jobs of a stage; those before it have been run."""
        ...

    def rungs(self, stage: str) -> Sequence[int]:
        """Numbers of epochs after which the jobs of a stage are compared."""
        ...

    def prune(self, stage: str, epochs: int, jobs: Mapping[str, Job], queue: JobQueue) -> Collection[str]:
        """Runs jobs up to a rung, unless they have been compared there; names of those that end there."""
        ...

    def end(self, result: JobResult) -> None:
        """Takes the result of a job that was run to its end; raises what must end the others, too."""
        ...


def run_stages(plan: StagedPlan, queue: JobQueue) -> None:
    """Runs the stages of a plan, each with its rungs.

    Raises:
        Stopped: If the queue was stopped; all states have been saved.
    """
    for stage in plan.stages:
        jobs = {job.name: job for job in plan.begin(stage)}
        queue.monitor.on_stage(stage, list(jobs))
        for epochs in plan.rungs(stage):
            for name in plan.prune(stage, epochs, dict(jobs), queue):
                del jobs[name]
        for result in queue.run(list(jobs.values())):
            plan.end(result)
