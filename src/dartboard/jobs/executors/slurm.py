"""Jobs on a Slurm cluster, handed to its queue with submitit.

What is in the queue outlives the driver: all that is known of it is in the sweep's directory, and the next
driver takes it over. A job whose time is up, or that has to go for another one, saves its state and is handed
over again; one whose machine fails goes on from its last checkpoint.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any, Literal

from pydantic import Field

from dartboard.config.schema import Count, Options
from dartboard.errors import DartboardError
from dartboard.jobs.executors.base import EXECUTORS
from dartboard.jobs.executors.batch import Batch, find_submitit
from dartboard.jobs.executors.remote import checked, fitted, perform
from dartboard.jobs.executors.submission import QUEUE, Submission, list_submissions
from dartboard.jobs.job import Job, Outcome

FOLDER, LOGS = "slurm", "logs"
OWN = "slurm_"
"""How options begin that are submitit's own."""
LOOK = 0.2
"""Seconds between two looks at whether a job has ended."""
TRIES, PAUSE = 3, 5.0
"""How often a job is handed over that the queue refuses, and the seconds in between."""
TOLD = ("failed", "lost")
"""How jobs end of which it is kept what their processes printed."""
SIGNALS = (Signals.SIGUSR2, Signals.SIGTERM)
"""What Slurm sends when time is up, or a job has to go."""


class SlurmOptions(Options):
    """What each run asks Slurm for."""

    partition: str | None = Field(default=None, description="the partition; by default the cluster's own")
    account: str | None = Field(default=None, description="who pays")
    time: Count = Field(default=240, description="minutes of each job; what takes longer goes on in another")
    cpus: Count = Field(default=1, description="cores of each run")
    gpus: int = Field(default=0, ge=0, description="GPUs of each run")
    memory: float | None = Field(
        default=None, gt=0, description="GB of each run; by default the cluster's own"
    )
    setup: tuple[str, ...] = Field(default=(), description="lines of shell to run before each job")
    cluster: Literal["slurm", "local", "debug"] = Field(
        default="slurm", description="slurm, or on this machine: processes, or the driver's own"
    )
    jobs: Count = Field(default=64, description="runs that are in the queue at a time")
    poll: float = Field(default=30.0, ge=0, description="seconds between two questions to Slurm")
    threads: Count | None = Field(default=None, description="threads of new runs on CPUs; by default cpus")
    device: str | None = Field(
        default=None, description="where to compute; by default a GPU that Slurm gives, else the CPU"
    )

    def parameters(self) -> dict[str, Any]:
        """The same for submitit."""
        return {
            "name": "dartboard",
            "timeout_min": self.time,
            "cpus_per_task": self.cpus,
            "gpus_per_node": self.gpus or None,
            "mem_gb": self.memory,
            "slurm_partition": self.partition,
            "slurm_account": self.account,
            f"{self.cluster}_setup": list(self.setup) or None,
        }


@dataclass(frozen=True)
class _Task:
    """A job that is in the queue, and what the sweep's directory says of it."""

    job: Job
    submission: Submission
    id: str


