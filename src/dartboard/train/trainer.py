"""The training loop of a discrete network, and a forecast of how long it takes."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from dartboard.data import Batch, Dataset
from dartboard.distributed.group import SINGLE, Group
from dartboard.engine.hooks import AnyHook, LoopHook
from dartboard.engine.loop import Loop
from dartboard.engine.process import peak_memory
from dartboard.engine.step import Stepper, check_step
from dartboard.errors import ModelError
from dartboard.nn.costs import count_flops, count_parameters
from dartboard.nn.model_file import BEST, LAST, Model, load_model, pack_model, unpack_model
from dartboard.nn.network import CellNet
from dartboard.runs import Run, digest
from dartboard.search.build import build_optimizer, make_evaluation_batches
from dartboard.search.config import Named
from dartboard.search.searcher import Forecast, put_back, seconds_of
from dartboard.space.files import space_to_json
from dartboard.space.genotype import Genotype
from dartboard.tasks import Evaluation, measure
from dartboard.train.build import build_objective, learning_rate, make_loaders, mix
from dartboard.train.config import CellArgument, InitArgument, TrainOptions, resolve_training
from dartboard.train.initial_weights import take_weights
from dartboard.train.record import Best, TrainRecord, TrainResult

log = logging.getLogger(__name__)

EVALUATION_BATCH = 256


class Trainer(Loop[TrainRecord, TrainResult]):
    """Trains the network of a cell from scratch.

    Everything it does follows from its arguments: the same ones give the same result to the last bit on the
    same machine, whether the training runs through or is killed and resumed.

    Args:
        cell: A genotype, the result of a search, the directory of a run, the name of a published cell, the
            text of a genotype, or a discrete space such as `adopt` gives for a genotype.
        data: The images, the name of a data set, file or folder, or settings such as `{"name": "digits",
            "pad": 1}`; None for the images of the run that found the cell.
        options: All other settings; or they are given by name, and not with a recipe.
        init: Weights to start from instead of drawing them: a run of a training (its best epoch), its result,
            or a file in the format of safetensors. The network must be the same but for its classes.
        recipe: Name of a recipe, whose values are taken where nothing else is given.
        device: Where to compute.
        run: Where to write; None writes nothing. A path is a run directory, which `fit` creates like the
            command line, or resumes if it holds a run with the same settings.
        hooks: What else to do, and when.
        facts: Plain values that its models carry: where the cell comes from and the like.
        group: The processes that train together; only rank 0 is given a run and hooks that write.
        **settings: Any setting of a training, groups as dictionaries: `epochs=600, net={"channels": 36}`;
            `space` is the space whose stack the cells go into, by default their own.

    Raises:
        DartboardError: If a name or a setting is unknown, or the parts do not fit together.

    Attributes:
        epoch: The number of complete epochs.
        step: The number of steps taken, over all epochs.
        best: The best epoch so far.
        taken: Which tensors were taken from `init`, as a message; "" without it.

    Examples:
        >>> from dartboard import Trainer
        >>> cell = "|nor_conv_3x3~0|+|skip_connect~0|none~1|"
        >>> settings = {"epochs": 1, "net": {"channels": 2, "auxiliary": 0}}
        >>> result = Trainer(cell, "digits", space="nano", **settings).fit()
        >>> result.epochs, result.parameters
        (1, 512)
    """

    options: TrainOptions

    def __init__(
        self,
        cell: CellArgument,
        data: Dataset | Named | None = None,
        options: TrainOptions | None = None,
        *,
        init: InitArgument | None = None,
        recipe: str | None = None,
        device: torch.device | str = "cpu",
        run: Run | str | Path | None = None,
        hooks: Sequence[AnyHook] = (),
        facts: Mapping[str, Any] | None = None,
        group: Group = SINGLE,
        **settings: Any,
    ) -> None:
        parts, self.run_directory = resolve_training(
            cell, data, options, recipe=recipe, run=run, settings=settings, init=init
        )
        open_run = run if isinstance(run, Run) else None
        super().__init__(parts.options, device=device, run=open_run, hooks=hooks, group=group)
        cells = self.options.net.cells
        self.space = parts.space if cells is None else parts.space.resized(cells)
        self.data, self.facts = parts.data, parts.facts if facts is None else dict(facts)
        self.loaders = make_loaders(self.data, self.options, self.device, group)
        self.plan = self.options.lengths(self.loaders.train.steps)
        self.best = Best()
        self._init = parts.init
        self.initial = b"" if parts.init is None else parts.init.data
        self._models: dict[str, bytes] = {}
        self._history: list[Mapping[str, Any]] = []
        self._begin()

    def _build(self) -> None:
        options = self.options
        self.objective = build_objective(self.space, self.data, options, self.device, self.group)
        self.net = self.objective.net
        if self._init is not None:  # after all draws, which are those of a training from scratch
            taken = take_weights(self.net, self._init, self.data.classes)
            self.taken = f"starting from {self._init.path or 'the weights of a result'}: {taken}"
        self.optimizer = build_optimizer(self.objective, options.weights)
        scaler = GradScaler(self.device.type) if options.precision == "fp16" else None
        self.stepper = Stepper(
            self.objective,
            self.optimizer,
            clip=options.weights.clip,
            scaler=scaler,
            guard=partial(check_step, self),
        )
        self.average: AveragedModel | None = None
        if options.weights.ema:
            ema = get_ema_multi_avg_fn(options.weights.ema)
            self.average = AveragedModel(self.net, multi_avg_fn=ema, use_buffers=True)

    @property
    def used_net(self) -> CellNet:
        """The network that is measured and kept: the moving average, where there is one."""
        if self.average is None:
            return self.net
        averaged: CellNet = self.average.module  # type: ignore[assignment]
        return averaged

    def _run(self) -> TrainResult:
        if self.taken and not self.step:
            log.info("%s", self.taken)
        return super()._run()

    def _close(self) -> None:
        self.loaders.train.close()

    def _start_epoch(self) -> None:
        self.net.train()
        net = self.options.net
        epochs = self.plan.at(self.epoch).epochs
        fraction = self.epoch / epochs if net.drop_path_schedule == "linear" else 1.0
        self.net.drop_path = net.drop_path * fraction
        self._set_lr(self.learning_rate(self.epoch))

    def learning_rate(self, epoch: int) -> float:
        """The learning rate in an epoch; at its first step where it changes with every step."""
        epochs = self.plan.at(epoch).epochs
        return learning_rate(self.options.weights, epoch / epochs, epochs)

    def train_step(self) -> None:
        """One step of the weights, and of their moving average."""
        if self.options.weights.by == "step":
            epochs = self.plan.at(self.epoch).epochs
            fraction = self.step / (epochs * self.plan.steps)
            self._set_lr(learning_rate(self.options.weights, fraction, epochs))
        batch = self.loaders.train.batch(self.step)
        examples: tuple[Tensor, Tensor] = batch
        labels = batch.y
        if alpha := self.options.data.mixup:
            classes, seed = len(self.data.classes), self.options.seed
            x, y = mix(batch, alpha, classes=classes, seed=seed, step=self.step)
            rows = self.group.local_rows(batch.size)  # of images that were blended with any of the batch
            examples, labels = (x[rows], y[rows]), batch.y[rows]
        loss, logits = self.stepper.weight_step(examples)
        if self.average is not None:
            self.average.update_parameters(self.net)
        self.meter.add(loss, logits, labels, None)
        self.step += 1

    @property
    def measured_on(self) -> str:
        """The kind of held-out images that epochs are measured on: `valid` if there are any, else `test`."""
        return next(iter(self.loaders.held_out))

    def batches(self, part: str, group: Group | None = None) -> Iterator[Batch]:
        """This rank's share of one pass over the held-out images of a kind; stops if that was asked.

        The pass is shared by `group`, or by the processes that train.
        """
        for batch in make_evaluation_batches(
            self.loaders.held_out[part],
            self.data,
            self.options.data,
            batch=max(EVALUATION_BATCH // self.objective.micro_batches, 1),
            device=self.device,
            group=group or self.group,
        ):
            if self.group.size == 1:  # else some have one batch more than others to ask each other at
                self.stop_if_asked()
            yield batch

    def evaluate(self, net: CellNet, part: str) -> Evaluation:
        """Evaluates a network on the held-out images of a kind, in full precision."""
        mode = net.training
        net.eval()
        try:
            return measure(net, self.batches(part), len(self.data.classes), self.group, self.device)
        finally:
            net.train(mode)

    def _measure(self) -> TrainRecord:
        metrics = {
            "step": self.step,
            "seconds": self.seconds,
            "lr": self.optimizer.param_groups[0]["lr"],
            "drop_path": self.net.drop_path,
            **self.meter.read(),
            "pieces": self.objective.micro_batches,
        }
        done = self.epoch + 1
        if done % self.options.evaluation.every and done < self.plan.at(self.epoch).epochs:
            return TrainRecord(self.epoch, metrics)
        part = self.measured_on
        evaluation = self.evaluate(self.used_net, part)
        loss = evaluation.loss if math.isfinite(evaluation.loss) else None
        accuracies = {f"{part}_accuracy": evaluation.top1, f"{part}_top5": evaluation.top5}
        return TrainRecord(self.epoch, metrics | {f"{part}_loss": loss} | accuracies, evaluation)

    def _on_recorded(self, record: TrainRecord) -> None:
        accuracy = None if record.evaluation is None else record.evaluation.top1
        better = accuracy is not None and accuracy > self.best.accuracy
        if accuracy is not None and better:
            self.best = Best(record.epoch, accuracy)
        self._history.append({"epoch": record.epoch, **record.metrics})
        if self.group.rank:
            return
        facts = {"epoch": record.epoch, "measured_on": self.measured_on, "accuracy": accuracy}
        data, crop_pct = self.data, self.options.data.crop_pct
        model = Model(self.used_net, data.classes, data.mean, data.std, self.facts | facts, crop_pct)
        packed = pack_model(model)
        for name in (BEST, LAST) if better else (LAST,):
            if self.run is None:
                self._models[name] = packed
            else:
                self.run.write(name, packed)

    def _conclude(self) -> TrainResult:
        last = self._evaluate_all(self.used_net)
        best, epoch = self._best_net()
        same = epoch == self.epoch - 1  # the best network is the last: it has been measured
        return TrainResult(
            epochs=self.epoch,
            seconds=self.seconds,
            parameters=count_parameters(self.net),
            flops=count_flops(self.space, self.net.config),
            measured_on=self.measured_on,
            last=last,
            best=last if same else self._evaluate_all(best.to(self.device)),
            best_epoch=epoch,
            digest=digest({"net": dict(self.used_net.state_dict())}),
            classes=self.data.classes,
            genotype=Genotype(self.space.groups),
            run=None if self.run is None else self.run.path,
            models=dict(self._models),
            history=tuple(self._history if self.run is None else self.run.metrics()),
        )

    def _best_net(self) -> tuple[CellNet, int]:
        """The network of the best epoch and the epoch's number; the last where its file is damaged."""

        def load() -> Model:
            if self.run is None:
                return unpack_model(self._models[BEST])
            return load_model(self.run.path / BEST, root=self.run.path)

        try:
            model = self.group.broadcast(load, pack_model, unpack_model)
        except ModelError as error:
            log.warning("the best network is lost, and the last takes its place: %s", error)
            return self.used_net, self.epoch - 1
        return model.net, model.facts["epoch"]

    def _evaluate_all(self, net: CellNet) -> dict[str, Evaluation]:
        return {part: self.evaluate(net, part) for part in self.loaders.held_out}

    def settings(self) -> dict[str, Any]:
        """The settings that a state must have been saved with: the cells, however their number was given."""
        values = super().settings()
        del values["net"]["cells"]
        init = None if self._init is None else self._init.sha256
        return {"space": space_to_json(self.space), "init": init, **values}

    def extra_state(self) -> dict[str, Any]:
        """The best epoch so far, and the moving average."""
        average = None if self.average is None else dict(self.average.state_dict())
        return {"best": [self.best.epoch, self.best.accuracy], "average": average}

    def load_extra_state(self, state: Mapping[str, Any]) -> None:
        """The best epoch so far, and the moving average."""
        self.best = Best(*state["best"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])


class TrainHook(LoopHook[Trainer, TrainRecord, TrainResult]):
    """Things to do at certain times of a training; see `LoopHook`."""


def forecast(trainer: Trainer, steps: int = 3) -> Forecast:
    """How long a training that has not begun will take and how much memory.

    Times `steps` steps, after one that is not timed, and one batch of an evaluation, then puts everything
    back: the training goes as if this had not been.
    """
    plan, device = trainer.plan, trainer.device
    with put_back(trainer):
        trainer.net.train()
        step = median([seconds_of(device, trainer.train_step) for _ in range(steps + 1)][1:])
        # The time of one pass over the images that epochs are measured on, from one batch of it.
        x, _ = next(trainer.batches(trainer.measured_on, SINGLE))
        net, images = trainer.net.eval(), trainer.loaders.held_out[trainer.measured_on]
        batches = math.ceil(math.ceil(len(images) / len(x)) / trainer.group.size)
        look = seconds_of(device, lambda: net(x)) * batches
    every = trainer.options.evaluation.every
    looks = math.ceil(plan.epochs / every) + 2  # the last network and the best are measured at the end
    return Forecast(plan.epochs * plan.steps * step + looks * look, step, peak_memory(device))
