"""The job runner: runs jobs in this process, one after the other, and reports how each ended."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from dartboard.engine.hooks import AnyHook
from dartboard.engine.process import is_out_of_memory, mute_warnings
from dartboard.errors import DartboardError, RunInUseError, one_line
from dartboard.jobs.job import Job, JobResult, State
from dartboard.plugins import load_plugin
from dartboard.registry import Registry
from dartboard.runs.directory import LOG

if TYPE_CHECKING:
    import torch

    from dartboard.jobs.loops import LoopBuilder

OUT_OF_MEMORY = "out of memory; use a smaller net.channels or batch, or fewer jobs at a time"


class JobKind(Protocol):
    """How the jobs of a kind are run."""

    @staticmethod
    def status(job: Job) -> State | None:
        """`finished` or `paused` if nothing is left to do, else None; raises if the job cannot be run."""
        ...

    @staticmethod
    def run(job: Job, runner: "JobRunner") -> State:
        """Runs a job from where it was; raises what goes wrong."""
        ...


KINDS: Registry[type[JobKind]] = Registry("kind of job")
MODULES = {
    "search": "dartboard.jobs.loops",
    "train": "dartboard.jobs.loops",
    "scored-search": "dartboard.scoreboard.scored_search",
    "benchmark-training": "dartboard.scoreboard.exhaustive",
}
"""By kind, the module that registers it, imported when the first such job is met."""


def kind_of(job: Job) -> type[JobKind]:
    """The kind of a job.

    Raises:
        UnknownNameError: If there is none of this name.
    """
    if job.kind in MODULES:
        import_module(MODULES[job.kind])
    return KINDS[job.kind]


class JobRunner:
    """Runs jobs; images that several have in common are loaded once.

    Args:
        hooks: Hooks of every loop.
        builder: Builds loops, if another one shares its images with this runner.
    """

    def __init__(self, hooks: Sequence[AnyHook] = (), *, builder: "LoopBuilder | None" = None) -> None:
        self.hooks: tuple[AnyHook, ...] = tuple(hooks)
        self.stopping = False
        self._stop_current: Callable[[], None] | None = None
        self._builder = builder

    def builder(self, device: "torch.device") -> "LoopBuilder":
        """Builds loops on a device; the same one as long as the device is the same."""
        from dartboard.jobs.loops import LoopBuilder

        if self._builder is None or self._builder.device != device:
            self._builder = LoopBuilder(device)
        return self._builder

    def stop(self) -> None:
        """Asks the current job to save its state after the current step and to stop; for signal handlers."""
        self.stopping = True
        if self._stop_current is not None:
            self._stop_current()

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Iterator[None]:
        """Inside, a request to stop calls `stop`; at once if it came earlier."""
        self._stop_current = stop
        if self.stopping:
            stop()
        try:
            yield
        finally:
            self._stop_current = None

    def run(self, job: Job) -> JobResult:
        """Runs a job and reports how it ended; raises nothing that a job can bring about.

        The traceback of an unexpected error is in the log of its run.
        """
        try:
            with mute_warnings():
                for path in job.plugins:
                    load_plugin(path)
                kind = kind_of(job)
                done = kind.status(job)
                if done is not None or self.stopping:
                    return JobResult(job, done or "stopped")
                return JobResult(job, kind.run(job, self))
        except RunInUseError as error:
            return JobResult(job, "busy", str(error))
        except (DartboardError, OSError) as error:
            return JobResult(job, "failed", one_line(error), type(error).__name__)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises
            name, message, file = type(error).__name__, one_line(error), job.path / LOG
            if is_out_of_memory(error):
                message = OUT_OF_MEMORY
            else:
                message = name if message == name else f"{name}: {message}"
                message += f"; see {file}" if file.is_file() else ""
            return JobResult(job, "failed", message, name)
