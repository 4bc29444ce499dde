"""How fast cells learn: they are trained side by side, from the same seeds and on the same batches.

Each training is an ordinary run in FOLDER/runs, so that a comparison which was killed goes on where it was,
to the same bits. By default nothing regularizes but weight decay, as in section 4 of understanding-cells.
"""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dartboard.analysis.comparison import (
    ACCURACY,
    LOSS,
    TRAIN_LOSS,
    Comparison,
    Entry,
    LearningCurve,
    Training,
)
from dartboard.config.loader import ConfigLoader, Layer, from_words
from dartboard.engine.config import SCHEDULES
from dartboard.errors import DivergedError, OptionError, RunError
from dartboard.jobs.executors import Executor
from dartboard.jobs.executors.local import InlineExecutor
from dartboard.jobs.job import Job, Monitor
from dartboard.jobs.loops import LoopBuilder
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.nn.costs import count_parameters
from dartboard.plugins import check_plugins
from dartboard.runs import Lock, RunReader, differences, is_run
from dartboard.runs.directory import METRICS
from dartboard.space import GENOTYPE_FORMATS, Genotype, adopt, decode, load_space
from dartboard.train import config as train_config
from dartboard.train.config import TRAIN, TrainConfig, TrainSettings
from dartboard.train.trainer import Trainer
from dartboard.utils import atomic
from dartboard.utils.checksums import read_file, settle, write_file
from dartboard.utils.progress import Progress, no_progress

PLAIN: dict[str, Any] = {
    "space": "darts",
    "batch": 80,
    "net": {"auxiliary": 0.0, "drop_path": 0.0},
    "data": {"valid": 0.0, "cutout": 0},
}
"""Where settings differ from those of trainings: nothing regularizes (understanding-cells A.4), batches of 80
images (A.3), and the curves are of test images."""
FILE = "comparison.json"
"""What is compared, in the folder of the comparison."""
RUNS = "runs"
"""Folder of the trainings, inside the comparison's."""
FAULT = "fault.txt"
"""In the directory of a training that broke off: why."""
LABEL = re.compile(r"[A-Za-z0-9][\w.+-]{0,80}")


def make_settings(*layers: Layer, words: Sequence[str] = ()) -> TrainSettings:
    """The settings that all trainings of a comparison share: those of `PLAIN`, updated.

    Args:
        layers: Nested values, of which later ones win, such as `{"epochs": 10, "net": {"channels": 8}}`.
        words: The same as text, such as `net.channels=8`; they win over layers.

    Raises:
        UnknownNameError: If there is no such setting.
        OptionError: If a value cannot be used.
    """
    return ConfigLoader(TrainSettings, {}, "").merge([PLAIN, *layers, from_words(words)])


def compare(
    cells: Mapping[str, Genotype],
    settings: TrainSettings,
    folder: Path,
    *,
    lrs: Sequence[float] = (),
    seeds: Sequence[int] = (),
    device: torch.device | str = "cpu",
    executor: Executor | None = None,
    progress: Progress = no_progress,
) -> Comparison:
    """Cells trained side by side: for each learning rate and seed, all of them see the same batches.

    Every training computes with one thread, so that the results do not depend on the executor. A training
    whose loss becomes infinite is part of the result: it has broken off, and is not tried again.

    Args:
        cells: By label; a label becomes part of a directory's name.
        settings: Of all trainings; `make_settings` makes them.
        folder: Keeps the trainings. The same call goes on with what is there; more cells, learning rates or
            seeds add to it.
        lrs: Learning rates at the start; by default that of the settings.
        seeds: Of start and order; by default that of the settings.
        device: Where to compute.
        executor: Where the trainings run; by default in this process.
        progress: Reports how many epochs are complete.

    Raises:
        DartboardError: If something does not fit, or the folder has a comparison with other settings.
    """
    comparer = Comparer(ComparisonPlan.of(cells, settings), folder, torch.device(device))
    rates = lrs or (settings.weights.lr,)
    return comparer.run(rates, seeds or (settings.seed,), executor=executor, progress=progress)


