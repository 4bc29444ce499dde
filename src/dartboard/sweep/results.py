"""Results of a sweep: a row for each run, and a summary over seeds for each point, with their files."""

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from dartboard.errors import RunError
from dartboard.runs import RunReader, is_run
from dartboard.runs.directory import LOG, SWEEP_RESULTS
from dartboard.runs.text_files import as_object, parse, plain
from dartboard.sweep.grid import PlannedRun
from dartboard.sweep.random_cells import NO_TIME
from dartboard.train.build import TEST, VALID
from dartboard.utils.checksums import read_file, write_file
from dartboard.utils.statistics import mean_interval, summarize

CSV, SUMMARY = "results.csv", "summary.csv"
RunRow = dict[str, Any]
"""A row of the results: plain values by column."""
End = Literal["finished", "dropped", "failed"]
"""How a run of a sweep ends, as files record it: a pruned run is `dropped`."""
TEXTS = ("name", "stage", "do", "state", "reason")
COLUMNS = (*TEXTS, "seed", "epochs", "seconds")
ACCURACIES = ("valid_accuracy", "discrete_accuracy", "test_accuracy", "best_accuracy")
NUMBERS = (*ACCURACIES, "entropy", "parameters", "flops", "digest", "genotype", "path")
"""Columns behind the settings; searches and trainings have some of them each."""
NUMERIC = ("epochs", "seconds", *ACCURACIES, "entropy")
"""Columns that hold numbers."""
NOT_STARTED = {"epochs": 0, "seconds": 0.0, "valid_accuracy": None}
"""Columns of a run that was pruned before it began, because no time was left."""
DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError)
"""Errors that reading a file raises which was changed by hand."""
SETTINGS = "settings"
SUMMARY_COLUMNS = ("stage", "do", "runs", "finished", "measured_on", "mean", "deviation", "low", "high")


def row_of(planned: PlannedRun, folder: Path, state: End, reason: str = "") -> RunRow:
    """The row of a run of the sweep in `folder` that has ended; one whose files are damaged has failed.

    `reason` says why it was pruned, or its error; it is empty for one that is finished.
    """
    path = folder / planned.name
    metrics: RunRow = {}
    if state != "failed":
        try:
            metrics = dict(NOT_STARTED) if reason == NO_TIME and not is_run(path) else _read_metrics(path)
            _check_numbers(metrics, str(path))
        except RunError as error:
            metrics, state, reason = {}, "failed", str(error)
        except (*DAMAGED, OSError) as error:
            metrics, state, reason = {}, "failed", f"{path} has files that cannot be read: {error!r}"
    row: RunRow = {"name": planned.name, "stage": planned.stage, "do": planned.kind, "state": state}
    row |= {
        "reason": reason,
        "seed": int(planned.config["seed"]),
        "settings": plain(planned.varied, planned.name),
    }
    return row | metrics | {"path": str(path)}


def _check_numbers(row: Mapping[str, Any], place: str, needed: Sequence[str] = NUMERIC[:2]) -> None:
    """Raises a RunError that names a column which should hold a number and does not."""
    wrong = [name for name in needed if row.get(name) is None]
    wrong += [name for name in NUMERIC if not isinstance(row.get(name), int | float | None)]
    if wrong:
        raise RunError(f"{place} should say {wrong[0]} with a number; it was changed after it was written")


def _read_metrics(path: Path) -> RunRow:
    """The columns that come from the files of a run; from its last epochs if it was pruned."""
    run = RunReader.read(path)
    result = run.result()
    if result is None:
        rows = run.metrics()
        last = rows[-1] if rows else {}
        accuracies = [row[f"{VALID}_accuracy"] for row in rows if f"{VALID}_accuracy" in row]
        accuracy = accuracies[-1] if accuracies else None
        return {"epochs": len(rows), "seconds": last.get("seconds"), "valid_accuracy": accuracy}
    row: RunRow = {
        key: result.get(key) for key in ("epochs", "seconds", "entropy", "parameters", "flops", "digest")
    }
    if run.config.get("kind") == "train":
        measured = {part: values["top1"] for part, values in result["last"].items()}
        row |= {f"{part}_accuracy": measured.get(part) for part in (VALID, TEST)}
        row |= {"best_accuracy": result["best"][result["measured_on"]]["top1"]}
        return row | {"genotype": json.loads(run.config["cell"])}
    row |= {key: result.get(key) for key in ("valid_accuracy", "discrete_accuracy", "genotype")}
    return row