@EXECUTORS.register("slurm")
class SlurmExecutor:
    """Does jobs on a Slurm cluster, whose machines all see the directory of the sweep.

    Args:
        options: What each run asks for; see `SlurmOptions`. Those that begin with `slurm_`, such as
            `slurm_qos`, go to submitit as they are.

    Raises:
        DartboardError: If submitit is not installed, or there is no Slurm here.
    """

    def __init__(self, **options: Any) -> None:
        own = {name: value for name, value in options.items() if name.startswith(OWN)}
        self._options = self.check(options)
        self._batch = Batch(self._options.cluster, self._options.parameters() | own, self._options.poll)
        self.room = self._options.jobs
        self._folder: Path | None = None
        self._left: dict[str, Submission] = {}
        self._tasks: list[_Task] = []
        self._refused: list[Outcome] = []
        self._accepted = self._stopping = False

    @staticmethod
    def check(options: Mapping[str, Any]) -> SlurmOptions:
        """What plain values ask for, but for submitit's own; raises a DartboardError if it cannot be."""
        return checked(SlurmOptions, {key: own for key, own in options.items() if not key.startswith(OWN)})

    def begin(self, job: Job) -> None:
        """Hands a job to the queue, unless an earlier driver has, and it is there still.

        Raises:
            DartboardError: If the queue refuses the first that it is given.
        """
        folder = self._open(job)
        own = fitted(job, threads=self._options.threads or self._options.cpus, device=self._options.device)
        found = self._left.pop(job.name, None)
        if found is not None and (id_ := found.id) is not None and found.is_of(own):
            self._tasks.append(_Task(job, found, id_))
            return
        if found is not None:
            self._withdraw(found)
        self._submit(job, Submission.create(folder / QUEUE, own))

    def ended(self, seconds: float) -> Sequence[Outcome]:
        """The jobs that have ended, or that the queue says are gone."""
        until = time.monotonic() + seconds
        while not (found := self._hear()) and time.monotonic() < until:
            time.sleep(min(LOOK, max(0.0, until - time.monotonic())))
        return found

    def stop(self) -> None:
        """Has the flags of all jobs taken away when somebody asks next what has ended."""
        self._stopping = True

    def close(self) -> None:
        """Ends all jobs that are in the queue or under way, those that an earlier driver left there too."""
        for task in self._tasks:
            self._withdraw(task.submission)
        for submission in self._left.values():
            self._withdraw(submission)
        self._tasks, self._left = [], {}

    def _open(self, job: Job) -> Path:
        """The folder of all this in the sweep's; what an earlier driver left there is looked at first."""
        if self._folder is None:
            self._folder = Path(job.folder) / FOLDER
            (self._folder / LOGS).mkdir(parents=True, exist_ok=True)
            for found in list_submissions(self._folder / QUEUE):
                self._left[found.job().name] = found
                if found.id is not None:
                    self._batch.adopt(self._folder / LOGS, found.id)
        return self._folder

    def _submit(self, job: Job, submission: Submission, tries: int = TRIES) -> None:
        """Hands a job over; one that the queue refuses is lost, unless nothing was ever handed over."""
        try:
            name = self._batch.submit(self._logs(submission), do_submission, str(submission.path))
        except DartboardError as error:
            if not self._accepted:
                submission.withdraw()
                raise
            if tries > 1:
                time.sleep(PAUSE)
                self._submit(job, submission, tries - 1)
                return
            submission.withdraw()
            self._refused.append(Outcome(job, "lost", str(error)))
            return
        self._accepted = True
        submission.number(name)
        self._tasks.append(_Task(job, submission, name))

    def _hear(self) -> list[Outcome]:
        """What is known now of jobs that have ended; they are forgotten."""
        self._batch.look()
        if self._stopping:
            for task in self._tasks:
                task.submission.flag.unlink(missing_ok=True)
        found, self._refused = self._refused, []
        for task in list(self._tasks):
            if (outcome := self._outcome(task)) is not None:
                found.append(outcome)
                self._tasks.remove(task)
        return found

    def _outcome(self, task: _Task) -> Outcome | None:
        """How a job ended; None if it has not."""
        gone = self._batch.is_gone(task.id)  # before the look at the file, which may be written meanwhile
        outcome = task.submission.outcome(task.job)
        if outcome is None and self._stopping and self._is_waiting(task):
            outcome = Outcome(task.job, "stopped")
        elif outcome is None and gone:
            logs = self._logs(task.submission) / f"{task.id}_0_log.err"
            more = f"; see {logs}" if logs.exists() else ""
            outcome = Outcome(task.job, "lost", f"job {task.id}: {self._batch.state(task.id)}{more}")
        if outcome is not None:
            self._withdraw(task.submission, keep=outcome.state in TOLD)
        return outcome

    def _is_waiting(self, task: _Task) -> bool:
        """Whether a job is in the queue still, where it would not see that it is to stop."""
        return not task.submission.has_begun() or self._batch.state(task.id) == "PENDING"

    def _withdraw(self, submission: Submission, *, keep: bool = False) -> None:
        """Removes what there is of a job, but for what its process printed if that is kept."""
        name, over = submission.id, submission.has_ended()
        submission.withdraw()
        if name is not None:
            if not over:
                self._batch.cancel(name)
            self._batch.forget(name, self._logs(submission), keep=keep)

    @staticmethod
    def _logs(submission: Submission) -> Path:
        return submission.path.parents[1] / LOGS


def do_submission(path: str) -> None:
    """Does the job of a submission, unless it was withdrawn; what a machine of the cluster runs."""
    submission = Submission(Path(path))
    if submission.path.is_dir() and submission.begin(find_submitit().JobEnvironment().job_id):
        submission.end(perform(submission.job(), submission.flag, SIGNALS))
