"""What a sweep's directory says about a job that was handed to a queue: it outlives the driver.

    slurm/queue/TOKEN/job.json      the job
    slurm/queue/TOKEN/go            its flag: the job goes on as long as this is there
    slurm/queue/TOKEN/id            what the queue calls it, written when the queue has taken it
    slurm/queue/TOKEN/begun         the same, written by the job itself when it begins
    slurm/queue/TOKEN/outcome.json  how it ended

A submission whose directory is gone is withdrawn: if its job is begun after all it ends at once. So a driver
that was killed just as it handed a job over leaves nothing behind that would be done twice.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from dartboard.errors import RunError
from dartboard.jobs.job import Job, Outcome, State
from dartboard.utils import atomic

QUEUE = "queue"
JOB, FLAG, ID, BEGUN, OUTCOME = "job.json", "go", "id", "begun", "outcome.json"


@dataclass(frozen=True)
class Submission:
    """A job that was handed to a queue, or is about to be.

    Args:
        path: Its directory.
    """

    path: Path

    @classmethod
    def create(cls, folder: Path, job: Job) -> "Submission":
        """A new one, in a folder of such."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / secrets.token_hex(8)
        with atomic.atomic_directory(path) as inside:
            (inside / JOB).write_text(_text(job))
            (inside / FLAG).touch()
        return cls(path)

    @property
    def flag(self) -> Path:
        """The job goes on as long as this file is there."""
        return self.path / FLAG

    @property
    def id(self) -> str | None:
        """What the queue calls it; None if the queue may never have had it."""
        for name in (ID, BEGUN):
            with suppress(FileNotFoundError):
                return (self.path / name).read_text()
        return None

    def job(self) -> Job:
        """What was handed over.

        Raises:
            RunError: If the file is damaged.
        """
        values = self._read(JOB)
        try:
            return Job(**{**values, "plugins": tuple(values["plugins"])})
        except (KeyError, TypeError) as error:
            raise RunError(f"{self.path / JOB} is no job ({error}); it was changed") from None

    def is_of(self, job: Job) -> bool:
        """Whether this very job was handed over."""
        return (self.path / JOB).read_text() == _text(job)

    def number(self, name: str) -> None:
        """Writes down what the queue calls it."""
        atomic.write_text(self.path / ID, name)

    def end(self, outcome: Outcome) -> None:
        """Writes down how the job ended, unless it was withdrawn."""
        text = json.dumps({"state": outcome.state, "error": outcome.error})
        with suppress(FileNotFoundError):
            atomic.write_text(self.path / OUTCOME, text)

    def begin(self, name: str) -> bool:
        """Whether its job is to be done, which is written down; how it ended before is forgotten.

        Args:
            name: What the queue calls it.
        """
        with suppress(FileNotFoundError):
            atomic.write_text(self.path / BEGUN, name)
            (self.path / OUTCOME).unlink(missing_ok=True)
            return True
        return False

    def has_begun(self) -> bool:
        """Whether its job has begun."""
        return (self.path / BEGUN).exists()

    def has_ended(self) -> bool:
        """Whether its job has, and said how."""
        return (self.path / OUTCOME).exists()

    def outcome(self, job: Job) -> Outcome | None:
        """How its job ended; None if that is not written.

        Raises:
            RunError: If the file is damaged.
        """
        if not self.has_ended():
            return None
        values = self._read(OUTCOME)
        if values.get("state") not in get_args(State):
            raise RunError(f"{self.path / OUTCOME} is no outcome; it was changed")
        return Outcome(job, values["state"], str(values.get("error", "")))

    def withdraw(self) -> None:
        """Removes it: a job that has not begun never will, and one that is under way stops."""
        with suppress(FileNotFoundError):
            atomic.discard(self.path)

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            found = json.loads(path.read_bytes())
        except ValueError as error:
            raise RunError(f"{path} is not JSON ({error}); it was changed") from None
        if not isinstance(found, dict):
            raise RunError(f"{path} should hold names and values; it was changed")
        return found


def list_submissions(folder: Path) -> Iterator[Submission]:
    """Those in a folder."""
    if folder.is_dir():
        atomic.remove_leftovers(folder)
        yield from (Submission(path) for path in sorted(folder.iterdir()))


def _text(job: Job) -> str:
    return json.dumps(asdict(job), indent=1, sort_keys=True) + "\n"
