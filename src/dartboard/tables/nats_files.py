"""NATS-Bench as a folder of files, and what its authors' files say of a cell.

The folder is `NATS-tss-v1_0-3ffb9-simple`, as it is downloaded and unpacked: `meta.pickle.pbz2` lists the
cells, `000000.pickle.pbz2` and so on hold all trainings of one cell each. Taken from them are the trainings
of 200 epochs: each accuracy after the last epoch, its mean over all seeds.
"""

import bz2
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from dartboard.errors import TableError
from dartboard.tables.nb201 import CELL, COLUMNS, MILLION, MULTIPLY_ADDS, PARAMETERS, check_cells
from dartboard.utils.progress import Progress
from dartboard.utils.unpickler import read_pickle

META = "meta.pickle.pbz2"
MOST_BYTES = 1 << 28
"""What unpacks to more than this is no file of the folder."""
EPOCHS = 200
LONG = ("200", "full")
"""What the schedule whose trainings are taken is called: by NATS-Bench, by NAS-Bench-201."""
SOURCES = {
    "cifar10_valid": ("cifar10-valid", "x-valid"),
    "cifar10_test": ("cifar10", "ori-test"),
    "cifar100_valid": ("cifar100", "x-valid"),
    "cifar100_test": ("cifar100", "x-test"),
    "in16_valid": ("ImageNet16-120", "x-valid"),
    "in16_test": ("ImageNet16-120", "x-test"),
}
"""For each column of accuracies what was trained on, and what was measured on, as the files call them."""

Trials = Mapping[tuple[str, int], Mapping[str, Any]]
"""The trainings of a cell, by what was trained on and the seed."""


def read_nats(folder: Path, tell: Progress) -> dict[str, list[object]]:
    """The columns of the nb201 table from the official folder.

    Args:
        folder: The folder with `meta.pickle.pbz2` and a file a cell.
        tell: Is told what is read, how many cells of it are, and how many there are.

    Raises:
        TableError: If a file is missing, damaged, or not as NATS-Bench writes it; says which.
    """
    cells = _cells(folder)
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for index, cell in enumerate(cells):
        for name, value in _row(folder / f"{index:06d}.pickle.pbz2", cell).items():
            columns[name].append(value)
        tell(folder.name, index + 1, len(cells))
    return columns


def _cells(folder: Path) -> Sequence[str]:
    try:
        return cells_of(_read(folder / META))
    except TableError as error:
        raise TableError(f"{folder / META}: {error}") from None


def _row(path: Path, cell: str) -> dict[str, object]:
    """One line of the table: what the file of a cell says of it."""
    try:
        return row(_read(path), cell)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def cells_of(meta: dict[Any, Any]) -> Sequence[str]:
    """The cells that a dictionary of the benchmark lists.

    Raises:
        TableError: If they are not all cells of the space, each once.
    """
    cells = meta.get("meta_archs")
    if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
        raise TableError("has no list 'meta_archs' of cells")
    check_cells(cells)
    return cells


def row(schedules: Any, cell: str) -> dict[str, object]:
    """One line of the table, from all trainings of a cell by their schedules.

    Raises:
        TableError: If the trainings are not as the benchmark's authors write them, or are of another cell.
    """
    try:
        own = next(schedules[name] for name in LONG if name in schedules)
        _check_name(own["arch_str"], cell)
        return {CELL: cell, **_accuracies(own["all_results"]), **_sizes(own["all_results"])}
    except StopIteration:
        raise TableError(f"has no trainings of {EPOCHS} epochs, {' or '.join(map(repr, LONG))}") from None
    except TableError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        why = f"{type(error).__name__}: {error}"
        raise TableError(f"not as its authors write it ({why[:200]})") from None


def _check_name(name: object, cell: str) -> None:
    if name != cell:
        about = repr(name[:200]) if isinstance(name, str) else f"a {type(name).__name__}"
        raise TableError(f"is about {about}; the list of cells says {cell!r}")


def _accuracies(trials: Trials) -> dict[str, float]:
    return {name: round(_accuracy(trials, *source), 4) for name, source in SOURCES.items()}


def _accuracy(trials: Trials, trained: str, measured: str) -> float:
    """Accuracy in percent after the last epoch, its mean over all seeds."""
    found = [_last(own, measured) for (name, _), own in trials.items() if name == trained]
    if wrong := [value for value in found if not 0 <= value <= 100]:
        raise ValueError(f"{trained}, {measured}: an accuracy of {wrong[0]} %")
    if not found:
        raise ValueError(f"no training on {trained}")
    return fmean(found)


def _last(trial: Mapping[str, Any], measured: str) -> float:
    if trial["epochs"] != EPOCHS:
        raise ValueError(f"a training of another number of epochs than {EPOCHS}")
    return float(trial["eval_acc1es"][f"{measured}@{EPOCHS - 1}"])


def _sizes(trials: Trials) -> dict[str, object]:
    """Parameters, and multiply-adds in millions, on CIFAR-10."""
    own = next((own for (name, _), own in trials.items() if name == "cifar10"), {})
    if not (0 <= own["params"] < MILLION and 0 <= own["flop"] < MILLION):
        raise ValueError(f"{own['params']} million parameters and {own['flop']} million multiply-adds")
    return {PARAMETERS: round(own["params"] * MILLION), MULTIPLY_ADDS: round(own["flop"], 6)}


def _read(path: Path) -> dict[Any, Any]:
    try:
        with bz2.open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except EOFError:
        raise TableError("is cut off") from None
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror or error})") from None
    if len(data) > MOST_BYTES:
        raise TableError(f"unpacks to more than {MOST_BYTES:,} bytes")
    return as_dictionary(read_pickle(io.BytesIO(data), TableError))


def as_dictionary(found: object) -> dict[Any, Any]:
    """What a file holds, if that is a dictionary."""
    if not isinstance(found, dict):
        raise TableError(f"holds a {type(found).__name__}, not a dictionary")
    return found
