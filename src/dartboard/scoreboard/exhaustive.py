"""Training every architecture of a small space: how the nano benchmark was made."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dartboard.data import Dataset, load_dataset
from dartboard.errors import RunError, TableError
from dartboard.jobs.executors import Executor
from dartboard.jobs.job import Job, State
from dartboard.jobs.queue import JobQueue
from dartboard.jobs.runner import KINDS, JobRunner
from dartboard.space import Genotype, SearchSpace, adopt, enumerate_genotypes, get_space
from dartboard.train import Trainer, TrainOptions
from dartboard.train.build import TEST, VALID
from dartboard.train.record import TrainRecord
from dartboard.train.trainer import TrainHook
from dartboard.utils.atomic import write_text
from dartboard.utils.checksums import seal, unseal
from dartboard.utils.processes import using_threads
from dartboard.utils.safe_files import read_file

PARTS = (VALID, TEST)
Array = np.ndarray[Any, Any]
PLAN = "plan.json"


@dataclass(frozen=True)
class BenchmarkTraining:
    """Result of training one architecture with one seed.

    Args:
        right: By part, the number of correct predictions at each measurement.
        loss: Mean training loss of the epoch before each measurement.
        seconds: Processor time of the training, without the measurements. With one thread, this is its
            duration on an idle machine.
        parameters: Number of parameters of the network.
        flops: FLOPs of one image, two for a multiply-add.
    """

    right: Mapping[str, Sequence[int]]
    loss: Sequence[float]
    seconds: float
    parameters: int
    flops: int


@dataclass
class MeasureCurves(TrainHook):
    """Measures on all held-out images while training.

    Args:
        every: Number of epochs between two measurements.

    Attributes:
        right: By part, the number of correct predictions at each measurement.
        loss: Mean training loss of the epoch before each measurement.
        seconds: Processor time of the measurements.
    """

    every: int
    right: dict[str, list[int]] = field(default_factory=lambda: {part: [] for part in PARTS})
    loss: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def on_epoch_end(self, loop: Trainer, record: TrainRecord) -> None:
        if (record.epoch + 1) % self.every:
            return
        began = time.process_time()
        for part in PARTS:
            accuracy = loop.evaluate(loop.used_net, part).top1
            self.right[part].append(round(accuracy * len(loop.loaders.held_out[part])))
        self.loss.append(float(record.metrics["train_loss"]))
        self.seconds += time.process_time() - began


def train(
    space: SearchSpace, genotype: Genotype, data: Dataset, options: TrainOptions, *, every: int = 1
) -> BenchmarkTraining:
    """Trains one architecture from scratch in the stack of a space, measured every `every` epochs.

    Raises:
        TableError: If the data set lacks validation or test images.
    """
    if data.valid is None or data.test is None:
        raise TableError(f"a benchmark needs validation and test images, which {data.name!r} has not")
    curves, began = MeasureCurves(every), time.process_time()
    result = Trainer(adopt(space, genotype), data, options, hooks=[curves]).fit()
    seconds = time.process_time() - began - curves.seconds
    return BenchmarkTraining(curves.right, curves.loss, seconds, result.parameters, result.flops)


@dataclass(frozen=True)
class BenchmarkPlan:
    """A benchmark table to be made: every architecture of a space, trained with several seeds.

    Args:
        space: Name of its space.
        data: Name of its data set, which has all three parts.
        options: Options of every training; the seed is set for each.
        seeds: Number of seeds that each architecture is trained with.
        every: Number of epochs between two measurements.
    """

    space: str
    data: str
    options: Mapping[str, Any]
    seeds: int
    every: int

    def trainings(self) -> list[tuple[int, int]]:
        """Every architecture, by its number, with every seed; those with the first seed come first."""
        count = len(list(enumerate_genotypes(get_space(self.space))))
        return [(number, seed) for seed in range(self.seeds) for number in range(count)]

    def train(self, number: int, seed: int) -> BenchmarkTraining:
        """One of its trainings."""
        space, data = get_space(self.space), load_dataset(self.data)
        options = TrainOptions.model_validate({**self.options, "seed": seed})
        return train(space, list(enumerate_genotypes(space))[number], data, options, every=self.every)


@KINDS.register("benchmark-training")
class BenchmarkTrainingKind:
    """Jobs that train one architecture of a benchmark; the result is a small file."""

    @staticmethod
    def status(job: Job) -> State | None:
        """`finished` if the file is there, else None."""
        return "finished" if job.path.with_suffix(".json").exists() else None

    @staticmethod
    def run(job: Job, runner: JobRunner) -> State:  # noqa: ARG004  # too short to be stopped half-way
        """Trains the architecture and writes the file."""
        plan = BenchmarkPlan(**job.config["plan"])
        with using_threads(job.threads):
            training = plan.train(job.config["number"], job.config["seed"])
        write_text(job.path.with_suffix(".json"), seal(json.dumps(asdict(training))))
        return "finished"


def make(plan: BenchmarkPlan, folder: Path, executor: Executor) -> Iterator[tuple[int, int]]:
    """Runs what is left of a plan, each training in a file of its own; yields how many of all are done.

    Args:
        plan: The benchmark.
        folder: Directory of the files; those that exist stay, so that it can be stopped and run again.
        executor: Where the trainings run, each with one thread; closed at the end.

    Raises:
        TableError: If the folder has trainings of another plan.
        RunError: If a training fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _claim(plan, folder)
    jobs = [
        Job(
            _file(folder, number, seed).stem,
            str(folder.resolve()),
            "benchmark-training",
            {"plan": asdict(plan), "number": number, "seed": seed, "epochs": plan.options.get("epochs", 1)},
            threads=1,
        )
        for number, seed in plan.trainings()
    ]
    missing = [job for job in jobs if BenchmarkTrainingKind.status(job) is None]
    done = len(jobs) - len(missing)
    yield done, len(jobs)
    try:
        for result in JobQueue(executor).run(missing):
            if result.state != "finished":
                raise RunError(f"{result.job.name}: {result.error}")
            done += 1
            yield done, len(jobs)
    finally:
        executor.close()


