"""Decisions of a protocol: each is taken once, written down at once, and stands from then on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dartboard.errors import RunError
from dartboard.utils import atomic

NAME = "decisions.json"
SHAPES = (dict, list, str)
"""What decisions are."""


class Decisions:
    """What was decided in a run, by name.

    Args:
        folder: The directory of the run.

    Raises:
        RunError: If the file is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._taken: dict[str, Any] = _read(self._path) if self._path.exists() else {}

    def get(self, name: str) -> Any:
        """What was decided under this name; None if nothing was."""
        return self._taken.get(name)

    def once(self, name: str, decide: Callable[[], Any]) -> Any:
        """What was decided under this name; decides and writes it down if nothing was.

        Args:
            name: What it is about.
            decide: Gives plain values.
        """
        if name not in self._taken:
            taken = {**self._taken, name: decide()}
            text = json.dumps(taken, indent=1, allow_nan=False)
            atomic.write_text(self._path, text + "\n")
            self._taken = json.loads(text)  # as who goes on later reads it
        return self._taken[name]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        raise RunError(f"{path} is not JSON ({error}); it was changed after it was written") from None
    if not isinstance(found, dict) or not all(isinstance(own, SHAPES) for own in found.values()):
        raise RunError(f"{path} should hold decisions by name; it was changed after it was written")
    return found
