"""Networks that are trained to compare cells, for Amended-DARTS: results are kept, several at a time."""

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
from dartboard.search.config import SearchOptions, load_images
from dartboard.search.evaluate import accuracy
from dartboard.search.load import load_searcher
from dartboard.search.loaders import make_evaluation_batches
from dartboard.search.method import Method
from dartboard.search.searcher import EVALUATION_BATCH, Searcher
from dartboard.space.files import load_space
from dartboard.space.formats.catalog import decode
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
from dartboard_papers._amended import Images
from dartboard_papers.base import RunOptions

TRAINED = "trained"
"""The folder of what trainings came to, inside the setting's."""
Part = Literal["valid", "test"]
SHARE = 0.2
"""Of the training images, held out where cells are compared by validation images."""


class Regularised(Images):
    """The images, and what keeps networks from fitting them by heart; by default nothing does."""

    images: str = Field(default="cluttered-digits", description="what is told apart")
    cutout: int = Field(default=0, ge=0, description="side of a square that is cut out of images; 0 for none")
    auxiliary: float = Field(
        default=0.0, ge=0, description="weight of an auxiliary classifier's loss; 0 for none"
    )
    drop_path: float = Field(
        default=0.0, ge=0, lt=1, description="chance of an edge to be dropped, in training"
    )

    def in_training(self) -> dict[str, Any]:
        """What a `Training` is given of it."""
        return self.model_dump(include={"pad", "flip", "cutout", "auxiliary", "drop_path"})


REGULARISED: dict[str, Any] = {
    "images": "cifar10",
    "pad": 4,
    "flip": True,
    "cutout": 16,
    "auxiliary": 0.4,
    "drop_path": 0.2,
}
"""As DARTS trains what it found."""


@dataclass(frozen=True)
class Training:
    """The training of a network from scratch, as it travels to another process.

    Args:
        space: The file of the space that the network is of.
        genotype: Its cells as JSON; those that the supernet's mixtures are of, if `run` is given.
        data: The images.
        channels: Of the first stage.
        epochs: Passes over the training images.
        batch: Images in a step.
        lr: Learning rate at the start; it falls to zero.
        seed: Of the start and the order of images.
        pad: Zeros around images, of which crops are taken.
        flip: Whether images are flipped at random.
        cutout: Side of a square that is cut out of images.
        auxiliary: Weight of an auxiliary classifier's loss.
        drop_path: Chance of an edge to be dropped; of cells that at the end, of supernets that of all epochs.
        part: What it is measured on; for `test` it is trained on all training images.
        run: A finished search whose supernet, with its mixtures, is trained in the place of the cells.
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


def errors(trainings: Mapping[str, Training], options: RunOptions, what: str) -> dict[str, float]:
    """The error of each training in percent, by label: those that were done before are not done again."""
    folder = options.folder / TRAINED
    folder.mkdir(parents=True, exist_ok=True)
    asked = {
        label: (own, folder / _name(label, own), str(options.device)) for label, own in trainings.items()
    }
    left = [own for own in asked.values() if not own[1].exists()]
    options.tell(what, len(asked) - len(left), len(asked))
    for done, _ in enumerate(parallel_map(_finish, left, options.jobs), len(asked) - len(left) + 1):
        options.tell(what, done, len(asked))
    return {label: float(json.loads(path.read_text("utf-8"))) for label, (_, path, _) in asked.items()}


def _name(label: str, training: Training) -> str:
    text = json.dumps(asdict(training), sort_keys=True)
    return f"{label}-{sha256(text.encode()).hexdigest()[:8]}.json"


def _finish(job: tuple[Training, Path, str]) -> None:
    training, path, device = job
    train = train_supernet if training.run else train_cells
    write_text(path, json.dumps(train(training, torch.device(device))) + "\n")


def load_tested(name: str) -> Dataset:
    """Images that have test images among them.

    Raises:
        DataError: If there are none.
    """
    data = load_images(name, SourceOptions(name=name).loading())
    if data.test is None:
        raise DataError(f"{name} has no test images, which networks are compared by here; use images that do")
    return data


def train_cells(training: Training, device: torch.device) -> float:
    """The error of a discrete network, in percent."""
    space = restrict(load_space(training.space), decode(training.genotype))
    found = Trainer(space, load_tested(training.data), cell_options(training), device=device).fit()
    return 100 * (1 - found.last[training.part].top1)


def cell_options(training: Training) -> TrainOptions:
    """How a discrete network is trained."""
    return TrainOptions(
        epochs=training.epochs,
        batch=training.batch,
        seed=training.seed,
        net=TrainNetOptions(**_net(training)),
        data=TrainDataOptions(valid=SHARE if training.part == "valid" else 0.0, **_varied(training)),
        weights=TrainWeightOptions(lr=training.lr),
        evaluation=EvaluationOptions(every=training.epochs),
    )


def _net(training: Training) -> dict[str, Any]:
    return {key: getattr(training, key) for key in ("channels", "auxiliary", "drop_path")}


def _varied(training: Training) -> dict[str, Any]:
    return {key: getattr(training, key) for key in ("pad", "flip", "cutout")}


def train_supernet(training: Training, device: torch.device) -> float:
    """The test error of a search's supernet, in percent: weights from scratch, its mixtures as found."""
    relaxation = load_searcher(Run.read(training.run), device).relaxation
    for values in relaxation.arch_parameters():
        values.requires_grad_(False)
    method = Method(lambda _space, _generator: relaxation)
    space, data = load_space(training.space), load_tested(training.data)
    searcher = Searcher(space, method, data, supernet_options(training), device=device)
    searcher.fit()
    return error_on_test(searcher)


def supernet_options(training: Training) -> SearchOptions:
    """How a supernet is trained."""
    return SearchOptions(
        epochs=training.epochs,
        batch=training.batch,
        seed=training.seed,
        net=NetOptions(**_net(training)),
        data=DataOptions(valid=0.0, **_varied(training)),
        weights=WeightOptions(lr=training.lr, lr_end=0.0),
    )


def error_on_test(searcher: Searcher) -> float:
    """The error of a supernet on test images, in percent."""
    data: Any = searcher.data
    images = data.test.to(searcher.device)
    batches = make_evaluation_batches(
        images, data, searcher.options.data, batch=EVALUATION_BATCH, device=searcher.device
    )
    return 100 * (1 - accuracy(searcher.objective, searcher.relaxation, batches))
