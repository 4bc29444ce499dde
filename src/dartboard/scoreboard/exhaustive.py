"""Training every architecture of a small space: how the nano benchmark was made."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dartboard.data import Dataset, load_dataset
from dartboard.errors import TableError
from dartboard.space import Genotype, SearchSpace, adopt, enumerate_genotypes, get_space
from dartboard.train import Trainer, TrainOptions
from dartboard.train.build import TEST, VALID
from dartboard.train.record import TrainRecord
from dartboard.train.trainer import TrainHook
from dartboard.utils.atomic import write_text
from dartboard.utils.parallel import in_processes

PARTS = (VALID, TEST)
Array = np.ndarray[Any, Any]
PLAN = "plan.json"


@dataclass(frozen=True)
class Training:
    """What came of training one architecture with one seed.

    Args:
        right: By part, how many images are told rightly, at each time that was measured.
        loss: The mean training loss of the epoch before.
        seconds: Of the processor, without what was measured for the curves alone. One thread computes, so it
            takes so long on a machine that has nothing else to do.
        parameters: Weights of the network.
        flops: Operations of one image, two a multiply-add.
    """

    right: Mapping[str, Sequence[int]]
    loss: Sequence[float]
    seconds: float
    parameters: int
    flops: int


@dataclass
class Curves(TrainHook):
    """Measures on all held-out images now and then.

    Args:
        every: After so many epochs.

    Attributes:
        right: By part, how many images are told rightly each time.
        loss: The mean training loss of the epoch before.
        seconds: What the measuring took of the processor.
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
            share = loop.evaluate(loop.used_net, part).top1
            self.right[part].append(round(share * len(loop.supply.held_out[part])))
        self.loss.append(float(record.metrics["train_loss"]))
        self.seconds += time.process_time() - began


def train(
    space: SearchSpace, genotype: Genotype, data: Dataset, options: TrainOptions, *, every: int = 1
) -> Training:
    """One architecture, trained from scratch.

    Args:
        space: Whose stack the cells go into.
        genotype: The architecture.
        data: The images.
        options: All other numbers.
        every: After how many epochs it is measured.

    Raises:
        TableError: If the data set lacks validation or test images.
    """
    if data.valid is None or data.test is None:
        raise TableError(f"a benchmark needs validation and test images, which {data.name!r} has not")
    curves, began = Curves(every), time.process_time()
    result = Trainer(adopt(space, genotype), data, options, hooks=[curves]).fit()
    seconds = time.process_time() - began - curves.seconds
    return Training(curves.right, curves.loss, seconds, result.parameters, result.flops)


@dataclass(frozen=True)
class Plan:
    """A benchmark to be made.

    Args:
        space: The name of its space.
        data: The name of its images, which have all three parts.
        options: Of every training; the seed is set for each.
        seeds: With how many seeds each architecture is trained.
        every: After how many epochs each is measured.
    """

    space: str
    data: str
    options: Mapping[str, Any]
    seeds: int
    every: int

    def jobs(self) -> list[tuple[int, int]]:
        """Every architecture, by its number, with every seed; those with the first seed come first."""
        count = len(list(enumerate_genotypes(get_space(self.space))))
        return [(number, seed) for seed in range(self.seeds) for number in range(count)]

    def do(self, number: int, seed: int) -> Training:
        """One of its trainings."""
        space, data = get_space(self.space), load_dataset(self.data)
        options = TrainOptions.model_validate({**self.options, "seed": seed})
        return train(space, list(enumerate_genotypes(space))[number], data, options, every=self.every)


def make(plan: Plan, folder: Path, workers: int) -> Iterator[tuple[int, int]]:
    """Does what is left of a plan, each training in a file of its own, and says how many are done of all.

    Args:
        plan: What to do.
        folder: Where the files are; those that are there are kept, so that a stopped making goes on.
        workers: How many processes train; if there are several, each has one thread.

    Raises:
        TableError: If the folder has trainings of another plan.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _claim(plan, folder)
    jobs = plan.jobs()
    left = [job for job in jobs if not _file(folder, *job).exists()]
    done = len(jobs) - len(left)
    yield done, len(jobs)
    for _ in in_processes(partial(_train_into, plan, folder), left, workers):
        done += 1
        yield done, len(jobs)


def _claim(plan: Plan, folder: Path) -> None:
    """Writes down whose trainings the folder has, or refuses those of another plan."""
    path, told = folder / PLAN, json.dumps(asdict(plan), sort_keys=True) + "\n"
    if not path.exists():
        write_text(path, told)
    elif path.read_text(encoding="utf-8") != told:
        raise TableError(f"{folder} has trainings of another plan, which {path} tells; name another folder")


def _train_into(plan: Plan, folder: Path, job: tuple[int, int]) -> None:
    write_text(_file(folder, *job), json.dumps(asdict(plan.do(*job))) + "\n")


def _file(folder: Path, number: int, seed: int) -> Path:
    return folder / f"{number:04d}-s{seed}.json"


def gather(plan: Plan, folder: Path) -> dict[str, Array]:
    """The trainings of a finished plan as arrays; `oracle.nano` says which.

    Raises:
        TableError: If some are missing, or they are of another plan.
    """
    _claim(plan, folder)
    jobs = plan.jobs()
    missing = [job for job in jobs if not _file(folder, *job).exists()]
    if missing:
        raise TableError(f"{folder} lacks {len(missing):,} of {len(jobs):,} trainings; make them first")
    told = [json.loads(_file(folder, *job).read_text(encoding="utf-8")) for job in jobs]

    def stack(values: Sequence[Any], kind: type) -> Array:
        by_seed: Array = np.array(values, dtype=kind).reshape(plan.seeds, -1, *np.shape(values[0]))
        return np.swapaxes(by_seed, 0, 1)

    return {
        **{part: stack([own["right"][part] for own in told], np.uint16) for part in PARTS},
        "loss": stack([own["loss"] for own in told], np.float32),
        "seconds": stack([own["seconds"] for own in told], np.float32),
        "parameters": stack([own["parameters"] for own in told], np.int64)[:, 0],
        "flops": stack([own["flops"] for own in told], np.int64)[:, 0],
    }
