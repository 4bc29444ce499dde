"""How long a reproduction has taken, over all times that it was gone on with."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from dartboard.utils.atomic import write_text

FILE = "seconds.json"


@dataclass
class Clock:
    """Seconds."""

    seconds: float


@contextmanager
def clocked(folder: Path) -> Iterator[Clock]:
    """Lends a clock that reads, after, what all times in this folder took together; inside, the times before.

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
    """What a file says; nothing where it says none."""
    try:
        seconds = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return 0.0
    sound = isinstance(seconds, float) and math.isfinite(seconds) and seconds > 0
    return seconds if sound else 0.0
