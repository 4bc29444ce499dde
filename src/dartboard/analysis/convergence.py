"""How fast cells learn: they are trained side by side, from the same seeds and on the same batches.

Each training is an ordinary run in FOLDER/runs, so that a comparison which was killed goes on where it was,
to the same bits. By default nothing regularises but weight decay, as in section 4 of understanding-cells.
"""

import math
import threading
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch

from dartboard.analysis.comparison import ACCURACY, LOSS, TRAIN_LOSS, Comparison, Entry, Training
from dartboard.analysis.curves import Curve
from dartboard.analysis.side_by_side import Maker, Plan, claim, make_settings
from dartboard.errors import DivergedError, OptionError, Stopped
from dartboard.jobs.inner import Inner, Job
from dartboard.nn.costs import count_parameters
from dartboard.plugins import check_plugins, load_plugin
from dartboard.runs import Run, is_run
from dartboard.runs.store import METRICS as LINES
from dartboard.space import Genotype, decode
from dartboard.train.config import TrainSettings
from dartboard.train.trainer import Trainer
from dartboard.utils.atomic import write_text
from dartboard.utils.parallel import in_processes, one_thread
from dartboard.utils.progress import Progress, no_progress

RUNS = "runs"
FAULT = "fault.txt"
"""In the directory of a training that broke off: why."""
PAUSE = 0.5
"""Seconds between two looks at how far the trainings are."""

__all__ = ["Comparer", "compare", "make_settings"]


@dataclass(eq=False)
class Comparer:
    """Does a comparison: what is left of it, in one process or in several.

    Args:
        plan: What is compared.
        folder: Keeps the trainings.
        device: Where they compute.
    """

    plan: Plan
    folder: Path
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self) -> None:
        self._maker = Maker(self.plan)
        self._inner = Inner(self.folder / RUNS, self.device)
        self._apart = self._stopping = False

    def stop(self) -> None:
        """Asks to save and to stop; for signal handlers. Processes of its own end at once.

        Raises:
            KeyboardInterrupt: If there are several: they go on from the last epoch that was complete.
        """
        self._stopping = True
        self._inner.stop()
        if self._apart:
            raise KeyboardInterrupt

    def run(
        self, lrs: Sequence[float], seeds: Sequence[int], *, jobs: int = 1, tell: Progress = no_progress
    ) -> Comparison:
        """Does what is left and returns all of it.

        Raises:
            Stopped: If `stop` was called; the state has been saved.
            DartboardError: If something does not fit, or the folder has another comparison.
        """
        entries = [Entry(label, lr, seed) for lr, seed in _pairs(lrs, seeds) for label, _ in self.plan.cells]
        self._maker.progress = tell
        part, sizes = self._rehearse(entries[0])
        self.folder.mkdir(parents=True, exist_ok=True)
        claim(self.folder, self._maker.claims(), dict(self.plan.cells))
        with one_thread(), self._watched(entries, tell), closing(self._train(entries, jobs)) as trainings:
            deque(trainings, maxlen=0)
        cells = {label: decode(text) for label, text in self.plan.cells}
        return Comparison(cells, [self._read(own, part) for own in entries], part, sizes)

    def _rehearse(self, first: Entry) -> tuple[str, dict[str, int]]:
        """Makes every network once; on what it is measured, and how many weights each has."""
        check_plugins(self.plan.settings.plugins)
        sizes, part = {}, ""
        for label, _ in self.plan.cells:
            trainer = self._maker.job(Entry(label, first.lr, first.seed), self.device).make(())
            assert isinstance(trainer, Trainer)  # noqa: S101
            sizes[label], part = count_parameters(trainer.net), trainer.measured_on
        return part, sizes

    def _train(self, entries: Sequence[Entry], jobs: int) -> Generator[object, None, None]:
        """Does those that are not over, with a stop after each."""
        left = [own for own in entries if not _is_over(self.folder / RUNS / own.name)]
        if jobs == 1 or len(left) < 2:
            for own in left:
                _attempt(self._inner, self._maker.job(own, self.device))
                yield own
            return
        self._apart = True
        if self._stopping:  # it may have come before there were processes to end
            raise Stopped("stopped before the first training")
        work = partial(_train_apart, self.plan, self.folder / RUNS, str(self.device))
        yield from in_processes(work, left, jobs)
        self._apart = False

    @contextmanager
    def _watched(self, entries: Sequence[Entry], tell: Progress) -> Iterator[None]:
        """Inside, `tell` hears now and then how many epochs are complete, of all trainings together."""
        total, over = len(entries) * self.plan.settings.epochs, threading.Event()

        def say() -> None:
            tell("training", sum(_epochs(self.folder / RUNS / own.name) for own in entries), total)

        def watch() -> None:
            while not over.wait(PAUSE):
                say()

        watcher = threading.Thread(target=watch, daemon=True)
        say()
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
        say()

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
    jobs: int = 1,
    device: torch.device | str = "cpu",
    tell: Progress = no_progress,
) -> Comparison:
    """Cells trained side by side: for each learning rate and seed, all of them see the same batches.

    Every training computes with one thread, so that the results do not depend on `jobs`. A training whose
    loss becomes infinite is part of the result: it has broken off, and is not tried again.

    Args:
        cells: By label; a label becomes part of a directory's name.
        settings: Of all trainings; `make_settings` makes them.
        folder: Keeps the trainings. The same call goes on with what is there; more cells, learning rates or
            seeds add to it.
        lrs: Learning rates at the start; by default that of the settings.
        seeds: Of start and order; by default that of the settings.
        jobs: How many processes train.
        device: Where to compute.
        tell: Is told how many epochs are complete.

    Raises:
        DartboardError: If something does not fit, or the folder has a comparison with other settings.
    """
    comparer = Comparer(Plan.of(cells, settings), folder, torch.device(device))
    rates = lrs or (settings.weights.lr,)
    return comparer.run(rates, seeds or (settings.seed,), jobs=jobs, tell=tell)


