"""A job: a description of work whose result is a run directory. Its result, and callbacks for both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

State = Literal["finished", "paused", "stopped", "busy", "failed", "lost"]
"""How a job can end.

finished: the run has its result. paused: it has trained as many epochs as the job asked for. stopped: it was
asked to stop, and its state is saved. busy: another process holds the run. failed: it raised an error.
lost: its process or machine is gone; the run goes on from its last checkpoint when the job runs again.
"""


@dataclass(frozen=True)
class Job:
    """A search or a training in a run of its own; travels between processes and machines.

    Args:
        name: Directory of the run inside `folder`, such as `search/darts-s0`.
        folder: Directory of all jobs of a client, which all machines see under this path.
        kind: What to do: `search`, `train`, or another of `dartboard.jobs.runner.KINDS`.
        config: Configuration of the run, resolved, as plain values.
        until: Number of epochs after which to pause; None runs to the end.
        threads: Torch threads on a CPU, for a new run; one that is resumed keeps its own.
        device: Where to compute; None for a GPU if there is one, else the CPU.
        plugins: Python files to load first.
        test: Whether test images may be measured on; not in trainings by which networks are selected.
        fall_back: Whether an older checkpoint will do where the last is damaged.
        space: JSON of the space, in the place of the one that `config` names; empty for that one.
        same_images: Whether all jobs of the folder that name the same images must see the same.
        options: Further options of the kind, as plain values.
    """

    name: str
    folder: str
    kind: str
    config: dict[str, Any]
    until: int | None = None
    threads: int | None = None
    device: str | None = None
    plugins: tuple[str, ...] = ()
    test: bool = True
    fall_back: bool = False
    space: str = ""
    same_images: bool = False
    options: dict[str, Any] | None = None

    @property
    def path(self) -> Path:
        """Directory of the run."""
        return Path(self.folder) / self.name


@dataclass(frozen=True)
class JobResult:
    """How a job ended.

    Args:
        job: The job.
        state: How it ended.
        error: What went wrong, in one line; empty if nothing did.
        error_type: Class of the error, such as `DivergedError`; empty if there was none.
    """

    job: Job
    state: State
    error: str = ""
    error_type: str = ""


class Monitor:
    """Callbacks for what happens to jobs; a base class of no-ops."""

    def on_stage(self, name: str, runs: Sequence[str]) -> None:
        """When a stage begins, with the names of its runs, finished ones among them."""

    def on_start(self, job: Job) -> None:
        """When a job is submitted, or submitted again."""

    def on_end(self, result: JobResult, again: bool) -> None:
        """When a job has ended; `again` says whether it will be submitted again."""

    def on_row(self, row: Mapping[str, Any]) -> None:
        """When a run of a sweep is over for good, with its row of the results."""

    def on_poll(self, running: Sequence[Job]) -> None:
        """Several times a second, with the jobs that are running."""

    def message(self, text: str) -> None:
        """When something is decided."""