@dataclass(frozen=True)
class ComparisonPlan:
    """What is compared, as it travels between processes: each label with its genotype in JSON.

    The settings are those of all trainings; learning rate and seed are set for each.
    """

    cells: tuple[tuple[str, str], ...]
    settings: TrainSettings

    @classmethod
    def of(cls, cells: Mapping[str, Genotype], settings: TrainSettings) -> "ComparisonPlan":
        """The plan of some cells by label.

        Raises:
            OptionError: If there are none, or a label cannot name a directory, or the stack is not named.
        """
        if not cells:
            raise OptionError("there is nothing to compare; give one cell or more")
        for label in cells:
            if not LABEL.fullmatch(label):
                raise OptionError(f"a cell cannot be labeled {label!r}; use letters, digits and -_.+")
        if settings.space.name is None:
            raise OptionError("name the space whose stack the cells go into: space.name, such as darts")
        SCHEDULES[settings.weights.schedule]  # fail fast on an unknown schedule
        encode = GENOTYPE_FORMATS["json"].encode
        return cls(tuple((label, encode(genotype)) for label, genotype in cells.items()), settings)

    def config(self, entry: Entry) -> TrainConfig:
        """The configuration of a training."""
        values = self.settings.model_dump()
        values["weights"]["lr"] = entry.lr
        return TRAIN.validate(values | {"cell": dict(self.cells)[entry.cell], "seed": entry.seed})


class Comparer:
    """Runs what is left of a comparison in its folder."""

    def __init__(self, plan: ComparisonPlan, folder: Path, device: torch.device | None = None) -> None:
        self.plan, self.folder = plan, folder
        self.device = device or torch.device("cpu")
        self.builder = LoopBuilder(self.device)
        self._queue: JobQueue | None = None
        self._stopping = False

    def stop(self) -> None:
        """Asks all trainings to save their states and to stop; for signal handlers."""
        self._stopping = True
        if self._queue is not None:
            self._queue.stop()

    def run(
        self,
        lrs: Sequence[float],
        seeds: Sequence[int],
        *,
        executor: Executor | None = None,
        progress: Progress = no_progress,
    ) -> Comparison:
        """Runs what is left and returns all of it; arguments are those of `compare`.

        A training whose loss becomes infinite is a result: its directory says why; it is not tried again. The
        executor is closed at the end.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            DartboardError: If something does not fit, or the folder has another comparison.
        """
        for lr in lrs:
            if not (math.isfinite(lr) and lr > 0):
                raise OptionError(f"a learning rate is above 0, not {lr}")
        pairs = [(float(lr), seed) for lr in dict.fromkeys(lrs) for seed in dict.fromkeys(seeds)]
        entries = [Entry(label, lr, seed) for lr, seed in pairs for label, _ in self.plan.cells]
        self.builder.progress = progress
        part, sizes = self._rehearse(entries[0])
        self._claim_folder()
        jobs = [self.job(entry) for entry in entries]
        executor = executor or InlineExecutor(JobRunner(builder=self.builder))
        count = _EpochCount(jobs, progress)
        count.on_poll([])  # what earlier invocations have done
        self._queue = JobQueue(executor, monitor=count)
        if self._stopping:  # the request may have come before there was a queue
            self._queue.stop()
        try:
            for result in self._queue.run([job for job in jobs if not _is_over(job.path)]):
                if result.error_type == DivergedError.__name__:
                    write_file(result.job.path / FAULT, f"{result.error}\n")
                elif result.state == "failed":
                    raise RunError(f"{result.job.name}: {result.error}")
        finally:
            executor.close()
            self._queue = None
        cells = {label: decode(text) for label, text in self.plan.cells}
        return Comparison(cells, [self._read(entry, part) for entry in entries], part, sizes)

    def job(self, entry: Entry) -> Job:
        """The job of a training; it has one thread, so that results do not depend on the executor."""
        config, home = self.plan.config(entry), str(self.plan.settings.space.name)
        cells = config.net.cells or adopt(load_space(home), decode(config.cell)).stack.cells
        return Job(
            entry.name,
            str((self.folder / RUNS).resolve()),
            "train",
            train_config.resolved(config, home, cells),
            threads=1,
            device=str(self.device),
            plugins=config.plugins,
        )

    def _rehearse(self, first: Entry) -> tuple[str, dict[str, int]]:
        """Builds every network once; which images it is measured on, and the number of weights of each."""
        check_plugins(self.plan.settings.plugins)
        sizes, part = {}, ""
        for label, _ in self.plan.cells:
            trainer = self.builder.build_job(self.job(Entry(label, first.lr, first.seed)))
            assert isinstance(trainer, Trainer)  # noqa: S101
            sizes[label], part = count_parameters(trainer.net), trainer.measured_on
        return part, sizes

    def _claim_folder(self) -> None:
        """Writes down settings, images and cells of the comparison; new cells join those from before.

        Raises:
            RunError: If the folder has another comparison; says what differs.
        """
        settings = self.plan.settings
        first = self.plan.config(Entry(self.plan.cells[0][0], 1.0, 0))
        shared = train_config.resolved(first, str(settings.space.name), 0)
        del shared["cell"], shared["seed"], shared["weights"]["lr"], shared["checkpoint"]
        shared["net"]["cells"] = settings.net.cells
        images = self.builder.images(settings.data).fingerprint
        cells = {label: json.loads(text) for label, text in self.plan.cells}
        self.folder.mkdir(parents=True, exist_ok=True)
        with Lock(self.folder):
            atomic.remove_leftovers(self.folder)
            settle(self.folder)
            if before := _read_claim(self.folder / FILE):
                changes = differences(before["settings"], shared)
                if before["images"] != images and before["settings"] == shared:
                    changes = "the images have changed"
                if changes:
                    raise RunError(
                        f"{self.folder} has a comparison with other settings: {changes}; name another folder"
                    )
            earlier: dict[str, Any] = before.get("cells", {})
            for label, cell in cells.items():
                if earlier.get(label, cell) != cell:
                    raise RunError(f"{self.folder} has another cell called {label}; name another folder")
            content = {"settings": shared, "images": images, "cells": earlier | cells}
            write_file(self.folder / FILE, json.dumps(content, indent=1) + "\n")

    def _read(self, entry: Entry, part: str) -> Training:
        """The curves of a training, infinite where a metric was no finite number."""
        path = self.folder / RUNS / entry.name
        rows, curves = RunReader.read(path).metrics(), {}
        names = {TRAIN_LOSS: "train_loss", LOSS: f"{part}_loss", ACCURACY: f"{part}_accuracy"}
        for metric, name in names.items():
            points = [(row["epoch"] + 1, row[name]) for row in rows if name in row]
            values = tuple(math.inf if value is None else float(value) for _, value in points)
            curves[metric] = LearningCurve(tuple(epoch for epoch, _ in points), values)
        return Training(entry, curves, _fault(path))


