"""Jobs in processes that are controlled through a shared directory alone.

A job runs as long as its flag exists: a small file that all machines see. Removing the flag makes the job
save its state and stop, on whatever machine it runs.
"""

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import Signals
from threading import Event, Thread

from dartboard.jobs.job import Job, JobResult
from dartboard.jobs.runner import JobRunner
from dartboard.utils.processes import handling

POLL = 0.5
"""Seconds between two checks of the flag."""


def run_flagged(job: Job, flag: Path, signals: Sequence[Signals] = ()) -> JobResult:
    """Runs a job in this process as long as its flag exists.

    Args:
        job: The job.
        flag: The file.
        signals: What the machine sends when the job has to go: it saves its state, and counts as lost.
    """
    if not flag.parent.is_dir():
        error = f"{socket.gethostname()} does not see {flag.parent}"
        return JobResult(job, "failed", f"{error}; put the sweep in a directory that all machines share")
    if not flag.exists():
        return JobResult(job, "stopped")
    runner = JobRunner()
    with _stop_without(flag, runner), handling(signals, lambda _: runner.stop()) as caught:
        result = runner.run(job)
    if result.state == "stopped" and caught and flag.exists():
        return JobResult(
            job, "lost", f"its machine asked it to go, with {caught[0].name}; its state is saved"
        )
    return result


@contextmanager
def _stop_without(flag: Path, runner: JobRunner) -> Iterator[None]:
    """Inside, the runner is stopped when the flag is removed."""
    over = Event()

    def poll() -> None:
        while not over.wait(POLL):
            if not flag.exists():
                runner.stop()
                return

    thread = Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
