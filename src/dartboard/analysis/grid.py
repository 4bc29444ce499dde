"""The values of a grid of points, kept in a file while they come."""

import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import RunError
from dartboard.utils.atomic import write_text

Floats = NDArray[np.float64]
Place = tuple[int, int]
"""Row and column of a point."""
BETWEEN = 1.0
"""Seconds, at least, between two times that the file is written while values come."""
INFINITE = "inf"
PRINTS = {"network": "another network", "images": "other images"}
"""Settings that only say whether something is the same, in words where it is not."""


class Grid:
    """Values of the points of a square, some of which may be missing yet.

    Args:
        side: Points along each side.
        settings: Plain values that say what the values are of; a file of other settings is refused.
        path: The file; None keeps nothing.

    Raises:
        RunError: If the file is of other settings, or damaged.
    """

    def __init__(self, side: int, settings: Mapping[str, Any], path: Path | None = None) -> None:
        self.settings: dict[str, Any] = json.loads(json.dumps(dict(settings)))
        self.path = path
        self.values: Floats = np.full((side, side), np.nan)
        self._written, self._is_kept = time.monotonic(), True
        if path is not None and path.exists():
            self.values = self._read(path)

    def missing(self) -> list[Place]:
        """The points that have no value yet, row by row."""
        rows, columns = np.nonzero(np.isnan(self.values))
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def put(self, place: Place, value: float) -> None:
        """Sets a value; what is no number counts as infinite."""
        self.values[place] = math.inf if math.isnan(value) else value
        self._is_kept = False
        if time.monotonic() - self._written > BETWEEN:
            self.save()

    def save(self) -> None:
        """Writes the file if there are values that it does not have."""
        if self.path is None or self._is_kept:
            return
        rows = [[_plain(value) for value in row] for row in self.values.tolist()]
        write_text(self.path, json.dumps({"settings": self.settings, "values": rows}))
        self._written, self._is_kept = time.monotonic(), True

    def _read(self, path: Path) -> Floats:
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            settings, rows = dict(kept["settings"]), kept["values"]
            values = np.array([[math.nan if own is None else float(own) for own in row] for row in rows])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise RunError(f"{path} is damaged; remove it, and its values are computed again") from None
        if settings != self.settings:
            raise RunError(f"{path} was made {_difference(settings, self.settings)}; name another folder")
        if values.shape != self.values.shape:
            raise RunError(f"{path} is damaged; remove it, and its values are computed again")
        return values


def _plain(value: float) -> float | str | None:
    """A value as JSON has it: None for a missing one."""
    if math.isnan(value):
        return None
    return INFINITE if math.isinf(value) else value


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """In a few words, how settings differ."""
    key = next(key for key in (*wanted, *found) if found.get(key) != wanted.get(key))
    if key in PRINTS:
        return f"with {PRINTS[key]}"
    return f"with {key}={found[key]}" if key in found else f"without {key}={wanted[key]}"
