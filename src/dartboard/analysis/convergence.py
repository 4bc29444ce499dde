"""How fast cells learn: they are trained side by side, from the same seeds and on the same batches.

Each training is an ordinary run in FOLDER/runs, so that a comparison which was killed goes on where it was,
to the same bits. By default nothing regularises but weight decay, as in section 4 of understanding-cells.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from dartboard.analysis.comparison import ACCURACY, LOSS, TRAIN_LOSS, Comparison, Curve, Entry, Training
from dartboard.analysis.side_by_side import RUNS, ComparisonJobs, Plan, claim, make_settings
from dartboard.errors import DivergedError, OptionError, RunError
from dartboard.jobs.executors.base import Executor
from dartboard.jobs.executors.inline import InlineExecutor
from dartboard.jobs.job import Job
from dartboard.jobs.monitor import Monitor
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import JobRunner
from dartboard.nn.costs import count_parameters
from dartboard.plugins import check_plugins
from dartboard.runs import Run, is_run
from dartboard.runs.directory import METRICS
from dartboard.space import Genotype, decode
from dartboard.train.config import TrainSettings
from dartboard.train.trainer import Trainer
from dartboard.utils.atomic import write_text
from dartboard.utils.progress import Progress, no_progress

FAULT = "fault.txt"
"""In the directory of a training that broke off: why."""

__all__ = ["Comparer", "compare", "make_settings"]


class Comparer:
    """Runs what is left of a comparison.

    Args:
        plan: What is compared.
        folder: Directory of the comparison.
        device: Where to compute.
    """

    def __init__(self, plan: Plan, folder: Path, device: torch.device | None = None) -> None:
        self.plan, self.folder = plan, folder
        self.device = device or torch.device("cpu")
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
        """Runs what is left and returns all of it.

        Args:
            lrs: Initial learning rates.
            seeds: Random seeds.
            executor: Where the trainings run; by default in this process. Closed at the end.
            progress: Reports how many epochs are complete, of all trainings together.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            DartboardError: If something does not fit, or the folder has another comparison.
        """
        entries = [Entry(label, lr, seed) for lr, seed in _pairs(lrs, seeds) for label, _ in self.plan.cells]
        jobs = ComparisonJobs(self.plan, self.folder, self.device, progress)
        part, sizes = self._rehearse(jobs, entries[0])
        self.folder.mkdir(parents=True, exist_ok=True)
        claim(self.folder, jobs.claims(), dict(self.plan.cells))
        trainings = [jobs.job(entry) for entry in entries]
        executor = executor or InlineExecutor(JobRunner(builder=jobs.builder))
        count = _EpochCount(trainings, progress)
        count.on_poll([])  # what earlier invocations have done
        self._queue = JobQueue(executor, monitor=count)
        if self._stopping:  # the request may have come before there was a queue
            self._queue.stop()
        try:
            self._train(trainings)
        finally:
            executor.close()
            self._queue = None
        cells = {label: decode(text) for label, text in self.plan.cells}
        return Comparison(cells, [self._read(entry, part) for entry in entries], part, sizes)

    def _rehearse(self, jobs: ComparisonJobs, first: Entry) -> tuple[str, dict[str, int]]:
        """Builds every network once; which images it is measured on, and the number of weights of each."""
        check_plugins(self.plan.settings.plugins)
        sizes, part = {}, ""
        for label, _ in self.plan.cells:
            trainer = jobs.builder.build_job(jobs.job(Entry(label, first.lr, first.seed)))
            assert isinstance(trainer, Trainer)  # noqa: S101
            sizes[label], part = count_parameters(trainer.net), trainer.measured_on
        return part, sizes

    def _train(self, jobs: Sequence[Job]) -> None:
        """Runs the trainings that are not over.

        A training whose loss becomes infinite is a result: its directory says why; it is not tried again.
        """
        assert self._queue is not None  # noqa: S101
        for result in self._queue.run([job for job in jobs if not _is_over(job.path)]):
            if result.error_type == DivergedError.__name__:
                write_text(result.job.path / FAULT, f"{result.error}\n")
            elif result.state == "failed":
                raise RunError(f"{result.job.name}: {result.error}")

    def _read(self, entry: Entry, part: str) -> Training:
        path = self.folder / RUNS / entry.name
        rows, fault = Run.read(path).metrics(), _fault(path)
        names = {TRAIN_LOSS: "train_loss", LOSS: f"{part}_loss", ACCURACY: f"{part}_accuracy"}
        return Training(entry, {metric: _curve(rows, name) for metric, name in names.items()}, fault)


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
    comparer = Comparer(Plan.of(cells, settings), folder, torch.device(device))
    rates = lrs or (settings.weights.lr,)
    return comparer.run(rates, seeds or (settings.seed,), executor=executor, progress=progress)


def _pairs(lrs: Sequence[float], seeds: Sequence[int]) -> list[tuple[float, int]]:
    """Every learning rate with every seed, each once.

    Raises:
        OptionError: If a learning rate cannot be one.
    """
    for lr in lrs:
        if not (math.isfinite(lr) and lr > 0):
            raise OptionError(f"a learning rate is above 0, not {lr}")
    return [(float(lr), seed) for lr in dict.fromkeys(lrs) for seed in dict.fromkeys(seeds)]


class _EpochCount(Monitor):
    """Reports how many epochs are complete, of all trainings together.

    Args:
        jobs: All jobs of the comparison.
        progress: Receives the counts.
    """

    def __init__(self, jobs: Sequence[Job], progress: Progress) -> None:
        self._paths = [job.path for job in jobs]
        self._total = sum(job.config["epochs"] for job in jobs)
        self._progress = progress

    def on_poll(self, running: Sequence[Job]) -> None:  # noqa: ARG002
        epochs = 0
        for path in self._paths:
            with suppress(OSError):  # not started yet
                epochs += (path / METRICS).read_bytes().count(b"\n")
        self._progress("training", epochs, self._total)


def _is_over(path: Path) -> bool:
    return is_run(path) and (Run.read(path).state == "finished" or _fault(path) is not None)


def _fault(path: Path) -> str | None:
    """Why a training broke off; None of one that did not, or went on to its end after all."""
    if not (path / FAULT).exists() or Run.read(path).state == "finished":
        return None
    return (path / FAULT).read_text(encoding="utf-8").strip()


def _curve(rows: Sequence[Mapping[str, Any]], name: str) -> Curve:
    """What was recorded under a name; infinite where that was no finite number."""
    points = [(row["epoch"] + 1, row[name]) for row in rows if name in row]
    values = tuple(math.inf if value is None else float(value) for _, value in points)
    return Curve(tuple(epoch for epoch, _ in points), values)
