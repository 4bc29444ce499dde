"""Finding runs, and a summary of each in one row; fast, and without torch."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from dartboard.errors import NewerFormatError, RunError
from dartboard.runs import text_files
from dartboard.runs.directory import (
    CHECKPOINTS,
    CONFIG,
    EPOCHS,
    LOG,
    METRICS,
    RESULT,
    State,
    read_config,
    state_of,
)

DAMAGED: Literal["damaged"] = "damaged"
STOPPED: State = "stopped"
STATES = ("running", "finished", "stopped", DAMAGED)
PARTS = ("valid", "test")
"""Splits that accuracies are measured on, in order of preference."""
_KEYS = ("kind", "space", "method", "data", "seed", "epochs", "search")
_CHANGING = (METRICS, RESULT, LOG, CONFIG)
_RUN_FOLDERS = (CHECKPOINTS, EPOCHS)
T = TypeVar("T")


@dataclass(frozen=True)
class RunSummary:
    """A run in one row; what is missing or cannot be read is None.

    Args:
        path: Its directory.
        state: Whether it is running, finished, stopped or damaged.
        kind: `search`, `train` or `protocol`.
        method: Search method.
        space: Search space, or the space whose stack is trained.
        data: Data set.
        seed: Random seed.
        epoch: Number of complete epochs.
        epochs: Number of epochs in all.
        accuracy: Newest accuracy on validation images, or on test images if there are none.
        changed: Time of the last write, in seconds since 1970.
        mistake: Description of the damage, or what to do about a run that a newer dartboard has written.
    """

    path: Path
    state: State | Literal["damaged"]
    kind: str | None
    method: str | None
    space: str | None
    data: str | None
    seed: int | None
    epoch: int | None
    epochs: int | None
    accuracy: float | None
    changed: float
    mistake: str | None = None


def find_runs(folder: Path, *, inside: bool = False) -> Iterator[Path]:
    """The runs in a folder and in folders inside it, by name; links and hidden folders are skipped.

    Args:
        folder: Folder to search; if it is a run itself, it is searched too.
        inside: Whether to search inside other runs for those of protocols.
    """
    waiting = [folder]  # the next one last
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as scan:
                entries = [entry for entry in scan if entry.name[0] != "."]
        except OSError:  # it cannot be read
            continue
        is_run = any(entry.name == CONFIG for entry in entries)
        if is_run:
            yield path
        if inside or not is_run or path == folder:
            skipped = _RUN_FOLDERS if is_run else ()
            names = [e.name for e in entries if e.name not in skipped and e.is_dir(follow_symlinks=False)]
            waiting += [path / name for name in sorted(names, reverse=True)]


def summarize_run(path: Path) -> RunSummary:
    """Summary of a run; of a damaged one, with the damage and what can still be read."""
    mistakes: list[str] = []
    nothing: dict[str, Any] = {}
    config, newer = nothing, list[str]()  # a run of a newer dartboard is not damaged
    try:
        config = _read_or(lambda: read_config(path, _KEYS), nothing, mistakes)
    except NewerFormatError as error:
        newer = [str(error)]
    state, result = _read_or(lambda: state_of(path), STOPPED, mistakes), nothing
    if state == "finished":
        result = _read_or(lambda: text_files.read_object(path / RESULT), nothing, mistakes)
    rows = _read_or(lambda: _newest_rows(path / METRICS), [nothing][:0], mistakes)
    chosen = config.get("search") if config.get("kind") == "protocol" else config
    epoch = None  # a run without epochs of its own
    if rows:
        epoch = int(rows[0]["epoch"]) + 1
    elif "epochs" in config:
        epoch = _as_int(result.get("epochs", 0))
    return RunSummary(
        path=path,
        state=DAMAGED if mistakes else state,
        kind=_as_str(config.get("kind", "search")) if config else None,
        **{key: _as_str(_get_nested(chosen, key, "name")) for key in ("method", "space", "data")},
        seed=_as_int(config.get("seed")),
        epoch=epoch,
        epochs=_as_int(config.get("epochs")),
        accuracy=_accuracy(result, rows),
        changed=_changed(path),
        mistake="; ".join([*newer, *mistakes]) or None,
    )


def _read_or(read: Callable[[], T], default: T, mistakes: list[str]) -> T:
    try:
        return read()
    except NewerFormatError:
        raise
    except (RunError, OSError) as error:
        mistakes.append(str(error))
        return default


def _newest_rows(path: Path) -> list[dict[str, Any]]:
    """The newest epochs, the last first, back to one whose accuracy was measured."""
    rows = []
    for row in text_files.rows_from_end(path):
        rows.append(row)
        if any(f"{part}_accuracy" in row for part in PARTS):
            break
    return rows


def _accuracy(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Mean of a protocol's networks, that of a training's last network, or that of the newest epoch."""
    measured_on = result.get("measured_on")
    known = [
        _get_nested(result, "arms", "found", "summary", "mean"),
        _get_nested(result, "last", str(measured_on), "top1"),
        result.get("valid_accuracy"),
        *(row.get(f"{part}_accuracy") for row in rows for part in PARTS),
    ]
    return next((float(value) for value in known if isinstance(value, int | float)), None)


def _get_nested(value: Any, *keys: str) -> Any:
    """The value at nested keys; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _as_str(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _as_int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _changed(path: Path) -> float:
    """Modification time of the newest file of a run."""
    times = [0.0]
    for name in _CHANGING:
        try:
            times.append((path / name).stat().st_mtime)
        except OSError:  # missing, or not readable
            continue
    return max(times)
