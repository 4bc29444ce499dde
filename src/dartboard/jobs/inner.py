"""Runs inside a run: searches and trainings that are made, gone on with, paused and kept when finished."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from dartboard.engine.loop import Loop
from dartboard.errors import Stopped
from dartboard.runs import Run, is_run
from dartboard.search.hooks import AnyHook, LoopHook
from dartboard.space.spec import SearchSpace

AnyLoop = Loop[Any, Any]


class Pause(LoopHook[AnyLoop, Any, Any]):
    """Stops a search or a training after an epoch; the state is saved.

    Args:
        epochs: After so many.
    """

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def on_epoch_end(self, loop: AnyLoop, record: Any) -> None:  # noqa: ARG002
        if loop.epoch == self.epochs:
            loop.stop()


@dataclass(frozen=True)
class Job:
    """A search or a training, ready to be made.

    Args:
        name: Its directory inside the protocol's.
        config: Its configuration, as plain values.
        space: What its run records as its space.
        make: Makes the loop that does it, with the hooks given and without a run.
    """

    name: str
    config: dict[str, Any]
    space: SearchSpace
    make: Callable[[Sequence[AnyHook]], AnyLoop]


@dataclass
class Inner:
    """Does jobs, one after the other, each in a run of its own.

    Args:
        folder: The directory that the runs are in.
        device: Where they compute, for environment.json.
        hooks: Of every loop.
        fall_back: Whether an older checkpoint will do where the last is damaged.
    """

    folder: Path
    device: torch.device
    hooks: Sequence[AnyHook] = ()
    fall_back: bool = False
    _loop: AnyLoop | None = field(default=None, init=False)
    _stopping: bool = field(default=False, init=False)

    def stop(self) -> None:
        """Asks to save the state after the current step and to stop; for signal handlers."""
        self._stopping = True
        if self._loop is not None:
            self._loop.stop()

    def finish(self, job: Job) -> Run:
        """The run of a job, which is done to its end unless it was before; to look at.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
        """
        path = self.folder / job.name
        if not is_run(path) or Run.read(path).result() is None:
            self._do(job, ())
        return Run.read(path)

    def begin(self, job: Job, epochs: int) -> Run:
        """The run of a training that has gone at least so many epochs, fewer than all; to look at.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
        """
        path = self.folder / job.name
        if not is_run(path) or len(Run.read(path).metrics()) < epochs:
            self._do(job, [Pause(epochs)])
        return Run.read(path)

    def _do(self, job: Job, hooks: Sequence[AnyHook]) -> None:
        self._check(f"stopped before {job.name}")
        loop = job.make([*self.hooks, *hooks])
        with self._open(job) as run:
            loop.run = run
            self._loop = loop
            try:
                if self._stopping:  # it may have come before there was a loop to tell
                    loop.stop()
                loop.fit(fall_back=self.fall_back)
            except Stopped as stopped:
                self._check(f"{job.name}: {stopped}")  # else it was a pause
            finally:
                self._loop = None

    def _check(self, words: str) -> None:
        """Raises Stopped if that was asked."""
        if self._stopping:
            raise Stopped(words)

    def _open(self, job: Job) -> Run:
        path, device = self.folder / job.name, str(self.device)
        if is_run(path):
            return Run.resume(path, device=device)
        return Run.create(path, job.config, space=job.space, device=device)
