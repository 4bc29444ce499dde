"""What a sweep came to: a row a run, a row a point over its seeds, in files and for people."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from dartboard.errors import RunError
from dartboard.runs import RunReader
from dartboard.runs.directory import SWEEP_RESULTS
from dartboard.runs.text_files import as_object, parse, plain
from dartboard.sweep.plan import PlannedRun
from dartboard.train.build import TEST, VALID
from dartboard.utils import atomic
from dartboard.utils.statistics import mean_interval, summarize

CSV, SUMMARY = "results.csv", "summary.csv"
RunRow = dict[str, Any]
"""Plain values by column."""
End = Literal["finished", "dropped", "failed"]
TEXTS = ("name", "stage", "do", "state", "reason")
COLUMNS = (*TEXTS, "seed", "epochs", "seconds")
NUMBERS = (
    "valid_accuracy",
    "discrete_accuracy",
    "test_accuracy",
    "best_accuracy",
    "entropy",
    "parameters",
    "flops",
    "digest",
    "genotype",
    "path",
)
"""What runs say of themselves; searches and trainings have some of them each."""
AMOUNTS = (
    "epochs",
    "seconds",
    "valid_accuracy",
    "discrete_accuracy",
    "test_accuracy",
    "best_accuracy",
    "entropy",
)
"""What rows say with numbers."""
DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""What files that were changed by hand give rise to."""
SETTINGS = "settings"
POINT = ("stage", "do", "runs", "finished", "measured_on", "mean", "deviation", "low", "high")


def row_of(planned: PlannedRun, folder: Path, state: End, reason: str = "") -> RunRow:
    """All that is known of a run that has ended.

    Args:
        planned: The run.
        folder: The directory of the sweep.
        state: How it ended; one whose files are damaged has failed.
        reason: Why it was dropped, or what went wrong; empty for one that is finished.
    """
    path = folder / planned.name
    known, damage = ({}, "") if state == "failed" else _read(path)
    state, reason = ("failed", damage) if damage else (state, reason)
    row: RunRow = {"name": planned.name, "stage": planned.stage, "do": planned.kind, "state": state}
    row |= {"reason": reason, "seed": planned.seed, "settings": plain(planned.varied, planned.name)}
    return row | known | {"path": str(path)}


def _read(path: Path) -> tuple[RunRow, str]:
    """What a run says of itself; where it is damaged nothing, and what is wrong with it."""
    try:
        row = _facts(path)
        _check(row, str(path))
    except RunError as error:
        return {}, str(error)
    except (*DAMAGED, OSError) as error:
        return {}, f"{path} has files that cannot be read: {error!r}"
    return row, ""


def _check(row: Mapping[str, Any], place: str, needed: Sequence[str] = AMOUNTS[:2]) -> None:
    """Refuses numbers that are none, or that are not there.

    Raises:
        RunError: Names one.
    """
    wrong = [name for name in needed if row.get(name) is None]
    wrong += [name for name in AMOUNTS if not isinstance(row.get(name), int | float | None)]
    if wrong:
        raise RunError(f"{place} should say {wrong[0]} with a number; it was changed after it was written")


def _facts(path: Path) -> RunRow:
    """What a run says of itself; of one that was dropped, what its last epochs say."""
    run = RunReader.read(path)
    result = run.result()
    if result is None:
        rows = run.metrics()
        last = rows[-1] if rows else {}
        known = [own for own in rows if f"{VALID}_accuracy" in own]
        accuracy = known[-1][f"{VALID}_accuracy"] if known else None
        return {"epochs": len(rows), "seconds": last.get("seconds"), "valid_accuracy": accuracy}
    row: RunRow = {
        key: result.get(key) for key in ("epochs", "seconds", "entropy", "parameters", "flops", "digest")
    }
    if run.config.get("kind") == "train":
        measured = {part: own["top1"] for part, own in result["last"].items()}
        row |= {f"{part}_accuracy": measured.get(part) for part in (VALID, TEST)}
        row |= {"best_accuracy": result["best"][result["measured_on"]]["top1"]}
        return row | {"genotype": json.loads(run.config["cell"])}
    row |= {key: result.get(key) for key in ("valid_accuracy", "discrete_accuracy", "genotype")}
    return row


