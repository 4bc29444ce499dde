"""Jobs in processes that are controlled through a shared directory alone.

A job runs as long as its flag exists: a small file that all machines see. Removing the flag makes the job
save its state and stop, on whatever machine it runs.
"""

import socket
from collections.abc import Sequence
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
    runner, over = JobRunner(), Event()

    def poll() -> None:
        while not over.wait(POLL):
            if not flag.exists():
                runner.stop()
                return

    thread = Thread(target=poll, daemon=True)
    thread.start()
    try:
        with handling(signals, lambda _: runner.stop()) as caught:
            result = runner.run(job)
    finally:
        over.set()
        thread.join()
    if result.state == "stopped" and caught and flag.exists():
        error = f"its machine asked it to go, with {caught[0].name}; its state is saved"
        return JobResult(job, "lost", error)
    return result