def _claim(plan: BenchmarkPlan, folder: Path) -> None:
    """Records the plan of a folder, or refuses a folder of another plan."""
    path, text = folder / PLAN, json.dumps(asdict(plan), sort_keys=True) + "\n"
    if not path.exists():
        write_text(path, text)
    elif read_file(path, root=folder) != text.encode():
        raise TableError(f"{folder} has trainings of another plan, see {path}; name another folder")


def _file(folder: Path, number: int, seed: int) -> Path:
    return folder / f"{number:04d}-s{seed}.json"


def gather(plan: BenchmarkPlan, folder: Path) -> dict[str, Array]:
    """The trainings of a finished plan as arrays; see `dartboard.tables.nano`.

    Raises:
        TableError: If some are missing, or they are of another plan.
    """
    _claim(plan, folder)
    trainings = plan.trainings()
    missing = [key for key in trainings if not _file(folder, *key).exists()]
    if missing:
        raise TableError(f"{folder} lacks {len(missing):,} of {len(trainings):,} trainings; make them first")
    results = [
        json.loads(unseal(read_file(_file(folder, *key), root=folder), _file(folder, *key)))
        for key in trainings
    ]

    def stack(values: Sequence[Any], kind: type) -> Array:
        by_seed: Array = np.array(values, dtype=kind).reshape(plan.seeds, -1, *np.shape(values[0]))
        return np.swapaxes(by_seed, 0, 1)

    return {
        **{part: stack([result["right"][part] for result in results], np.uint16) for part in PARTS},
        "loss": stack([result["loss"] for result in results], np.float32),
        "seconds": stack([result["seconds"] for result in results], np.float32),
        "parameters": stack([result["parameters"] for result in results], np.int64)[:, 0],
        "flops": stack([result["flops"] for result in results], np.int64)[:, 0],
    }