@dataclass(frozen=True)
class PointSummary:
    """Runs that differ in their seeds alone.

    Args:
        stage: Their stage.
        do: What they are.
        settings: What tells them from others of the stage.
        runs: How many there are.
        finished: How many of them are finished; the numbers are of these.
        measured_on: What the accuracies are of: test images, or held-out ones where there are none.
        mean: Of the accuracies; None if none is finished.
        deviation: Their standard deviation; None of fewer than two.
        low: The lower end of the bootstrap interval of the mean; None of fewer than two.
        high: The upper end.
        seconds: How long they took, in the mean.
    """

    stage: str
    do: str
    settings: Mapping[str, Any]
    runs: int
    finished: int
    measured_on: str
    mean: float | None
    deviation: float | None
    low: float | None
    high: float | None
    seconds: float | None

    @property
    def label(self) -> str:
        """The settings in words."""
        return ", ".join(f"{_short(name)}{value}" for name, value in self.settings.items())


def _short(name: str) -> str:
    return "" if name == "cell" or name.endswith(".name") else f"{name}="


def summary(rows: Iterable[RunRow]) -> list[PointSummary]:
    """The rows of runs over their seeds."""
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        groups.setdefault(json.dumps([row["stage"], row["settings"]]), []).append(row)
    return [_point(own) for own in groups.values()]


def _point(rows: Sequence[RunRow]) -> PointSummary:
    first, done = rows[0], [row for row in rows if row["state"] == "finished"]
    part = TEST if any(row.get("test_accuracy") is not None for row in done) else VALID
    known = [row[f"{part}_accuracy"] for row in done if row.get(f"{part}_accuracy") is not None]
    found = summarize(known) if known else None
    low, high = mean_interval(known) or (None, None)
    times = [row["seconds"] for row in done if row.get("seconds") is not None]
    return PointSummary(
        stage=first["stage"],
        do=first["do"],
        settings=first["settings"],
        runs=len(rows),
        finished=len(done),
        measured_on=part,
        mean=None if found is None else found.mean,
        deviation=None if found is None else found.deviation,
        low=low,
        high=high,
        seconds=fmean(times) if times else None,
    )


def write_results(folder: Path, rows: Sequence[RunRow]) -> list[Path]:
    """Writes the tables into the directory of a sweep, each whole or not at all; returns their paths."""
    lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    points = [vars(own) for own in summary(rows)]
    numbers = [name for name in NUMBERS if any(name in row for row in rows)]
    texts = {
        SWEEP_RESULTS: lines,
        CSV: _table(COLUMNS, numbers, rows),
        SUMMARY: _table(POINT[:2], [*POINT[2:], "seconds"], points),
    }
    for name, text in texts.items():
        atomic.write_text(folder / name, text)
    return [folder / name for name in texts]


def _table(first: Sequence[str], last: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with their settings between other columns; one that is called like another column is prefixed."""
    taken = {*first, *last}
    names = {name: f"{SETTINGS}.{name}" if name in taken else name for row in rows for name in row[SETTINGS]}
    full = [{**row} | {names[name]: value for name, value in row[SETTINGS].items()} for row in rows]
    return _csv([*first, *names.values(), *last], full)


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name)) for name in columns] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | dict) else value


def read_results(folder: Path) -> list[RunRow]:
    """The rows of a sweep's runs.

    Raises:
        RunError: If there are none yet, or they are damaged.
    """
    path = folder / SWEEP_RESULTS
    if not path.is_file():
        raise RunError(f"{folder} has no {SWEEP_RESULTS}; none of its runs has ended yet")
    lines = path.read_bytes().splitlines()
    return [_row(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]


def _row(line: bytes, place: str) -> RunRow:
    """A row of the results.

    Raises:
        RunError: If it is none.
    """
    row = as_object(parse(line, place), place)
    wrong = [name for name in TEXTS if not isinstance(row.get(name), str)]
    wrong += [] if isinstance(row.get(SETTINGS), dict) else [SETTINGS]
    if wrong:
        raise RunError(f"{place} does not say {wrong[0]} as it should; it was changed after it was written")
    _check(row, place, ())
    return row
