"""Checks of runs, sweeps and benches: which files are as they were written, and what works without others."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dartboard.errors import RunError
from dartboard.runs.checkpoint_files import list_checkpoints, read_verified
from dartboard.runs.directory import (
    CHECKPOINTS,
    CONFIG,
    ENVIRONMENT,
    EPOCHS,
    INIT,
    LOG,
    METRICS,
    RESULT,
    SPACE,
    SWEEP,
    SWEEP_PLAN,
    SWEEP_RESULTS,
)
from dartboard.utils import atomic, safe_files
from dartboard.utils.checksums import CHECKSUMS, check_file, read_journal, unseal
from dartboard.utils.safe_files import WEIGHTS_LIMIT

BENCH, RECORDS, DECISIONS, COMPARISON = "bench.yaml", "records", "decisions.json", "comparison.json"
BEST, LAST = "best.safetensors", "last.safetensors"
MARKS = (CONFIG, SWEEP, BENCH, COMPARISON, CHECKSUMS)
"""Files that make a folder one to check."""
KNOWN = (
    *(CONFIG, ENVIRONMENT, SPACE, INIT, METRICS, RESULT, BEST, LAST, DECISIONS),
    *(SWEEP, SWEEP_PLAN, SWEEP_RESULTS, BENCH, COMPARISON),
)
"""Files that commands trust, where there are such."""
STILL_WORKS = {
    CONFIG: "the networks and the cell in result.json; not resume, report or the list of runs",
    ENVIRONMENT: "everything but resume and report",
    SPACE: "the list of runs and the networks; not resume and report",
    INIT: "everything but resume",
    METRICS: "the networks and the result; not resume, report and the last epochs",
    RESULT: "the networks, and resume from the last checkpoint once result.json is removed",
    BEST: f"{LAST}, with --which last; everything else",
    LAST: f"{BEST}; everything else",
    DECISIONS: "the runs inside, each by itself; not resume of the whole",
    SWEEP: "the runs inside, each by itself; not resume of the whole",
    SWEEP_PLAN: "everything: it is written again on resume",
    SWEEP_RESULTS: "everything: it is written again on resume",
    BENCH: "the runs and records inside; not resume of the whole",
    COMPARISON: "the runs inside, each by itself",
    LOG: "everything: no command reads it",
    CHECKSUMS: "everything: remove it, and the files are taken as they are",
}
"""What can be done without a file, in words."""

Verdict = Literal["good", "damaged", "no checksums"]


@dataclass(frozen=True)
class FileFault:
    """A file that is not as it was written.

    Args:
        file: Its name in the folder.
        reason: What is wrong with it.
        works: What can be done without it.
    """

    file: str
    reason: str
    works: str


@dataclass(frozen=True)
class FolderCheck:
    """What a check of a run, a sweep or a bench has found; runs inside have a check of their own.

    Args:
        path: Its directory.
        files: Number of files that were compared with a checksum and are good.
        faults: Those that are not.
        unlisted: Files that have no checksum, for example because an earlier version wrote them.
    """

    path: Path
    files: int
    faults: tuple[FileFault, ...]
    unlisted: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """`damaged` with a fault; without one `good`, or `no checksums` if there are none."""
        if self.faults:
            return "damaged"
        return "good" if self.files else "no checksums"


def find_folders(folder: Path) -> Iterator[Path]:
    """The runs, sweeps and benches in a folder, itself included, by name; links are not followed."""
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (CHECKPOINTS, EPOCHS) and name[0] != ".")
        if any(name in files for name in MARKS):
            yield Path(path)


def check_folder(path: Path) -> FolderCheck:
    """Compares every file of a run, a sweep or a bench with its checksum."""
    journal = read_journal(path)
    listed = {} if journal is None else journal.entries
    names = dict.fromkeys([*(name for name in KNOWN if os.path.lexists(path / name)), *listed])
    names |= dict.fromkeys(f"{EPOCHS}/{file.name}" for file in _json_files(path / EPOCHS))
    faults, unlisted, good = [], [], 0
    for name in names:
        reason = check_file(path, name) or (_parse_fault(path, name) if name not in listed else None)
        if reason is not None:
            works = STILL_WORKS.get(name, "resume and the networks; not report and analyses of the epochs")
            faults.append(FileFault(name, reason, works))
        elif name in listed:
            good += os.path.lexists(path / name)
        else:
            unlisted.append(name)
    if journal is not None and journal.damaged:
        reason = f"is damaged in line {journal.damaged[0]}"
        faults.append(FileFault(CHECKSUMS, reason, STILL_WORKS[CHECKSUMS]))
    checkpoints = list_checkpoints(path / CHECKPOINTS)
    faults += _checkpoint_faults(path, checkpoints)
    good += len(checkpoints) - sum(fault.file.startswith(CHECKPOINTS) for fault in faults)
    for file in _json_files(path / RECORDS) if (path / BENCH).exists() else ():
        reason, sealed = _record_fault(file)
        good += sealed and reason is None
        if reason is not None:
            works = "the other records; remove this one, and its search is scored again"
            faults.append(FileFault(f"{RECORDS}/{file.name}", reason, works))
        elif not sealed:
            unlisted.append(f"{RECORDS}/{file.name}")
    return FolderCheck(path, good, tuple(faults), tuple(unlisted))


def _json_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if not atomic.is_leftover(path))


def _parse_fault(path: Path, name: str) -> str | None:
    """What is wrong with a file that has no checksum, as far as that can be seen."""
    if not name.endswith((".json", ".jsonl")):
        return None
    data = safe_files.read_file(path / name, root=path, limit=WEIGHTS_LIMIT)
    try:
        for text in data.splitlines() if name.endswith(".jsonl") else [data]:
            json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"is not JSON ({error})"
    return None


def _checkpoint_faults(path: Path, checkpoints: list[Path]) -> Iterator[FileFault]:
    newest_good: str | None = None
    for checkpoint in checkpoints:
        try:
            read_verified(checkpoint)
            newest_good = checkpoint.name
        except (RunError, OSError) as error:
            works = "everything but resume"
            if newest_good is not None:
                works = f"everything; resume with --fall-back, from {newest_good}"
            name, reason = f"{CHECKPOINTS}/{checkpoint.name}", str(error)
            yield FileFault(name, reason.removeprefix(f"{path}/"), works)


def _record_fault(file: Path) -> tuple[str | None, bool]:
    """What is wrong with a record, and whether it has a checksum."""
    try:
        data = safe_files.read_file(file, root=file.parent)
        body = unseal(data, file)
        json.loads(body)
    except (RunError, OSError, ValueError, RecursionError) as error:
        return str(error).removeprefix(f"{file} "), True
    return None, body != data
