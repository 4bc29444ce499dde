"""What the directory of a sweep says of its runs: which count, to what stage they belong, how they ended."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dartboard.errors import RunError
from dartboard.report.models import Member
from dartboard.runs import find_runs, is_run
from dartboard.runs.directory import SWEEP, SWEEP_RESULTS, read_run_names
from dartboard.runs.text_files import as_object, parse, read_yaml

FIELDS = ("name", "stage", "state", "reason")


def members_of(folder: Path) -> dict[Path, Member | None]:
    """The runs of a sweep by directory; None of those that have not ended yet.

    Runs that are none of the sweep's, because it has others by now, are left out.

    Raises:
        RunError: If what it says is damaged.
    """
    path, choosing = folder / SWEEP_RESULTS, _choosing(folder)
    lines = path.read_bytes().splitlines() if path.is_file() else []
    rows = [_row(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    known = {
        folder / row["name"]: Member(row["stage"], row["state"], row["reason"], row["stage"] in choosing)
        for row in rows
    }
    names = read_run_names(folder)
    runs = [*known, *find_runs(folder)] if names is None else [folder / name for name in names]
    return {own: known.get(own) for own in runs if is_run(own)}


def _row(line: bytes, place: str) -> dict[str, Any]:
    row = as_object(parse(line, place), place)
    wrong = [name for name in FIELDS if not isinstance(row.get(name), str)]
    if wrong:
        raise RunError(f"{place} does not say {wrong[0]}; it was changed after it was written")
    return row


def _choosing(folder: Path) -> set[str]:
    """The stages that choose among networks, so that no test image is looked at in them."""
    values: dict[str, Any] = {}
    with suppress(RunError):  # it matters to who goes on with the sweep
        values = read_yaml(folder / SWEEP)
    stages = values.get("stages") or {str(values.get("do", "search")): values}
    known = {name: own for name, own in stages.items() if isinstance(own, Mapping)}
    best = [str(own.get("cells")).split() for own in known.values()]
    chosen = {words[-1] for words in best if words and words[0] == "best"}
    return chosen | {name for name, own in known.items() if _stops(own.get("stop"))}


def _stops(stop: object) -> bool:
    return isinstance(stop, Mapping) and bool(stop.get("after"))
