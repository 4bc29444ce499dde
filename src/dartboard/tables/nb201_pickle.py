"""The whole of NAS-Bench-201 in one file, as its authors publish it: NATS-Bench, and what came before.

A file is one dictionary: `meta_archs` lists the cells, `arch2infos` holds the trainings of each by its
number. All values of all epochs would fill 28 GB of memory, so what a line of the table does not need is
let go of while the file is read.
"""

import bz2
import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from dartboard.errors import TableError
from dartboard.tables.nats_files import EPOCHS, SOURCES, as_dictionary, cells_of, row
from dartboard.tables.nb201 import COLUMNS
from dartboard.tables.torch_file import START_OF_LEGACY, START_OF_ZIP, read_legacy, read_zip
from dartboard.utils.progress import Progress
from dartboard.utils.unpickler import NO_ROOM, Trim, read_pickle

START_OF_BZIP2 = b"BZh"
STEP = 1 << 20
KEPT = ("epochs", "params", "flop")
"""What is kept of a training besides its last accuracies."""
LAST = sorted({f"{measured}@{EPOCHS - 1}" for _, measured in SOURCES.values()})
"""What the last accuracies are called."""


def read_whole(path: Path, tell: Progress) -> dict[str, list[object]]:
    """The columns of the nb201 table from one official file, recognised by how it begins.

    Args:
        path: The file.
        tell: Is told the file's name, how many bytes of it are read, and how many there are.

    Raises:
        TableError: If the file is damaged, or not as the benchmark's authors write it; says how.
    """
    try:
        return _columns(as_dictionary(_found(path, tell)))
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    except EOFError:
        raise TableError(f"{path}: is cut off") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except MemoryError:
        raise TableError(f"{path}: {NO_ROOM}") from None


def _found(path: Path, tell: Progress) -> object:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(len(START_OF_LEGACY))
        file.seek(0)
        read = next((read for begins, read in READERS.items() if start.startswith(begins)), None)
        if not read:
            raise TableError(
                f"no official file of NAS-Bench-201: it begins with {start[:4].hex(' ') or 'nothing'}"
            )
        return read(file, _trimming(lambda: tell(path.name, file.tell(), size)))


def _bzip2(file: IO[bytes], trim: Trim) -> object:
    with io.BufferedReader(bz2.open(file), STEP) as unpacked:
        found = read_pickle(unpacked, TableError, trim=trim)
        while unpacked.read(STEP):  # to the end, where the checksum is compared
            pass
    return found


READERS: dict[bytes, Callable[[IO[bytes], Trim], object]] = {
    START_OF_BZIP2: _bzip2,
    START_OF_ZIP: read_zip,
    START_OF_LEGACY: read_legacy,
}
"""By how a file begins, what reads it."""


def _trimming(tell: Callable[[], None]) -> Trim:
    """Trims trainings as they are made, and tells after those of each schedule of a cell."""

    def trim(made: dict[Any, Any]) -> None:
        if "eval_acc1es" in made:
            trim_training(made)
        elif "all_results" in made:
            tell()

    return trim


def trim_training(made: dict[Any, Any]) -> None:
    """Takes out of a training all that a line of the table does not need.

    Containers that it held are emptied, for the pickle's memory still holds them. If a file used one of them
    elsewhere as well, what is missing there is found out; nothing changes its value.
    """
    accuracies = made["eval_acc1es"]
    if not isinstance(accuracies, dict):
        return
    last = {name: accuracies[name] for name in LAST if name in accuracies}
    kept = {name: made[name] for name in KEPT if name in made}
    for value in list(made.values()):  # it may hold itself
        if isinstance(value, dict | list):
            value.clear()
    accuracies.update(last)
    made.clear()
    made.update(kept, eval_acc1es=accuracies)


def _columns(found: dict[Any, Any]) -> dict[str, list[object]]:
    cells, trainings = cells_of(found), found.get("arch2infos")
    if not isinstance(trainings, dict):
        raise TableError("has no dictionary 'arch2infos' of the trainings of each cell")
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for index, cell in enumerate(cells):
        for name, value in _row(trainings, index, cell).items():
            columns[name].append(value)
    return columns


def _row(trainings: dict[Any, Any], index: int, cell: str) -> dict[str, object]:
    if index not in trainings:
        raise TableError(f"has no trainings of cell {index}, {cell}")
    try:
        return row(trainings[index], cell)
    except TableError as error:
        raise TableError(f"cell {index}: {error}") from None
