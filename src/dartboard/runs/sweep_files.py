"""Files in the directory of a sweep: which runs are its own, and what came of them."""

import json
from collections.abc import Sequence
from pathlib import Path

from dartboard.errors import RunError
from dartboard.runs.text_files import read_object
from dartboard.utils import atomic

PLAN = "plan.json"
RESULTS = "results.jsonl"
"""What came of the runs that have ended, a line each."""


def write_names(folder: Path, names: Sequence[str]) -> None:
    """Writes down which runs the sweep of a directory has, unless that is what it says already."""
    atomic.write_changed(folder / PLAN, json.dumps({"runs": list(names)}, indent=0) + "\n")


def read_names(folder: Path) -> list[str] | None:
    """The names of the runs of a sweep as far as they are known; None if nothing says them.

    Raises:
        RunError: If what says them is damaged.
    """
    path = folder / PLAN
    if not path.is_file():
        return None
    names = read_object(path).get("runs")
    if not isinstance(names, list) or not all(isinstance(own, str) for own in names):
        raise RunError(f"{path} should say the names of runs; it was changed after it was written")
    return names
