"""What the tests of trainings share: a short training of a small network on a few digits."""

from functools import cache
from random import Random
from typing import Any

from dartboard.data import Dataset, ImageSet, load_dataset
from dartboard.space import SearchSpace, adopt, get_space, sample
from dartboard.train import Trainer, TrainOptions
from helpers.search_cases import merged

SHORT: dict[str, Any] = {
    "epochs": 2,
    "batch": 16,
    "net": {"channels": 4, "auxiliary": 0.0, "drop_path": 0.0},
    "data": {"pad": 1, "flip": False, "cutout": 0},
}


@cache
def digits(train: int = 64, test: int = 40) -> Dataset:
    """A few digits to train on, and a few others to test with."""
    whole = load_dataset("digits")
    assert isinstance(whole.train, ImageSet)
    images, labels = whole.train.images, whole.train.labels
    tested = ImageSet(images[-test:], labels[-test:]) if test else None
    return Dataset("few digits", whole.classes, ImageSet(images[:train], labels[:train]), tested)


@cache
def cells(space: str = "nano", seed: int = 1) -> SearchSpace:
    """A discrete space, drawn by chance."""
    whole = get_space(space)
    return adopt(whole, sample(whole, Random(seed)))


def train(**more: Any) -> Trainer:
    """A training of a few steps on a few digits.

    Args:
        more: `space`, `data_set`, `run`, `hooks`, `facts`, `init`; all else are options in place of `SHORT`.
    """
    given = {key: more.pop(key) for key in ("run", "hooks", "facts", "init") if key in more}
    space, data = more.pop("space", cells()), more.pop("data_set", digits())
    return Trainer(space, data, TrainOptions.model_validate(merged(SHORT, more)), **given)
