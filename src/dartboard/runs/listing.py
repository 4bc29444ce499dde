"""Runs at a glance: where they are, and what each says of itself in one row; quick, and without torch."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from dartboard.errors import RunError
from dartboard.runs import text_files
from dartboard.runs.directory import CHECKPOINTS, CONFIG, EPOCHS, LOG, METRICS, RESULT, State, state_of

DAMAGED: Literal["damaged"] = "damaged"
STATES = ("running", "finished", "stopped", DAMAGED)
PARTS = ("valid", "test")
"""Images that accuracies are of, those that are looked at first."""
_KEYS = ("kind", "space", "method", "data", "seed", "epochs", "search")
_CHANGING = (METRICS, RESULT, LOG, CONFIG)
_OWN = (CHECKPOINTS, EPOCHS)
T = TypeVar("T")


@dataclass(frozen=True)
class RunSummary:
    """A run in one row; what it does not say, or what cannot be read, is None.

    Args:
        path: Its directory.
        state: Whether it is running, finished, stopped or damaged.
        kind: `search`, `train` or `protocol`.
        method: How it searches.
        space: What it searches, or whose stack it trains.
        data: Its images.
        seed: Where its chance started.
        epoch: How many epochs are complete.
        epochs: How many there will be.
        accuracy: Of the newest measurement on held-out images, or on test images where none are held out.
        changed: When it last wrote something, in seconds since 1970.
        mistake: What is damaged, in words.
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
    """The runs in a folder and in folders inside it, by name; links and hidden folders are passed over.

    Args:
        folder: Where to look; if it is a run itself, what is inside it counts.
        inside: Whether the runs inside of other runs, those of protocols, count too.
    """
    names, folders = _look(folder)
    if CONFIG in names:
        yield folder
    yield from _below(folder, folders, inside)


def _below(folder: Path, folders: Sequence[str], inside: bool) -> Iterator[Path]:
    for name in folders:
        path = folder / name
        names, deeper = _look(path)
        if CONFIG in names:
            yield path
        if inside or CONFIG not in names:
            yield from _below(path, deeper, inside)


def _look(folder: Path) -> tuple[set[str], list[str]]:
    """The names in a folder, and those of folders in it where runs can be; nothing if it may not be read."""
    try:
        with os.scandir(folder) as found:
            inner = list(found)
    except OSError:
        return set(), []
    names = {own.name for own in inner}
    own = _OWN if CONFIG in names else ()
    folders = [e.name for e in inner if e.name[0] != "." and e.name not in own and _is_folder(e)]
    return names, sorted(folders)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def summarize_run(path: Path) -> RunSummary:
    """What a run says of itself; one that is damaged says that, and what can be read still."""
    mistakes: list[str] = []
    nothing: dict[str, Any] = {}
    config = _tried(lambda: text_files.read_blocks(path / CONFIG, _KEYS), nothing, mistakes)
    state = state_of(path)
    finished = state == "finished"
    result = _tried(lambda: text_files.read_object(path / RESULT), nothing, mistakes) if finished else nothing
    rows = _tried(lambda: _newest(path / METRICS), [nothing][:0], mistakes)
    chosen = config.get("search") if config.get("kind") == "protocol" else config
    return RunSummary(
        path=path,
        state=DAMAGED if mistakes else state,
        kind=_text(config.get("kind", "search")) if config else None,
        **{key: _text(_inner(chosen, key, "name")) for key in ("method", "space", "data")},
        seed=_whole(config.get("seed")),
        epoch=_epoch(config, result, rows),
        epochs=_whole(config.get("epochs")),
        accuracy=_accuracy(result, rows),
        changed=_changed(path),
        mistake="; ".join(mistakes) or None,
    )


def _tried(read: Callable[[], T], otherwise: T, mistakes: list[str]) -> T:
    try:
        return read()
    except (RunError, OSError) as error:
        mistakes.append(str(error))
        return otherwise


def _newest(path: Path) -> list[dict[str, Any]]:
    """The newest epochs, the last first, back to one whose accuracy was measured."""
    rows = []
    for row in text_files.rows_from_end(path):
        rows.append(row)
        if any(f"{part}_accuracy" in row for part in PARTS):
            break
    return rows


def _epoch(
    config: Mapping[str, Any], result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> int | None:
    """How many epochs are complete; None of a run that has none of its own."""
    if rows:
        return int(rows[0]["epoch"]) + 1
    return _whole(result.get("epochs", 0)) if "epochs" in config else None


def _accuracy(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Of a protocol its networks' mean, of a training the last network's, else the newest of an epoch."""
    part = result.get("measured_on")
    known = [
        _inner(result, "arms", "found", "summary", "mean"),
        _inner(result, "last", str(part), "top1"),
        result.get("valid_accuracy"),
        *(row.get(f"{own}_accuracy") for row in rows for own in PARTS),
    ]
    return next((float(own) for own in known if isinstance(own, int | float)), None)


def _inner(value: Any, *keys: str) -> Any:
    """The value that keys lead to; None where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _changed(path: Path) -> float:
    """When the newest of a run's files was written."""
    times = [0.0]
    for name in _CHANGING:
        try:
            times.append((path / name).stat().st_mtime)
        except OSError:  # it has none, or it may not be looked at
            continue
    return max(times)
