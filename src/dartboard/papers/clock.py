"""How long a reproduction has taken, over all times that it was gone on with."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from dartboard.atomic import write_text

FILE = "seconds.json"


@dataclass
class Clock:
    """Seconds."""

    seconds: float


@contextmanager
def clocked(folder: Path) -> Iterator[Clock]:
    """Lends a clock that reads, inside and after, what all times in this folder took together.

    A time that ends in an error counts as well; one that is killed is lost.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before, began = _read(folder / FILE), monotonic()
    clock = Clock(before)
    try:
        yield clock
    finally:
        clock.seconds = before + monotonic() - began
        write_text(folder / FILE, json.dumps(clock.seconds))


def _read(path: Path) -> float:
    try:
        return float(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return 0.0
