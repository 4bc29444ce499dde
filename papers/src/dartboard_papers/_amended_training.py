"""Trains networks from scratch to compare cells, for Amended-DARTS; results are cached."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field

from dartboard.data import Dataset
from dartboard.engine.config import DataOptions, NetOptions, SourceOptions, WeightOptions
from dartboard.errors import DataError
from dartboard.runs import Run
from dartboard.search.build import make_evaluation_batches
from dartboard.search.config import SearchOptions, load_images
from dartboard.search.health import accuracy
from dartboard.search.method import Method
from dartboard.search.searcher import EVALUATION_BATCH, Searcher, load_searcher
from dartboard.space.files import load_space
from dartboard.space.formats import decode
from dartboard.space.genotype import restrict
from dartboard.train.config import (
    EvaluationOptions,
    TrainDataOptions,
    TrainNetOptions,
    TrainOptions,
    TrainWeightOptions,
)
from dartboard.train.trainer import Trainer
from dartboard.utils.atomic import write_text
from dartboard.utils.processes import parallel_map
from dartboard.utils.safe_files import read_file
from dartboard_papers._amended import Images
from dartboard_papers.base import RunOptions

TRAINED = "trained"
"""Folder of the results of trainings, inside that of the options."""
Part = Literal["valid", "test"]
SHARE = 0.2
"""Fraction of the training images held out where cells are compared by validation error."""


class Regularized(Images):
    """The images, and regularization of the networks; none by default."""

    images: str = Field(default="cluttered-digits", description="what is told apart")
    cutout: int = Field(default=0, ge=0, description="side of a square that is cut out of images; 0 for none")
    auxiliary: float = Field(
        default=0.0, ge=0, description="weight of an auxiliary classifier's loss; 0 for none"
    )
    drop_path: float = Field(
        default=0.0, ge=0, lt=1, description="chance of an edge to be dropped, in training"
    )

    def in_training(self) -> dict[str, Any]:
        """Arguments of a `TrainingSpec`."""
        return self.model_dump(include={"pad", "flip", "cutout", "auxiliary", "drop_path"})


REGULARIZED: dict[str, Any] = {
    "images": "cifar10",
    "pad": 4,
    "flip": True,
    "cutout": 16,
    "auxiliary": 0.4,
    "drop_path": 0.2,
}
"""Regularization with which DARTS trains its cells."""


@dataclass(frozen=True)
class TrainingSpec:
    """Training of a network from scratch, as it is sent to a worker process.

    Args:
        space: File of the search space.
        genotype: Cells as JSON; unused if `run` is given.
        data: Name of the images.
        channels: Channels of the first stage.
        epochs: Passes over the training images.
        batch: Images in a step.
        lr: Learning rate at the start; it falls to zero.
        seed: Random seed of the initial weights and the order of images.
        pad: Zeros around images, of which crops are taken.
        flip: Whether images are flipped at random.
        cutout: Side of a square that is cut out of images.
        auxiliary: Weight of an auxiliary classifier's loss.
        drop_path: Probability that an edge is dropped; at the last epoch for cells, constant for supernets.
        part: Images it is evaluated on; for `test` it is trained on all training images.
        run: A finished search whose supernet is trained, with its mixtures fixed, instead of the cells.
    """

    space: str
    genotype: str
    data: str
    channels: int
    epochs: int
    batch: int
    lr: float
    seed: int
    pad: int = 0
    flip: bool = False
    cutout: int = 0
    auxiliary: float = 0.0
    drop_path: float = 0.0
    part: Part = "test"
    run: str = ""


def errors(trainings: Mapping[str, TrainingSpec], options: RunOptions, what: str) -> dict[str, float]:
    """Error of each training in percent, by label; results that exist are read."""
    folder = options.folder / TRAINED
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {
        label: (spec, folder / result_name(label, spec), str(options.device))
        for label, spec in trainings.items()
    }
    missing = [job for job in jobs.values() if not job[1].exists()]
    options.tell(what, len(jobs) - len(missing), len(jobs))
    for done, _ in enumerate(parallel_map(_finish, missing, options.jobs), len(jobs) - len(missing) + 1):
        options.tell(what, done, len(jobs))
    return {
        label: float(json.loads(read_file(path, root=path.parent))) for label, (_, path, _) in jobs.items()
    }


def result_name(label: str, training: TrainingSpec) -> str:
    """Name of the file of a training's result, which says everything that the result depends on."""
    text = json.dumps(asdict(training), sort_keys=True)
    return f"{label}-{sha256(text.encode()).hexdigest()[:8]}.json"


def _finish(job: tuple[TrainingSpec, Path, str]) -> None:
    training, path, device = job
    train = train_supernet if training.run else train_cells
    write_text(path, json.dumps(train(training, torch.device(device))) + "\n")


def load_tested(name: str) -> Dataset:
    """A data set with test images.

    Raises:
        DataError: If there are none.
    """
    data = load_images(name, SourceOptions(name=name).loading())
    if data.test is None:
        raise DataError(f"{name} has no test images, which networks are compared by here; use images that do")
    return data


def train_cells(training: TrainingSpec, device: torch.device) -> float:
    """Trains a discrete network; returns its error in percent."""
    space = restrict(load_space(training.space), decode(training.genotype))
    report = Trainer(space, load_tested(training.data), cell_options(training), device=device).fit()
    return 100 * (1 - report.last[training.part].top1)


def cell_options(training: TrainingSpec) -> TrainOptions:
    """Options of the training of a discrete network."""
    return TrainOptions(
        epochs=training.epochs,
        batch=training.batch,
        seed=training.seed,
        net=TrainNetOptions(
            channels=training.channels, auxiliary=training.auxiliary, drop_path=training.drop_path
        ),
        data=TrainDataOptions(
            valid=SHARE if training.part == "valid" else 0.0,
            pad=training.pad,
            flip=training.flip,
            cutout=training.cutout,
        ),
        weights=TrainWeightOptions(lr=training.lr),
        evaluation=EvaluationOptions(every=training.epochs),
    )


def train_supernet(training: TrainingSpec, device: torch.device) -> float:
    """Trains a search's supernet from scratch, its mixtures fixed; returns the test error in percent."""
    relaxation = load_searcher(Run.read(training.run), device).relaxation
    for parameter in relaxation.arch_parameters():
        parameter.requires_grad_(False)
    method = Method(lambda _space, _generator: relaxation)
    space, data = load_space(training.space), load_tested(training.data)
    searcher = Searcher(space, method, data, supernet_options(training), device=device)
    searcher.fit()
    assert data.test is not None  # noqa: S101  # `load_tested` has seen them
    batches = make_evaluation_batches(
        data.test.to(device), data, searcher.options.data, batch=EVALUATION_BATCH, device=device
    )
    return 100 * (1 - accuracy(searcher.objective, searcher.relaxation, batches))


def supernet_options(training: TrainingSpec) -> SearchOptions:
    """Options of the training of a supernet."""
    return SearchOptions(
        epochs=training.epochs,
        batch=training.batch,
        seed=training.seed,
        net=NetOptions(
            channels=training.channels, auxiliary=training.auxiliary, drop_path=training.drop_path
        ),
        data=DataOptions(valid=0.0, pad=training.pad, flip=training.flip, cutout=training.cutout),
        weights=WeightOptions(lr=training.lr, lr_end=0.0),
    )
