"""What an executor is given to do, and what it says came of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

State = Literal["finished", "paused", "stopped", "busy", "failed", "lost"]
"""How a job can end.

finished: the run has its result. paused: it has gone as many epochs as the job asked for. stopped: somebody
asked it to stop, and its state is saved. busy: another process holds the run. failed: it raised an error.
lost: its process or machine is gone; the run goes on from its last checkpoint when the job is begun again.
"""


@dataclass(frozen=True)
class Job:
    """A search or a training to be done in a run of its own; travels between processes and machines.

    Args:
        name: The directory of the run inside the sweep's, such as `search/darts-s0`.
        folder: The directory of the sweep, which all machines see under this path.
        kind: `search` or `train`.
        config: The configuration of the run, resolved, as plain values.
        until: Pause after so many epochs; None goes on to the end.
        threads: Torch's, on a CPU, for a run that is new; one that goes on keeps its own.
        device: Where to compute; None for a GPU if there is one, else the CPU.
        plugins: Python files to load first.
        test: Whether test images may be measured on; not in trainings that networks are chosen by.
        fall_back: Whether an older checkpoint will do where the last is damaged.
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

    @property
    def path(self) -> Path:
        """The directory of the run."""
        return Path(self.folder) / self.name


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Args:
        job: Which.
        state: In what way.
        error: What went wrong, in one line; empty if nothing did.
    """

    job: Job
    state: State
    error: str = ""
