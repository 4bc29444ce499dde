"""Jobs in processes that are controlled through a shared directory alone.

A job runs as long as its flag exists: a small file that all machines see. Removing the flag makes the job
save its state and stop, on whatever machine it runs.

A job that was submitted to a queue outlives its client, which keeps it in files:

    slurm/queue/TOKEN/job.json      the job
    slurm/queue/TOKEN/go            its flag: the job runs as long as this exists
    slurm/queue/TOKEN/id            its name in the queue, written when the queue has accepted it
    slurm/queue/TOKEN/begun         the same, written by the job itself when it starts
    slurm/queue/TOKEN/outcome.json  how it ended

A submission whose directory is gone is withdrawn: if its job starts after all it ends at once. So a client
that was killed while it submitted a job leaves nothing behind that would run twice.
"""

import json
import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from signal import Signals
from threading import Event, Thread
from typing import Any, get_args

from dartboard.errors import RunError
from dartboard.jobs.job import Job, JobResult, State
from dartboard.jobs.runner import JobRunner
from dartboard.utils import atomic
from dartboard.utils.processes import handling
from dartboard.utils.safe_files import read_file

POLL = 0.5
"""Seconds between two checks of the flag."""
QUEUE = "queue"
JOB, FLAG, ID, BEGUN, OUTCOME = "job.json", "go", "id", "begun", "outcome.json"


def run_flagged(job: Job, flag: Path, signals: Sequence[Signals] = ()) -> JobResult:
    """Runs a job in this process as long as its flag exists.

    `signals` are what the machine sends when the job has to go: it saves its state, and counts as lost.
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


@dataclass(frozen=True)
class Submission:
    """A job that was submitted to a queue, or is about to be, in a directory of its own."""

    path: Path

    @classmethod
    def create(cls, folder: Path, job: Job) -> "Submission":
        """A new submission in a folder of submissions."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / secrets.token_hex(8)
        with atomic.atomic_directory(path) as directory:
            (directory / JOB).write_text(_text(job))
            (directory / FLAG).touch()
        return cls(path)

    @property
    def flag(self) -> Path:
        """The job runs as long as this file exists."""
        return self.path / FLAG

    @property
    def id(self) -> str | None:
        """Name in the queue; None if the queue may never have accepted it."""
        for name in (ID, BEGUN):
            with suppress(FileNotFoundError):
                return _read(self.path / name).decode()
        return None

    def job(self) -> Job:
        """The job that was submitted.

        Raises:
            RunError: If the file is damaged.
        """
        values = self._read(JOB)
        try:
            return Job(**{**values, "plugins": tuple(values["plugins"])})
        except (KeyError, TypeError) as error:
            raise RunError(f"{self.path / JOB} is not a job ({error}); it was changed") from None

    def is_of(self, job: Job) -> bool:
        """Whether exactly this job was submitted."""
        return _read(self.path / JOB) == _text(job).encode()

    def record_id(self, name: str) -> None:
        """Records its name in the queue."""
        atomic.write_text(self.path / ID, name)

    def end(self, result: JobResult) -> None:
        """Records how the job ended, unless it was withdrawn."""
        text = json.dumps({"state": result.state, "error": result.error, "error_type": result.error_type})
        with suppress(FileNotFoundError):
            atomic.write_text(self.path / OUTCOME, text)

    def begin(self, name: str) -> bool:
        """Records the name in the queue of a job that starts; False if it was withdrawn.

        An earlier result is removed.
        """
        with suppress(FileNotFoundError):
            atomic.write_text(self.path / BEGUN, name)
            (self.path / OUTCOME).unlink(missing_ok=True)
            return True
        return False

    def has_begun(self) -> bool:
        """Whether the job has started."""
        return (self.path / BEGUN).exists()

    def has_ended(self) -> bool:
        """Whether the job has ended and recorded how."""
        return (self.path / OUTCOME).exists()

    def result(self, job: Job) -> JobResult | None:
        """How the job ended; None if that is not recorded.

        Raises:
            RunError: If the file is damaged.
        """
        if not self.has_ended():
            return None
        values = self._read(OUTCOME)
        if values.get("state") not in get_args(State):
            raise RunError(f"{self.path / OUTCOME} is not an outcome; it was changed")
        error, error_type = str(values.get("error", "")), str(values.get("error_type", ""))
        return JobResult(job, values["state"], error, error_type)

    def withdraw(self) -> None:
        """Removes it: a job that has not started never will, and one that runs stops."""
        with suppress(FileNotFoundError):
            atomic.discard(self.path)

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            values = json.loads(_read(path))
        except (ValueError, RecursionError) as error:
            raise RunError(f"{path} is not JSON ({error}); it was changed") from None
        if not isinstance(values, dict):
            raise RunError(f"{path} should hold names and values; it was changed")
        return values


def list_submissions(folder: Path) -> Iterator[Submission]:
    """The submissions in a folder."""
    if folder.is_dir():
        atomic.remove_leftovers(folder)
        yield from (Submission(path) for path in sorted(folder.iterdir()))


def _read(path: Path) -> bytes:
    return read_file(path, root=path.parent)


def _text(job: Job) -> str:
    return json.dumps(asdict(job), indent=1, sort_keys=True) + "\n"
