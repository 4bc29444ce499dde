"""Jobs, done one after the other in this process; whatever comes of one is said, nothing is raised."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from dartboard.engine.memory import is_out_of_memory
from dartboard.engine.rng_scope import logged, unheard
from dartboard.errors import DartboardError, RunError, RunInUseError, Stopped, one_line
from dartboard.jobs.device import find_device, machine_of
from dartboard.jobs.images import check_images
from dartboard.jobs.inner import AnyLoop, Pause
from dartboard.jobs.job import Job, Outcome, State
from dartboard.jobs.loops import Maker, filled
from dartboard.plugins import load_plugin
from dartboard.runs import SPACE, Run, RunReader, flat, is_run
from dartboard.runs.directory import LOG
from dartboard.search import Searcher
from dartboard.search.hooks import AnyHook, LoopHook
from dartboard.space import load_space
from dartboard.train import Trainer
from dartboard.utils.parallel import using_threads

log = logging.getLogger(__name__)

OUT_OF_MEMORY = "out of memory; use a smaller net.channels or batch, or fewer jobs at a time"


def work(job: Job, asked: Callable[[], bool] | None = None) -> Outcome:
    """What comes of a job that is done here and now.

    Args:
        job: A search or a training.
        asked: Is asked after every step whether to save and stop; None never stops it.
    """
    return Desk(asked).attempt(job)


class Desk:
    """Does jobs; images that several have in common are loaded once.

    Args:
        asked: Is asked after every step whether to save and stop.
    """

    def __init__(self, asked: Callable[[], bool] | None = None) -> None:
        self._hooks: tuple[AnyHook, ...] = () if asked is None else (_Asking(self, asked),)
        self._maker: Maker | None = None
        self._loop: AnyLoop | None = None
        self._stopping = False

    def stop(self) -> None:
        """Asks to save the state after the current step and to stop; for signal handlers."""
        self._stopping = True
        if self._loop is not None:
            self._loop.stop()

    def attempt(self, job: Job) -> Outcome:
        """What comes of a job; what somebody else's code raises is in the log of its run as a whole."""
        try:
            with unheard():
                return Outcome(job, self._do(job))
        except RunInUseError as error:
            return Outcome(job, "busy", str(error))
        except (DartboardError, OSError) as error:
            return Outcome(job, "failed", one_line(error))
        except Exception as error:  # noqa: BLE001  # whatever somebody else's code raises
            words = OUT_OF_MEMORY if is_out_of_memory(error) else _unexpected(job, error)
            return Outcome(job, "failed", words)

    def _do(self, job: Job) -> State:
        for path in job.plugins:
            load_plugin(path)
        found = standing(job)
        if found is not None or self._stopping:
            return found or "stopped"
        device, threads = machine_of(job)
        with using_threads(threads):
            return self._fit(job, find_device(device))

    def _fit(self, job: Job, device: torch.device) -> State:
        with _reopened(job, device) as run:
            loop = self._make(job, device)
            if run is not None:
                return self._run(job, loop, run)  # its state says which images it saw
        check_images(job, loop.data)
        with Run.create(job.path, job.config, space=loop.space, device=str(device)) as run:
            return self._run(job, loop, run)

    def _make(self, job: Job, device: torch.device) -> Searcher | Trainer:
        if self._maker is None or self._maker.device != device:
            self._maker = Maker(device)
        recorded = job.path / SPACE
        space = load_space(recorded) if is_run(job.path) and recorded.is_file() else None
        hooks: Sequence[AnyHook] = self._hooks
        if job.until is not None and job.until < job.config["epochs"]:
            hooks = (*hooks, Pause(job.until))
        return self._maker.make(job.kind, job.config, hooks, space=space, test=job.test)

    def _run(self, job: Job, loop: AnyLoop, run: Run) -> State:
        loop.run, self._loop = run, loop
        if self._stopping:  # it may have come before there was a loop to tell
            loop.stop()
        try:
            loop.fit(fall_back=job.fall_back)
        except Stopped:
            return "stopped" if self._stopping else _paused(job, loop.epoch)
        except Exception:
            with logged(run):
                log.exception("%s failed", job.name)
            raise
        finally:
            self._loop = None
        return "finished"


def _unexpected(job: Job, error: Exception) -> str:
    """What somebody else's code raised, and where more is said of it."""
    kind, said, file = type(error).__name__, one_line(error), job.path / LOG
    words = kind if said == kind else f"{kind}: {said}"
    return f"{words}; see {file}" if file.is_file() else words


def _paused(job: Job, epochs: int) -> State:
    """That a loop which was stopped by none of us has come as far as it should.

    Raises:
        RunError: If it has not.
    """
    if job.until is not None and epochs >= job.until:
        return "paused"
    raise RunError(f"{job.path} stopped by itself after {epochs} epochs; does one of its hooks stop it?")


class _Asking(LoopHook[Any, Any, Any]):
    """Asks after every step whether to stop."""

    def __init__(self, desk: Desk, asked: Callable[[], bool]) -> None:
        self._desk, self._asked = desk, asked

    def on_step_end(self, loop: Any) -> None:  # noqa: ARG002
        if self._asked():
            self._desk.stop()


def standing(job: Job) -> State | None:
    """`finished` or `paused` if nothing is left to do; None if something is.

    Raises:
        RunError: If the run is there with other settings; names them.
    """
    if not is_run(job.path):
        return None
    run = RunReader.read(job.path)
    check_same(job, run)
    if run.result() is not None:
        return "finished"
    return "paused" if job.until is not None and len(run.metrics()) >= job.until else None


def check_same(job: Job, run: RunReader) -> None:
    """Refuses a run with other settings than the job's.

    Raises:
        RunError: Names them.
    """
    if run.config == job.config:
        return
    try:
        before = flat(filled(job.kind, run.config))
    except DartboardError as error:
        raise RunError(f"{run.path} is a run of something else: {error}") from None
    now = flat(job.config)
    names = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    if names:
        words = ", ".join(f"{name} was {before.get(name)}, is {now.get(name)}" for name in names)
        raise RunError(f"{run.path} is a run with other settings: {words}; move it away, or use another DIR")


def _reopened(job: Job, device: torch.device) -> AbstractContextManager[Run | None]:
    """The run of a job that was begun before, to go on with; None for one that is new."""
    return Run.resume(job.path, device=str(device)) if is_run(job.path) else nullcontext()
