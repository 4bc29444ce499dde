"""Where runs are written."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dartboard.search.config import SearchConfig
    from dartboard.train.config import TrainConfig

RUNS = Path("runs")
LONGEST = 60  # characters of a cell that names a directory


def claim(out: str | None, name: str) -> Path:
    """The directory for a new run: `out`, or the first free one of this name among the runs.

    The latter is made at once, so that two programs that start together get two.
    """
    if out is not None:
        return Path(out)
    for path in _candidates(name):
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers never end")


def search_name(config: "SearchConfig") -> str:
    """What the directory of a search is called."""
    parts = (config.method.name, Path(config.space.name).stem, Path(config.data.name).stem, f"s{config.seed}")
    return "-".join(parts)


def train_name(cell: str, config: "TrainConfig") -> str:
    """What the directory of a training is called.

    Args:
        cell: What was typed for the cell: a run, a file, a published cell or a genotype.
        config: The training.
    """
    what = Path(cell).name.removesuffix(".json") if len(cell) < LONGEST else "cell"
    plain = what if what.replace("-", "").replace("_", "").replace(".", "").isalnum() else "cell"
    return "-".join(("train", plain, Path(config.data.name).stem, f"s{config.seed}"))


def _candidates(name: str) -> Iterator[Path]:
    yield RUNS / name
    yield from (RUNS / f"{name}-{number}" for number in count(2))
