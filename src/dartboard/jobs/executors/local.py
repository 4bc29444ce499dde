"""The executors of this machine: jobs run in this process, one after the other, or in a pool of processes."""

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from pydantic import Field

from dartboard.config.schema import Count, Options
from dartboard.engine.hooks import LoopHook
from dartboard.engine.process import find_device
from dartboard.jobs.executors import EXECUTORS, parse_options, with_defaults
from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.runner import JobRunner
from dartboard.utils.processes import WorkerPool, cpu_count

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
KILLED = -9
"""Exit code of a process that SIGKILL ended, which Windows does not have."""


class InlineOptions(Options):
    """What this process computes with."""

    threads: Count | None = Field(
        default=None, description="threads of new runs on CPUs; by default torch's own choice"
    )
    device: str | None = Field(
        default=None, description="where to compute; by default a GPU if there is one, else the CPU"
    )


class _Poll(LoopHook[Any, Any, Any]):
    """Calls a function after every epoch."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function

    def on_epoch_end(self, loop: Any, record: Any) -> None:  # noqa: ARG002
        self._function()


@EXECUTORS.register("here")
class InlineExecutor:
    """Runs jobs in this process.

    Args:
        runner: Runs them; by default a new one.
        options: See `InlineOptions`.
    """

    capacity = 1

    def __init__(self, runner: JobRunner | None = None, **options: Any) -> None:
        self._options = self.check(options)
        self._runner = runner or JobRunner()
        self._jobs: deque[Job] = deque()

    def on_epoch(self, function: Callable[[], None]) -> None:
        """Has a function called after every epoch: `completed` returns only when a job has ended."""
        self._runner.hooks += (_Poll(function),)

    @staticmethod
    def check(options: Mapping[str, Any]) -> InlineOptions:
        """Parsed options; raises a DartboardError if they cannot be used."""
        parsed = parse_options(InlineOptions, options)
        find_device(parsed.device)  # fail fast on a device that is not there
        return parsed

    def submit(self, job: Job) -> None:
        """Accepts a job, which runs when results are asked for."""
        self._jobs.append(job)

    def completed(self, seconds: float) -> Sequence[JobResult]:  # noqa: ARG002  # a job takes as long as it takes
        """Runs the next job."""
        if not self._jobs:
            return []
        job, options = self._jobs.popleft(), self._options
        result = self._runner.run(with_defaults(job, threads=options.threads, device=options.device))
        return [replace(result, job=job)]

    def stop(self) -> None:
        """Asks the job to save its state after the current step and to stop."""
        self._runner.stop()

    def close(self) -> None:
        """Nothing outlives this process."""


class PoolOptions(Options):
    """Number of processes, and what each computes with."""

    jobs: Count | None = Field(
        default=None, description="runs at a time; by default one per GPU, or as many as there are cores"
    )
    threads: Count | None = Field(
        default=None, description="threads of new runs on CPUs; by default the cores are divided among them"
    )
    device: str | None = Field(
        default=None, description="where to compute; by default GPUs if there are any, else the CPU"
    )


def divide_machine(options: PoolOptions, gpus: Sequence[str], cores: int) -> tuple[list[str | None], int]:
    """For each process the GPU that it sees (None for all, or none needed), and the threads of each."""
    on_gpus = bool(gpus) and options.device in (None, "cuda")
    count = options.jobs or (len(gpus) if on_gpus else max(cores // (options.threads or 1), 1))
    assigned = [gpus[slot % len(gpus)] if on_gpus else None for slot in range(count)]
    return assigned, options.threads or max(cores // count, 1)


def make_runner(gpu: str | None) -> JobRunner:
    """The runner of a worker process, which sees one GPU, or all if None."""
    if gpu is not None:
        os.environ[VISIBLE_DEVICES] = gpu  # before torch looks for GPUs
    return JobRunner()


@EXECUTORS.register("pool")
class PoolExecutor:
    """Runs jobs in worker processes that end with this one; they are started when needed, and used again.

    Args:
        options: See `PoolOptions`.
    """

    def __init__(self, **options: Any) -> None:
        self._options = self.check(options)
        names = [name.strip() for name in os.environ.get(VISIBLE_DEVICES, "").split(",") if name.strip()]
        count = torch.cuda.device_count()
        visible = (names or [str(index) for index in range(count)])[:count]
        self.gpus, self.threads = divide_machine(self._options, visible, cpu_count())
        self.capacity = len(self.gpus)
        self._pool: WorkerPool[Job, JobResult] = WorkerPool([partial(make_runner, gpu) for gpu in self.gpus])
        self._jobs: dict[str, Job] = {}
        self._stopping = self._stop_sent = False

    @staticmethod
    def check(options: Mapping[str, Any]) -> PoolOptions:
        """Parsed options; raises a DartboardError if they cannot be used."""
        parsed = parse_options(PoolOptions, options)
        find_device(parsed.device)  # fail fast on a device that is not there
        return parsed

    def submit(self, job: Job) -> None:
        """Gives a job to an idle worker."""
        self._jobs[job.name] = job
        self._pool.submit(with_defaults(job, threads=self.threads, device=self._options.device))

    def completed(self, seconds: float) -> Sequence[JobResult]:
        """Results of the jobs that have ended since the last call; waits at most so long for the first."""
        if self._stopping and not self._stop_sent:  # not in `stop`: a signal may arrive during a send
            self._stop_sent = True
            self._pool.stop()
        results = []
        for done in self._pool.completed(seconds):
            job = self._jobs.pop(done.job.name)
            if done.result is not None:
                result = JobResult(job, done.result.state, done.result.error, done.result.error_type)
            elif done.exit_code == KILLED:
                result = JobResult(job, "lost", "its process was killed; if memory ran out, use fewer jobs")
            else:
                result = JobResult(job, "lost", f"its process ended with code {done.exit_code}")
            results.append(result)
        return results

    def stop(self) -> None:
        """Asks all jobs to save their state after the current step and to stop; for signal handlers."""
        self._stopping = True

    def close(self) -> None:
        """Ends all workers, at once those that are busy."""
        self._pool.close()