class _EpochCount(Monitor):
    """Reports how many epochs are complete, of all trainings of a comparison together."""

    def __init__(self, jobs: Sequence[Job], progress: Progress) -> None:
        self._paths = [job.path for job in jobs]
        self._total = sum(job.config["epochs"] for job in jobs)
        self._progress = progress

    def on_poll(self, running: Sequence[Job]) -> None:  # noqa: ARG002
        epochs = 0
        for path in self._paths:
            with suppress(OSError, RunError):  # not started yet
                epochs += read_file(path / METRICS, root=path).count(b"\n")
        self._progress("training", epochs, self._total)


def _is_over(path: Path) -> bool:
    return is_run(path) and (RunReader.read(path).state == "finished" or _fault(path) is not None)


def _fault(path: Path) -> str | None:
    """Why a training broke off; None of one that did not, or went on to its end after all."""
    if not (path / FAULT).exists() or RunReader.read(path).state == "finished":
        return None
    return read_file(path / FAULT, root=path).decode("utf-8", "replace").strip()


def _read_claim(path: Path) -> dict[str, Any]:
    """What a folder's file says is compared there; empty if there is no file."""
    if not os.path.lexists(path):
        return {}
    try:
        content = json.loads(read_file(path, root=path.parent))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not {"settings", "images", "cells"} <= set(content):
        raise RunError(f"{path} is damaged; move the folder away, or name another")
    return content
