"""Where runs are written."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dartboard.search.config import SearchConfig

RUNS = Path("runs")


def claim(out: str | None, config: "SearchConfig") -> Path:
    """The directory for a new run: `out`, or the first free one that is named after the search.

    The latter is made at once, so that two programs that start together get two.
    """
    if out is not None:
        return Path(out)
    for path in _candidates(config):
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers never end")


def _candidates(config: "SearchConfig") -> Iterator[Path]:
    parts = (config.method.name, Path(config.space.name).stem, Path(config.data.name).stem, f"s{config.seed}")
    name = "-".join(parts)
    yield RUNS / name
    yield from (RUNS / f"{name}-{number}" for number in count(2))
