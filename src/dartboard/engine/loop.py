"""The loop that searches and trainings share: epochs of steps that can be stopped, killed and resumed."""

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch.optim import Optimizer

from dartboard.arch.objective import Objective
from dartboard.data import Dataset
from dartboard.distributed.group import Group
from dartboard.engine.config import LoopOptions, ScheduleLengths
from dartboard.engine.hooks import AnyHook
from dartboard.engine.process import RngScope, deterministic, is_out_of_memory, logged
from dartboard.engine.state import IMAGES, capture, copied, restore
from dartboard.engine.step import Meter, Stepper, check_state
from dartboard.errors import DistributedError, Stopped
from dartboard.nn.network import CellNet
from dartboard.runs import Run, digest
from dartboard.runs.checkpoint import Tree, from_bytes, to_bytes
from dartboard.runs.store import RunDirectory
from dartboard.space import SearchSpace

log = logging.getLogger(__name__)

UNSTARTED = "stopped before the first step"
AGREE_STEPS = 10
"""Steps after which the processes that share a loop agree whether to stop."""


class EpochMetrics(Protocol):
    """The measurements of an epoch."""

    @property
    def epoch(self) -> int: ...

    @property
    def metrics(self) -> Mapping[str, Any]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def details(self) -> dict[str, Any]: ...


class LoopResult(Protocol):
    """The result of a loop."""

    def facts(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=EpochMetrics)
E = TypeVar("E", bound=LoopResult)