def _pairs(lrs: Sequence[float], seeds: Sequence[int]) -> list[tuple[float, int]]:
    """Every learning rate with every seed, each once.

    Raises:
        OptionError: If a learning rate cannot be one.
    """
    for lr in lrs:
        if not (math.isfinite(lr) and lr > 0):
            raise OptionError(f"a learning rate is above 0, not {lr}")
    return [(float(lr), seed) for lr in dict.fromkeys(lrs) for seed in dict.fromkeys(seeds)]


@lru_cache(maxsize=1)
def _maker_here(plan: Plan) -> Maker:
    """Of a process that trains for another one."""
    return Maker(plan)


def _train_apart(plan: Plan, folder: Path, device: str, entry: Entry) -> None:
    for file in plan.settings.plugins:
        load_plugin(file)
    where = torch.device(device)
    _attempt(Inner(folder, where), _maker_here(plan).job(entry, where))


def _attempt(inner: Inner, job: Job) -> None:
    """Does a training; if it breaks off, its directory says why, so that it is not tried again."""
    try:
        inner.finish(job)
    except DivergedError as error:
        write_text(inner.folder / job.name / FAULT, f"{error}\n")


def _is_over(path: Path) -> bool:
    return is_run(path) and (Run.read(path).state == "finished" or _fault(path) is not None)


def _fault(path: Path) -> str | None:
    """Why a training broke off; None of one that did not, or went on to its end after all."""
    if not (path / FAULT).exists() or Run.read(path).state == "finished":
        return None
    return (path / FAULT).read_text(encoding="utf-8").strip()


def _epochs(path: Path) -> int:
    """How many epochs of a run are complete, as far as that is quick to tell."""
    try:
        return (path / LINES).read_bytes().count(b"\n")
    except OSError:
        return 0


def _curve(rows: Sequence[Mapping[str, Any]], name: str) -> Curve:
    """What was recorded under a name; infinite where that was no finite number."""
    points = [(row["epoch"] + 1, row[name]) for row in rows if name in row]
    values = tuple(math.inf if value is None else float(value) for _, value in points)
    return Curve(tuple(epoch for epoch, _ in points), values)
