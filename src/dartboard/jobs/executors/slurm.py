"""Jobs on a Slurm cluster, handed to its queue with submitit.

What is in the queue outlives the client: all that is known of it is in the client's directory, and the next
client adopts it. A job whose time is up, or that has to go for another one, saves its state and is handed
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
from dartboard.jobs.executors import EXECUTORS, parse_options, with_defaults
from dartboard.jobs.executors._remote import QUEUE, Submission, list_submissions, run_flagged
from dartboard.jobs.executors._submitit_queue import SubmititQueue, find_submitit
from dartboard.jobs.job import Job, JobResult

FOLDER, LOGS = "slurm", "logs"
SUBMITIT_PREFIX = "slurm_"
"""Prefix of options that are passed to submitit as they are."""
POLL = 0.2
"""Seconds between two checks whether a job has ended."""
TRIES, PAUSE = 3, 5.0
"""How often a job is submitted that the queue refuses, and the seconds in between."""
LOGS_KEPT = ("failed", "lost")
"""States of jobs whose output is kept."""
SIGNALS = (Signals.SIGUSR2, Signals.SIGTERM)
"""What Slurm sends when time is up, or a job has to go."""


class SlurmOptions(Options):
    """What each run asks Slurm for."""

    partition: str | None = Field(default=None, description="the partition; by default the cluster's own")
    account: str | None = Field(
        default=None, description="account that is charged; by default the cluster's own"
    )
    time: Count = Field(
        default=240,
        description="time limit of a job in minutes; a run that takes longer resumes in another job",
    )
    cpus: Count = Field(default=1, description="cores of each run")
    gpus: int = Field(default=0, ge=0, description="GPUs of each run")
    memory: float | None = Field(
        default=None, gt=0, description="GB of each run; by default the cluster's own"
    )
    setup: tuple[str, ...] = Field(default=(), description="shell commands to run before each job")
    cluster: Literal["slurm", "local", "debug"] = Field(
        default="slurm",
        description="slurm; for trying things out: local (processes of this machine) or debug (the driver)",
    )
    jobs: Count = Field(default=64, description="runs that are in the queue at a time")
    poll: float = Field(default=30.0, ge=0, description="seconds between two calls of sacct")
    threads: Count | None = Field(default=None, description="threads of new runs on CPUs; by default cpus")
    device: str | None = Field(
        default=None, description="where to compute; by default a GPU that Slurm gives, else the CPU"
    )


@dataclass(frozen=True)
class _QueuedJob:
    """A job that is in the queue, with its submission."""

    job: Job
    submission: Submission
    id: str


@EXECUTORS.register("slurm")
class SlurmExecutor:
    """Runs jobs on a Slurm cluster, whose machines all see the directory of the sweep.

    Args:
        options: What each run asks for; see `SlurmOptions`. Those that begin with `slurm_`, such as
            `slurm_qos`, go to submitit as they are.

    Raises:
        DartboardError: If submitit is not installed, or there is no Slurm here.
    """

    def __init__(self, **options: Any) -> None:
        parsed = self._options = self.check(options)
        parameters: dict[str, Any] = {
            "name": "dartboard",
            "timeout_min": parsed.time,
            "cpus_per_task": parsed.cpus,
            "gpus_per_node": parsed.gpus or None,
            "mem_gb": parsed.memory,
            "slurm_partition": parsed.partition,
            "slurm_account": parsed.account,
            f"{parsed.cluster}_setup": list(parsed.setup) or None,
        }
        extra = {name: value for name, value in options.items() if name.startswith(SUBMITIT_PREFIX)}
        self._queue = SubmititQueue(parsed.cluster, parameters | extra, parsed.poll)
        self.capacity = parsed.jobs
        self._folder: Path | None = None
        self._earlier: dict[str, Submission] = {}
        self._tasks: list[_QueuedJob] = []
        self._refused: list[JobResult] = []
        self._accepted = self._stopping = False

    @staticmethod
    def check(options: Mapping[str, Any]) -> SlurmOptions:
        """Parsed options, but for submitit's own; raises a DartboardError if they cannot be used."""
        values = {name: value for name, value in options.items() if not name.startswith(SUBMITIT_PREFIX)}
        return parse_options(SlurmOptions, values)

    def submit(self, job: Job) -> None:
        """Submits a job to the queue, unless an earlier client has and it is still there.

        Raises:
            DartboardError: If the queue refuses the first that it is given.
        """
        if self._folder is None:
            self._folder = Path(job.folder) / FOLDER
            (self._folder / LOGS).mkdir(parents=True, exist_ok=True)
            for submission in list_submissions(self._folder / QUEUE):  # that an earlier client left
                self._earlier[submission.job().name] = submission
                if submission.id is not None:
                    self._queue.adopt(self._folder / LOGS, submission.id)
        options = self._options
        full_job = with_defaults(job, threads=options.threads or options.cpus, device=options.device)
        earlier = self._earlier.pop(job.name, None)
        if earlier is not None and (id_ := earlier.id) is not None and earlier.is_of(full_job):
            self._tasks.append(_QueuedJob(job, earlier, id_))
            return
        if earlier is not None:
            self._withdraw(earlier)
        self._submit(job, Submission.create(self._folder / QUEUE, full_job))

    def completed(self, seconds: float) -> Sequence[JobResult]:
        """Results of the jobs that have ended, or that the queue reports as gone."""
        until = time.monotonic() + seconds
        while not (results := self._collect()) and time.monotonic() < until:
            time.sleep(min(POLL, max(0.0, until - time.monotonic())))
        return results

    def stop(self) -> None:
        """Has the flags of all jobs removed at the next call of `completed`; for signal handlers."""
        self._stopping = True

    def close(self) -> None:
        """Cancels all jobs that wait or run, those that an earlier client left too."""
        for task in self._tasks:
            self._withdraw(task.submission)
        for submission in self._earlier.values():
            self._withdraw(submission)
        self._tasks, self._earlier = [], {}

    def _submit(self, job: Job, submission: Submission, tries: int = TRIES) -> None:
        """Submits a job; one that the queue refuses is lost, unless the queue has never accepted any."""
        try:
            name = self._queue.submit(self._logs(submission), run_submission, str(submission.path))
        except DartboardError as error:
            if not self._accepted:
                submission.withdraw()
                raise
            if tries > 1:
                time.sleep(PAUSE)
                self._submit(job, submission, tries - 1)
                return
            submission.withdraw()
            self._refused.append(JobResult(job, "lost", str(error)))
            return
        self._accepted = True
        submission.record_id(name)
        self._tasks.append(_QueuedJob(job, submission, name))

    def _collect(self) -> list[JobResult]:
        """Results of the jobs that have ended since the last call."""
        self._queue.update()
        if self._stopping:
            for task in self._tasks:
                task.submission.flag.unlink(missing_ok=True)
        results, self._refused = self._refused, []
        for task in list(self._tasks):
            if (result := self._result(task)) is not None:
                results.append(result)
                self._tasks.remove(task)
        return results

    def _result(self, task: _QueuedJob) -> JobResult | None:
        """Result of a job; None if it has not ended."""
        gone = self._queue.is_gone(task.id)  # before the file is read, which may be written meanwhile
        result = task.submission.result(task.job)
        # one that still waits in the queue does not notice that it should stop
        waits = self._stopping and (
            not task.submission.has_begun() or self._queue.state(task.id) == "PENDING"
        )
        if result is None and waits:
            result = JobResult(task.job, "stopped")
        elif result is None and gone:
            logs = self._logs(task.submission) / f"{task.id}_0_log.err"
            more = f"; see {logs}" if logs.exists() else ""
            result = JobResult(task.job, "lost", f"job {task.id}: {self._queue.state(task.id)}{more}")
        if result is not None:
            self._withdraw(task.submission, keep_logs=result.state in LOGS_KEPT)
        return result

    def _withdraw(self, submission: Submission, *, keep_logs: bool = False) -> None:
        """Removes a submission and cancels its job; its output stays if `keep_logs`."""
        name, ended = submission.id, submission.has_ended()
        submission.withdraw()
        if name is not None:
            if not ended:
                self._queue.cancel(name)
            self._queue.forget(name, self._logs(submission), keep_logs=keep_logs)

    @staticmethod
    def _logs(submission: Submission) -> Path:
        return submission.path.parents[1] / LOGS


def run_submission(path: str) -> None:
    """Runs the job of a submission, unless it was withdrawn; called on a machine of the cluster."""
    submission = Submission(Path(path))
    if submission.path.is_dir() and submission.begin(find_submitit().JobEnvironment().job_id):
        submission.end(run_flagged(submission.job(), submission.flag, SIGNALS))
