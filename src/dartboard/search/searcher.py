"""The search loop."""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import Optimizer

from dartboard.data import Batch, Dataset, sweep
from dartboard.errors import OptionError, SearchStopped
from dartboard.runs import Run
from dartboard.search.build import build_optimiser, build_task, divide
from dartboard.search.guard import check_finite, check_state
from dartboard.search.hooks import Hook
from dartboard.search.memory import is_out_of_memory
from dartboard.search.meter import Meter
from dartboard.search.method import Method, Plan
from dartboard.search.options import SearchOptions
from dartboard.search.record import Record, Result, conclude, measure_epoch
from dartboard.search.schedule import SCHEDULES
from dartboard.search.session import OwnChance, deterministic, logged
from dartboard.search.state import capture, copied, restore
from dartboard.search.step import Stepper
from dartboard.space.spec import SearchSpace

log = logging.getLogger(__name__)

CHECK_STEPS = 50
"""On a device that the host would have to wait for, numbers are looked at every so many steps."""
EVALUATION_BATCH = 256


class Searcher:
    """Searches a space with a method on images.

    Everything it does follows from its arguments: the same ones give the same result to the last bit on the
    same machine, whether the search runs through or is killed and resumed.

    Args:
        space: What to choose in.
        method: How.
        data: The images.
        options: All other numbers.
        device: Where to compute.
        run: Where to write; None writes nothing. A run that has a checkpoint is resumed from it.
        hooks: What else to do, and when; the method's own come first.

    Attributes:
        epoch: How many epochs are complete.
        step: How many steps have been taken, over all epochs.
    """

    def __init__(
        self,
        space: SearchSpace,
        method: Method,
        data: Dataset,
        options: SearchOptions | None = None,
        *,
        device: torch.device | str = "cpu",
        run: Run | None = None,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self.space, self.method, self.data = space, method, data
        self.options = options or SearchOptions()
        self.device, self.run = torch.device(device), run
        self.hooks = (*method.hooks, *hooks)
        self.supply = divide(data, method, self.options, self.device)
        epochs = self.options.epochs if method.trains else 0
        self.plan = Plan(epochs, self.supply.train.steps, self.options.batch, method.warmup)
        self._check_warmup()
        self.epoch = self.step = 0
        self._clock = self._saved = monotonic()
        self._stopping = False
        self._own_chance = OwnChance(self.device)
        with self._own_chance():
            torch.manual_seed(self.options.seed)
            self._build()
        for hook in self.hooks:
            hook.check(self)

    def _check_warmup(self) -> None:
        if self.plan.epochs and self.plan.warmup >= self.plan.epochs:
            raise OptionError(
                f"the architecture rests for {self.plan.warmup} epochs and the search has "
                f"{self.plan.epochs}, so it would never move; set method.warmup, or more epochs"
            )

    def _build(self) -> None:
        options = self.options
        self.task = build_task(self.space, self.method, self.data, options, self.device)
        self.net, self.relaxation = self.task.net, self.task.relaxation
        self.optimiser = build_optimiser(self.task, options)
        make = self.method.update
        self.update: Optimizer | None = None if make is None else make(self.relaxation, self.plan)
        scaler = GradScaler(self.device.type) if options.precision == "fp16" else None
        parts = self.method.gradient, self.update, options.weights.clip, scaler
        self.stepper = Stepper(self.task, self.optimiser, *parts, guard=self._guard)
        self.meter = Meter(self.device)

    @property
    def seconds(self) -> float:
        """How long the search has taken, in this process and those before it."""
        return monotonic() - self._clock

    @seconds.setter
    def seconds(self, value: float) -> None:
        self._clock = monotonic() - value

    def valid_batches(self) -> Iterator[Batch]:
        """One pass over held-out images, at most as many as the options say; stops if that was asked."""
        self._stop_if_asked()
        return sweep(
            self.supply.valid,
            batch=max(EVALUATION_BATCH // self.task.pieces, 1),
            mean=self.data.mean,
            deviation=self.data.deviation,
            device=self.device,
            limit=self.options.health.examples,
        )

    def fit(self, *, fall_back: bool = False) -> Result:
        """Searches, from the run's last checkpoint if it has one.

        Args:
            fall_back: Whether an older checkpoint will do where the last is damaged.

        Raises:
            SearchStopped: If `stop` was called; the state has been saved.
            DivergedError: If a loss became infinite or no number.
            CheckpointError: If the run's last checkpoint is damaged.
        """
        with deterministic(self.options.deterministic), self._own_chance(), logged(self.run):
            self._resume(fall_back)
            try:
                return self._search()
            except SearchStopped:
                self._save()
                raise

    def _search(self) -> Result:
        self._call("on_start")
        while self.epoch < self.plan.epochs:
            self._train_epoch()
        self._call("on_select")
        result = conclude(self)
        facts = result.facts()
        if self.run is not None:
            self.run.finish(facts)
        log.info("done: %s", json.dumps(facts))
        self._call("on_end", result)
        return result

    def stop(self) -> None:
        """Asks the search to save its state after the current step and to stop; for signal handlers."""
        self._stopping = True

    def _stop_if_asked(self) -> None:
        if self._stopping:
            self._stopping = False
            raise SearchStopped(f"stopped after step {self.step} of {self.plan.epochs * self.plan.steps}")

    def _resume(self, fall_back: bool) -> None:
        found = None if self.run is None else self.run.load(fall_back=fall_back)
        if self.run is not None and found is not None:
            restore(self, found[1])
            log.info("resumed at step %d, epoch %d", self.step, self.epoch)
        if self.run is not None:
            self.run.rewind(self.epoch)

    def _train_epoch(self) -> None:
        """Trains one epoch, or what is left of it; in smaller pieces if memory does not suffice."""
        start = copied(capture(self))
        try:
            self._take_steps()
            record = measure_epoch(self)
        except (RuntimeError, MemoryError) as error:
            pieces = 2 * self.task.pieces
            if not is_out_of_memory(error) or self.options.batch < 2 * pieces:  # one example has no deviation
                raise
        else:
            self._end_epoch(record)
            return
        self._build()  # afresh: candidates may have left the network since the epoch began
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        restore(self, start)
        self.task.pieces = pieces
        log.warning("out of memory: each batch of %d now passes in %d pieces", self.options.batch, pieces)

    def _take_steps(self) -> None:
        self.net.train()
        self.relaxation.train()
        self._set_lr()
        self._call("on_epoch_start")
        end = (self.epoch + 1) * self.plan.steps
        while self.step < end:
            self.train_step()
            self._call("on_step_end")
            self._stop_if_asked()
            if self._save_is_due() and self.step < end:
                self._save()
        self._check_state()

    def train_step(self) -> None:
        """One step: moves the architecture, unless it rests or has no parameters, and the weights."""
        train = self.supply.train.batch(self.step)
        searching = self.update is not None and self.epoch >= self.plan.warmup
        arch_loss: Tensor | None = None
        if searching and self.method.joint:
            loss, logits = self.stepper.joint_step(train)
            arch_loss = loss
        else:
            if searching and self.supply.arch is not None:
                arch_loss = self.stepper.arch_step(train, self.supply.arch.batch(self.step))
            loss, logits = self.stepper.weight_step(train)
        self.meter.add(loss, logits, train.y, arch_loss)
        self.step += 1

    def _guard(self, numbers: Mapping[str, Tensor]) -> None:
        if self.device.type == "cpu" or self.step % CHECK_STEPS == 0:
            check_finite(self.task, numbers, epoch=self.epoch, step=self.step)

    def _check_state(self) -> None:
        """What the guard has not looked at must be finite too before anything is written."""
        numbers = {"mean loss": self.meter.sums.sum()}
        check_finite(self.task, numbers, epoch=self.epoch, step=self.step)
        check_state(self.task, epoch=self.epoch, step=self.step)

    def _set_lr(self) -> None:
        chosen = self.options.weights
        lr = SCHEDULES[chosen.schedule](chosen.lr, chosen.lr_end, self.epoch / self.plan.epochs)
        for group in self.optimiser.param_groups:
            group["lr"] = lr

    def _end_epoch(self, record: Record) -> None:
        if self.run is not None:
            self.run.record(record.epoch, record.metrics, record.details())
        for warning in record.warnings:
            log.warning("epoch %d: %s", record.epoch, warning)
        self.epoch += 1
        self.meter = Meter(self.device)
        self._call("on_epoch_end", record)
        self._save()

    def _save_is_due(self) -> bool:
        chosen = self.options.checkpoint
        by_steps = chosen.steps and self.step % chosen.steps == 0
        return bool(by_steps) or monotonic() - self._saved > chosen.seconds

    def _save(self) -> None:
        self._check_state()
        self._saved = monotonic()
        if self.run is not None:
            self.run.save(self.step, capture(self), keep=self.options.checkpoint.keep)

    def prune(self) -> None:
        """Takes out of the network, and out of its optimiser, what the relaxation has no more."""
        live = {arch: self.relaxation.live(arch) for arch in self.space.cells}
        gone = {id(parameter): parameter for parameter in self.net.prune(live)}
        for parameter in gone.values():
            self.optimiser.state.pop(parameter, None)
        for group in self.optimiser.param_groups:
            group["params"] = [own for own in group["params"] if id(own) not in gone]
        self.task.refresh()

    def _call(self, time: str, *given: Any) -> None:
        for hook in self.hooks:
            getattr(hook, time)(self, *given)
