"""The search loop, loading one from its run, and a forecast of its time and memory."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import Optimizer

from dartboard.data import Batch, Dataset
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.config import SCHEDULES
from dartboard.engine.hooks import AnyHook
from dartboard.engine.loop import UNSTARTED, Loop
from dartboard.engine.process import RngScope, peak_memory
from dartboard.engine.state import capture, copied, restore
from dartboard.engine.step import Stepper, check_step
from dartboard.errors import CheckpointError, CompositionError, OptionError, RunError, Stopped
from dartboard.runs import Run
from dartboard.search.build import build_objective, build_optimizer, make_evaluation_batches, make_loaders
from dartboard.search.config import Named, SearchOptions, build, recorded_config, resolve_search
from dartboard.search.health import accuracy
from dartboard.search.method import Method
from dartboard.search.record import EpochRecord, SearchResult, conclude, measure_epoch
from dartboard.space.spec import SearchSpace
from dartboard.utils.progress import Progress

EVALUATION_BATCH = 256


class Searcher(Loop[EpochRecord, SearchResult]):
    """Searches a space with a method on images.

    Everything it does follows from its arguments: the same ones give the same result to the last bit on the
    same machine, whether the search runs through or is killed and resumed.

    Args:
        space: The search space, its name, its file, or settings such as `{"name": "nano", "cells": 3}`; None
            for that of the recipe.
        method: The search method, its name, or its name with options, such as `{"name": "darts", "lr": 0.1}`.
        data: The images, the name of a data set, file or folder, or settings such as `{"name": "digits",
            "pad": 1}`.
        options: All other settings; or they are given by name, and not with a recipe.
        recipe: Name of a recipe, whose values are taken where nothing else is given.
        device: Where to compute.
        run: Where to write; None writes nothing. A path is a run directory, which `fit` creates like the
            command line, or resumes if it holds a run with the same settings.
        hooks: What else to do, and when; the method's own come first.
        group: The processes that search together; only rank 0 is given a run and hooks that write.
        **settings: Any setting of `dartboard list settings`, groups as dictionaries: `epochs=25,
            weights={"lr": 0.05}`.

    Raises:
        DartboardError: If a name or a setting is unknown, or the parts do not fit together.

    Attributes:
        epoch: How many epochs are complete.
        step: How many steps have been taken, over all epochs.

    Examples:
        >>> from dartboard import Searcher
        >>> searcher = Searcher("nano", "gaea-darts-erm", "digits", epochs=1, net={"channels": 2})
        >>> result = searcher.fit()
        >>> result.epochs, searcher.step
        (1, 21)
    """

    options: SearchOptions

    def __init__(
        self,
        space: SearchSpace | Named | None = None,
        method: Method | Named | None = None,
        data: Dataset | Named | None = None,
        options: SearchOptions | None = None,
        *,
        recipe: str | None = None,
        device: torch.device | str = "cpu",
        run: Run | str | Path | None = None,
        hooks: Sequence[AnyHook] = (),
        group: Group = SINGLE,
        **settings: Any,
    ) -> None:
        parts, self.run_directory = resolve_search(
            space, method, data, options, recipe=recipe, run=run, settings=settings
        )
        self.space, self.method, self.data = parts.space, parts.method, parts.data
        all_hooks = *self.method.hooks, *hooks
        open_run = run if isinstance(run, Run) else None
        super().__init__(parts.options, device=device, run=open_run, hooks=all_hooks, group=group)
        self.loaders = make_loaders(self.data, self.method, self.options, self.device, group)
        epochs = self.options.epochs if self.method.trains else 0
        steps = self.loaders.train.steps
        first = self.options.lengths(steps, epochs=epochs).at(0).epochs  # the warmup stays as it began
        self.plan = self.options.lengths(steps, epochs=epochs, warmup=self.method.warmup_epochs(first))
        if self.plan.epochs and self.plan.warmup >= self.plan.epochs:
            raise OptionError(
                f"the architecture is frozen for the first {self.plan.warmup} epochs and the search has "
                f"{self.plan.epochs}, so it would never move; set method.warmup, or more epochs"
            )
        self._begin()

    def _build(self) -> None:
        options = self.options
        self.objective = build_objective(self.space, self.method, self.data, options, self.device, self.group)
        self.net, self.relaxation = self.objective.net, self.objective.relaxation
        self.optimizer = build_optimizer(self.objective, options.weights)
        make = self.method.update
        # Its rate is that of the length at the start, also where more epochs were added later.
        self.update: Optimizer | None = None if make is None else make(self.relaxation, self.plan.at(0))
        if self.plan.history and getattr(self.update, "fixed_horizon", False):
            raise CompositionError(
                f"{type(self.update).__name__} drops candidates that cannot win in the steps it was made "
                f"for, so that a search of {self.plan.at(0).epochs} epochs cannot be given other epochs; "
                "start a new search"
            )
        scaler = GradScaler(self.device.type) if options.precision == "fp16" else None
        parts = self.method.gradient, self.update, options.weights.clip, scaler
        self.stepper = Stepper(
            self.objective,
            self.optimizer,
            *parts,
            penalties=self.method.penalties,
            guard=partial(check_step, self),
        )

    def valid_batches(self) -> Iterator[Batch]:
        """One pass over held-out images, at most `health.examples`; stops if that was asked."""
        self.stop_if_asked()
        return make_evaluation_batches(
            self.loaders.valid,
            self.data,
            self.options.data,
            batch=max(EVALUATION_BATCH // self.objective.micro_batches, 1),
            device=self.device,
            limit=self.options.health.examples,
        )

    def _close(self) -> None:
        self.loaders.close()

    def _start_epoch(self) -> None:
        self.net.train()
        self.relaxation.train()
        self._set_lr(self.learning_rate(self.epoch))

    def learning_rate(self, epoch: int) -> float:
        """The learning rate of the weights in an epoch."""
        weights = self.options.weights
        fraction = epoch / self.plan.at(epoch).epochs
        return SCHEDULES[weights.schedule](weights.lr, weights.lr_end, fraction)

    def train_step(self) -> None:
        """One step: moves the architecture, unless it is frozen or has no parameters, and the weights."""
        train = self.loaders.train.batch(self.step)
        searching = self.update is not None and self.epoch >= self.plan.warmup
        arch_loss: Tensor | None = None
        if searching and self.method.joint:
            loss, logits = self.stepper.joint_step(train)
            arch_loss = loss
        else:
            if searching and self.loaders.arch is not None:
                arch_loss = self.stepper.arch_step(train, self.loaders.arch.batch(self.step))
            loss, logits = self.stepper.weight_step(train)
        self.meter.add(loss, logits, train.y, arch_loss)
        self.step += 1

    def _measure(self) -> EpochRecord:
        return measure_epoch(self)

    def _conclude(self) -> SearchResult:
        return conclude(self)

    def settings(self) -> dict[str, Any]:
        """The settings that a state must have been saved with; those of measurements are not among them."""
        values = super().settings()
        return {"space": self.space.name} | {name: values[name] for name in values if name != "health"}

    def extra_state(self) -> dict[str, Any]:
        """The relaxation and the optimizer of its parameters."""
        update = None if self.update is None else self.update.state_dict()
        return {"relaxation": dict(self.relaxation.state_dict()), "update": update}

    def load_extra_state(self, state: Mapping[str, Any]) -> None:
        """Restores the relaxation, removes the candidates it has no more, and restores its optimizer."""
        self.relaxation.load_state_dict(state["relaxation"])
        self.prune()
        if self.update is not None:
            self.update.load_state_dict(state["update"])

    def prune(self) -> None:
        """Removes from the network and its optimizer the candidates that the relaxation has no more."""
        live = {group: self.relaxation.live(group) for group in self.space.cells}
        removed = {id(parameter): parameter for parameter in self.net.prune(live)}
        for parameter in removed.values():
            self.optimizer.state.pop(parameter, None)
        for group in self.optimizer.param_groups:
            group["params"] = [parameter for parameter in group["params"] if id(parameter) not in removed]
        self.objective.refresh()


def restore_search(searcher: Searcher, run: Run, *, fall_back: bool = False) -> None:
    """Restores a searcher, made from the settings of a run, from the run's last checkpoint.

    Raises:
        CheckpointError: If the run has no checkpoint, or one that is damaged (unless an older one does, by
            `fall_back`) or of other settings.
    """
    checkpoint = run.load(fall_back=fall_back)
    if checkpoint is None:
        raise CheckpointError(
            f"{run.path} has no checkpoint, and with it no trained weights; remove the run, and do it again"
        )
    with RngScope(searcher.device)():
        restore(searcher, checkpoint[1])


def load_searcher(
    run: Run, device: torch.device | str = "cpu", *, fall_back: bool = False, progress: Progress | None = None
) -> Searcher:
    """The searcher of a run as its last checkpoint has it: supernet, relaxation and held-out images.

    Args:
        run: Of a search; it need not be finished, and nothing is written to it.
        device: Where to compute.
        fall_back: Whether an older checkpoint will do where the last is damaged.
        progress: Is told how far the loading of images is.

    Raises:
        RunError: If it is not a run of a search.
        CheckpointError: If it has no checkpoint, or one that is damaged.
        DartboardError: If its images, space, method or plugins are not there.
    """
    kind = run.config.get("kind", "search")
    if kind != "search":
        raise RunError(f"{run.path} is a run of dartboard {kind}; name one of dartboard search")
    parts = build(recorded_config(run.config), run.space(), progress)
    searcher = Searcher(*parts, device=device)
    restore_search(searcher, run, fall_back=fall_back)
    return searcher


@dataclass(frozen=True)
class Forecast:
    """What a search will need.

    Args:
        seconds: For all of it.
        step_seconds: For one step, when the architecture moves too.
        memory_bytes: The most that tensors on the device, or this process on a CPU, take.
    """

    seconds: float
    step_seconds: float
    memory_bytes: int


def forecast(searcher: Searcher, steps: int = 3) -> Forecast:
    """Times a few steps and one batch of each evaluation, then puts everything back.

    Args:
        searcher: A search that has not begun; afterwards it goes as if this had not been.
        steps: How many steps are timed; one more comes before them.
    """
    plan, device = searcher.plan, searcher.device
    if not plan.epochs:
        return Forecast(0.0, 0.0, peak_memory(device))
    objective, method, health = searcher.objective, searcher.method, searcher.options.health
    with put_back(searcher):
        moving = _step_seconds(searcher, plan.warmup, steps)
        frozen = _step_seconds(searcher, 0, steps) if plan.warmup else 0.0
        batch, rng = next(iter(searcher.valid_batches())), Random(0)
        select = seconds_of(device, lambda: method.select(objective, lambda: [batch], rng))
        preview = select
        if (early := method.preview) is not None:
            preview = seconds_of(device, lambda: early(objective, lambda: [batch], rng))
        measure = seconds_of(device, lambda: accuracy(objective, objective.relaxation, [batch]))
    batches = math.ceil(min(len(searcher.loaders.valid), health.examples) / batch.size)
    training = plan.steps * (plan.warmup * frozen + (plan.epochs - plan.warmup) * moving)
    epoch, end = batches * (preview + measure * (1 + health.discrete)), batches * (select + measure)
    return Forecast(training + plan.epochs * epoch + end, moving, peak_memory(device))


@contextmanager
def put_back(loop: Loop[Any, Any]) -> Iterator[None]:
    """Restores the loop and torch's generators when the block ends; who is stopped in it has not begun."""
    state = copied(capture(loop))
    try:
        yield
    except Stopped:
        raise Stopped(UNSTARTED) from None
    finally:
        restore(loop, state)


def _step_seconds(searcher: Searcher, epoch: int, steps: int) -> float:
    """The time of a step in an epoch; the first step does not count, for it makes things ready."""
    searcher.epoch = epoch
    searcher.net.train()
    searcher.relaxation.train()
    return median([seconds_of(searcher.device, searcher.train_step) for _ in range(steps + 1)][1:])


def seconds_of(device: torch.device, act: Callable[[], object]) -> float:
    """How long it takes to do something, the device's part included."""
    start = perf_counter()
    act()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
    return perf_counter() - start