@dataclass(frozen=True)
class PointSummary:
    """Summary of the runs of a point: those that differ in their seeds alone.

    Args:
        stage: Their stage.
        do: Their kind, `search` or `train`.
        settings: The settings that vary in the stage.
        runs: Number of runs.
        finished: Number of finished runs, which the numbers below are of.
        measured_on: Part that the accuracies are measured on: `test`, or `valid` where there is no test part.
        mean: Mean accuracy; None if no run is finished.
        deviation: Standard deviation of the accuracies; None for fewer than two.
        low: Lower end of the bootstrap interval of the mean; None for fewer than two.
        high: Upper end of the interval.
        seconds: Mean duration of a run.
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
        return ", ".join(
            str(value) if name == "cell" or name.endswith(".name") else f"{name}={value}"
            for name, value in self.settings.items()
        )


def summary(rows: Iterable[RunRow]) -> list[PointSummary]:
    """Summaries over seeds, one for each point."""
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        groups.setdefault(json.dumps([row["stage"], row["settings"]]), []).append(row)
    points = []
    for group in groups.values():
        first, done = group[0], [row for row in group if row["state"] == "finished"]
        part = TEST if any(row.get("test_accuracy") is not None for row in done) else VALID
        accuracies = [row[f"{part}_accuracy"] for row in done if row.get(f"{part}_accuracy") is not None]
        stats = summarize(accuracies) if accuracies else None
        low, high = mean_interval(accuracies) or (None, None)
        times = [row["seconds"] for row in done if row.get("seconds") is not None]
        points.append(
            PointSummary(
                stage=first["stage"],
                do=first["do"],
                settings=first["settings"],
                runs=len(group),
                finished=len(done),
                measured_on=part,
                mean=None if stats is None else stats.mean,
                deviation=None if stats is None else stats.deviation,
                low=low,
                high=high,
                seconds=fmean(times) if times else None,
            )
        )
    return points


def write_results(folder: Path, rows: Sequence[RunRow]) -> list[Path]:
    """Writes the tables into the directory of a sweep, each atomically; returns their paths."""
    lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
    points = [vars(point) for point in summary(rows)]
    numbers = [name for name in NUMBERS if any(name in row for row in rows)]
    texts = {
        SWEEP_RESULTS: lines,
        CSV: _csv(COLUMNS, numbers, rows),
        SUMMARY: _csv(SUMMARY_COLUMNS[:2], [*SUMMARY_COLUMNS[2:], "seconds"], points),
    }
    for name, text in texts.items():
        write_file(folder / name, text)
    return [folder / name for name in texts]


def _csv(first: Sequence[str], last: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV with a column for each setting; one that has the name of another column gets a prefix."""
    fixed = {*first, *last}
    names = {name: f"{SETTINGS}.{name}" if name in fixed else name for row in rows for name in row[SETTINGS]}
    columns = [*first, *names.values(), *last]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        full = {**row} | {names[name]: value for name, value in row[SETTINGS].items()}
        values = [full.get(name) for name in columns]
        writer.writerow(json.dumps(value) if isinstance(value, list | dict) else value for value in values)
    return text.getvalue()


def read_results(folder: Path) -> list[RunRow]:
    """The rows of a sweep's runs.

    Raises:
        RunError: If there are none yet, or they are damaged.
    """
    path = folder / SWEEP_RESULTS
    if not os.path.lexists(path):
        log = f"; see {folder / LOG}" if (folder / LOG).is_file() else ""
        raise RunError(f"{folder} has no {SWEEP_RESULTS}; none of its runs has ended yet{log}")
    rows = []
    for number, line in enumerate(read_file(path, root=folder).splitlines(), 1):
        place = f"{path}, line {number}"
        row = as_object(parse(line, place), place)
        wrong = [name for name in TEXTS if not isinstance(row.get(name), str)]
        wrong += [] if isinstance(row.get(SETTINGS), dict) else [SETTINGS]
        if wrong:
            raise RunError(
                f"{place} does not say {wrong[0]} as it should; it was changed after it was written"
            )
        _check_numbers(row, place, ())
        rows.append(row)
    return rows