class Loop(ABC, Generic[R, E]):
    """Epochs of steps, each measured and recorded.

    Everything a loop does follows from its arguments: the same ones give the same result to the last bit on
    the same machine, whether it runs through or is killed and resumed.

    Args:
        options: Settings of the loop.
        device: Where to compute.
        run: Where to write; None writes nothing. A run that has a checkpoint is resumed from it.
        hooks: What else to do, and when: see `LoopHook`.
        group: The processes that share the loop. All of them are given the same arguments, but only rank 0 a
            run; after every step they hold the same state, to the last bit.

    Attributes:
        epoch: The number of complete epochs.
        step: The number of steps taken, over all epochs.
        run_directory: The directory of the run that `fit` creates or resumes, where no open run was given.
        initial: The file of weights that it starts from, for its run directory; empty where it draws them.
        taken: Which tensors were taken from there, as a message; "" where none were.
        changed: What differs from the processes that saved the state, as a message; "" if nothing.
    """

    space: SearchSpace
    data: Dataset
    plan: ScheduleLengths
    objective: Objective
    net: CellNet
    optimizer: Optimizer
    stepper: Stepper
    run_directory: RunDirectory | None = None
    initial: bytes = b""
    taken: str = ""

    def __init__(
        self,
        options: LoopOptions,
        *,
        device: torch.device | str,
        run: Run | None,
        hooks: Sequence[AnyHook],
        group: Group,
    ) -> None:
        self.options: LoopOptions = options
        self.group = group
        self.device, self.run, self.hooks = torch.device(device), run, tuple(hooks)
        self.epoch = self.step = 0
        self.changed = ""
        self.meter = Meter(self.device, group)
        self._clock = self._saved = monotonic()
        self._stopping = False
        self._rng_scope = RngScope(self.device)

    def _begin(self) -> None:
        """Builds all that is trained, from the seed; the last thing a constructor does."""
        with self._rng_scope():
            torch.manual_seed(self.options.seed)
            self._build()
        for hook in self.hooks:
            hook.check(self)

    @abstractmethod
    def _build(self) -> None:
        """Makes the objective, the network, the optimizer and the stepper; draws from torch's generator."""

    @abstractmethod
    def train_step(self) -> None:
        """One step; counts it."""

    @abstractmethod
    def _start_epoch(self) -> None:
        """Sets modes, rates and whatever else depends on the epoch; again when resumed in the middle."""

    @abstractmethod
    def learning_rate(self, epoch: int) -> float:
        """The learning rate of the weights at the start of an epoch."""

    @abstractmethod
    def _measure(self) -> R:
        """Measures the epoch that has just ended; changes nothing."""

    @abstractmethod
    def _conclude(self) -> E:
        """Measures the result; changes nothing."""

    def settings(self) -> dict[str, Any]:
        """The settings that a state must have been saved with, as plain values by name."""
        irrelevant: dict[str, Any] = {"checkpoint": True, "pieces": True, "data": {"workers"}}
        values = self.options.model_dump(mode="json", exclude=irrelevant)
        return {IMAGES: self.data.fingerprint, **values}

    def _close(self) -> None:
        """Called when `fit` ends, in whatever way: releases what would outlive it."""

    def extra_state(self) -> dict[str, Any]:
        """State besides that of the network, its optimizer and the counts."""
        return {}

    def load_extra_state(self, state: Mapping[str, Any]) -> None:
        """Restores what `extra_state` returned, before the network's weights are loaded."""

    def _on_recorded(self, record: R) -> None:
        """Called when an epoch has been recorded, before the next begins."""

    @property
    def seconds(self) -> float:
        """Seconds of training, in this process and those before it."""
        return monotonic() - self._clock

    @seconds.setter
    def seconds(self, value: float) -> None:
        self._clock = monotonic() - value

    def fit(self, *, fall_back: bool = False) -> E:
        """Runs to the end, from the run's last checkpoint if it has one.

        Args:
            fall_back: Whether an older checkpoint will do where the last is damaged.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            DivergedError: If a loss became NaN or infinite.
            CheckpointError: If the run's last checkpoint is damaged.
        """
        directory = None if self.group.rank else self.run_directory  # only rank 0 writes
        opened = nullcontext(self.run) if directory is None else directory.open(self.space, str(self.device))
        with (
            opened as self.run,
            deterministic(self.options.deterministic),
            self._rng_scope(),
            logged(self.run),
        ):
            self._resume(fall_back)
            try:
                return self._run()
            except Stopped:
                self._save()
                raise
            finally:
                self._close()

    def _run(self) -> E:
        self._call("on_start")
        while self.epoch < self.plan.epochs:
            self.stop_if_asked()
            self._train_epoch()
        self._call("on_select")
        result = self._conclude()
        facts = result.facts()
        if self.run is not None:
            self.run.finish(facts)
        log.info("done: %s", json.dumps(facts))
        self._call("on_end", result)
        return result

    def stop(self) -> None:
        """Asks to save the state after the current step and to stop; for signal handlers."""
        self._stopping = True

    def stop_if_asked(self) -> None:
        """Stops here if that was asked for.

        Raises:
            Stopped: Says how far it came.
        """
        if self.group.any(self._stopping):
            self._stopping = False
            steps = self.plan.epochs * self.plan.steps
            raise Stopped(f"stopped after step {self.step} of {steps}" if self.step else UNSTARTED)

    def _resume(self, fall_back: bool) -> None:
        def load() -> Tree:
            checkpoint = None if self.run is None else self.run.load(fall_back=fall_back)
            return None if checkpoint is None else checkpoint[1]

        state = self.group.broadcast(load, to_bytes, from_bytes)
        if state is not None:
            restore(self, state)
            log.info("resumed at step %d, epoch %d", self.step, self.epoch)
            if self.changed:
                log.info("%s", self.changed)
        if self.run is not None:
            self.run.rewind(self.epoch)

    def _train_epoch(self) -> None:
        """Trains one epoch, or what is left of it; in smaller pieces if memory does not suffice."""
        start = copied(capture(self))
        try:
            self._take_steps()
            record = self._measure()
        except (RuntimeError, MemoryError) as error:
            pieces = 2 * self.objective.micro_batches
            if not is_out_of_memory(error) or self.options.batch < 2 * pieces:  # one example has no std
                raise
            if self.group.size > 1:  # the others are in the middle of a step that this rank cannot end
                raise DistributedError(
                    f"out of memory on rank {self.group.rank}; resume with more than "
                    f"{self.group.size * self.objective.micro_batches} processes, or start again with "
                    f"pieces={pieces}"
                ) from error
        else:
            if self.run is not None:
                self.run.record(record.epoch, record.metrics, record.details())
            for warning in record.warnings:
                log.warning("epoch %d: %s", record.epoch, warning)
            self.epoch += 1
            self.meter = Meter(self.device, self.group)
            self._on_recorded(record)
            self._call("on_epoch_end", record)
            self._save()
            return
        self._build()  # afresh: candidates may have left the network since the epoch began
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        restore(self, start)
        self.objective.micro_batches = pieces
        log.warning("out of memory: each batch of %d now passes in %d pieces", self.options.batch, pieces)

    def _take_steps(self) -> None:
        self._start_epoch()
        self._call("on_epoch_start")
        end, checkpoint = (self.epoch + 1) * self.plan.steps, self.options.checkpoint
        while self.step < end:
            self.train_step()
            self._call("on_step_end")
            if self.group.size == 1 or self.step % AGREE_STEPS == 0 or self.step == end:
                self.stop_if_asked()
            by_steps = checkpoint.steps and self.step % checkpoint.steps == 0
            if (by_steps or monotonic() - self._saved > checkpoint.seconds) and self.step < end:
                self._save()
        check_state(self)
        if self.group.size > 1:  # all processes must hold the same network and the same architecture
            state = {"net": dict(self.net.state_dict()), **self.extra_state()}
            self.group.check_same(f"the state after step {self.step}", digest(state))

    def _set_lr(self, lr: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = lr

    def _save(self) -> None:
        check_state(self)
        self._saved = monotonic()
        if self.run is not None:
            self.run.save(self.step, capture(self), keep=self.options.checkpoint.keep)

    def _call(self, event: str, *arguments: Any) -> None:
        for hook in self.hooks:
            getattr(hook, event)(self, *arguments)
