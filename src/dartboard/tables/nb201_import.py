"""Official files of NAS-Bench-201 and NATS-Bench, and the table that `nb201` reads made from them.

There are two kinds. The folder `NATS-tss-v1_0-3ffb9-simple`, as it is downloaded and unpacked:
`meta.pickle.pbz2` lists the cells, `000000.pickle.pbz2` and so on hold all trainings of one cell each. And
the whole benchmark in one file, NATS-Bench's or one of those before: a dictionary in which `meta_archs` lists
the cells and `arch2infos` holds the trainings of each by its index. All values of all epochs would fill 28 GB
of memory, so what the table does not need is dropped while that file is read.

Some of those files are of `torch.save`; they are read without torch. Before torch 1.6 they are four pickles
in a row, the last of which is the saved object; later ones are zip archives with that pickle in them. The
values of tensors are stored outside of the pickle and are not read: tensors become None.

The table takes the trainings of 200 epochs: each accuracy after the last epoch, its mean over all seeds.
"""

import bz2
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import IO, Any

from dartboard.errors import TableError, one_line
from dartboard.tables.base import IMPORTS
from dartboard.tables.nb201 import (
    CELL,
    COLUMNS,
    MILLION,
    MULTIPLY_ADDS,
    PARAMETERS,
    check_cells,
    write_columns,
)
from dartboard.utils.progress import Progress
from dartboard.utils.unpickler import NO_ROOM, AllowedGlobals, Trim, read_pickle

META = "meta.pickle.pbz2"
MOST_BYTES = 1 << 28
"""Largest unpacked size of a file of the folder."""
EPOCHS = 200
SCHEDULES = ("200", "full")
"""Name of the schedule of 200 epochs: in NATS-Bench, in NAS-Bench-201."""
SOURCES = {
    "cifar10_valid": ("cifar10-valid", "x-valid"),
    "cifar10_test": ("cifar10", "ori-test"),
    "cifar100_valid": ("cifar100", "x-valid"),
    "cifar100_test": ("cifar100", "x-test"),
    "in16_valid": ("ImageNet16-120", "x-valid"),
    "in16_test": ("ImageNet16-120", "x-test"),
}
"""Training set and evaluation set of each column of accuracies, as the files call them."""
START_OF_BZIP2 = b"BZh"
START_OF_ZIP = b"PK\x03\x04"
START_OF_LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""First bytes of files of torch.save before torch 1.6: a pickled number."""
LEGACY_PROTOCOL = 1001
PICKLE = "data.pkl"
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    ValueError,
    RuntimeError,
    LookupError,
)
"""Errors that damaged archives cause."""
TENSOR_KINDS = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
STEP = 1 << 20
TRAINING_KEYS = ("epochs", "params", "flop")
"""Values of a training that the table needs besides its last accuracies."""
LAST_ACCURACIES = sorted({f"{evaluated}@{EPOCHS - 1}" for _, evaluated in SOURCES.values()})

Trials = Mapping[tuple[str, int], Mapping[str, Any]]
"""The trainings of a cell, by training set and seed."""


@IMPORTS.register("nb201")
def import_nb201(source: Path, out: Path, progress: Progress) -> int:
    """The folder or one of the files that the authors of NAS-Bench-201 and NATS-Bench publish."""
    columns = read_folder(source, progress) if source.is_dir() else read_archive(source, progress)
    write_columns(out, columns)
    return len(columns[CELL])


def read_folder(folder: Path, progress: Progress) -> dict[str, list[object]]:
    """The columns of the nb201 table from the official folder, with `meta.pickle.pbz2` and one file per cell.

    Progress is the number of cells read.

    Raises:
        TableError: If a file is missing, damaged, or not as NATS-Bench writes it; says which.
    """
    path = folder / META
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    try:
        cells = _read_cells(_read_bzip2(path))
        for index, cell in enumerate(cells):
            path = folder / f"{index:06d}.pickle.pbz2"
            for name, value in _table_row(_read_bzip2(path), cell).items():
                columns[name].append(value)
            progress(folder.name, index + 1, len(cells))
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    return columns


def _read_bzip2(path: Path) -> dict[Any, Any]:
    try:
        with bz2.open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except EOFError:
        raise TableError("is cut off") from None
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror or error})") from None
    if len(data) > MOST_BYTES:
        raise TableError(f"unpacks to more than {MOST_BYTES:,} bytes")
    return _check_dictionary(read_pickle(io.BytesIO(data), TableError))


def _check_dictionary(value: object) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise TableError(f"holds a {type(value).__name__}, not a dictionary")
    return value


def _read_cells(meta: dict[Any, Any]) -> Sequence[str]:
    """The cells that a dictionary of the benchmark lists; all of the space, each once."""
    cells = meta.get("meta_archs")
    if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
        raise TableError("has no list 'meta_archs' of cells")
    check_cells(cells)
    return cells


def _table_row(schedules: Any, cell: str) -> dict[str, object]:
    """One line of the table, from all trainings of a cell by their schedules."""
    try:
        trainings = next(schedules[name] for name in SCHEDULES if name in schedules)
        if (name := trainings["arch_str"]) != cell:
            about = repr(name[:200]) if isinstance(name, str) else f"a {type(name).__name__}"
            raise TableError(f"is about {about}; the list of cells says {cell!r}")
        trials: Trials = trainings["all_results"]
        row: dict[str, object] = {CELL: cell}
        row |= {name: round(_mean_accuracy(trials, *source), 4) for name, source in SOURCES.items()}
        trial = next((trial for (name, _), trial in trials.items() if name == "cifar10"), {})
        parameters, multiply_adds = trial["params"], trial["flop"]  # both in millions
        if not (0 <= parameters < MILLION and 0 <= multiply_adds < MILLION):
            raise ValueError(f"{parameters} million parameters and {multiply_adds} million multiply-adds")
        return row | {PARAMETERS: round(parameters * MILLION), MULTIPLY_ADDS: round(multiply_adds, 6)}
    except StopIteration:
        raise TableError(
            f"has no trainings of {EPOCHS} epochs, {' or '.join(map(repr, SCHEDULES))}"
        ) from None
    except TableError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise TableError(f"not as its authors write it ({reason[:200]})") from None


def _mean_accuracy(trials: Trials, trained: str, evaluated: str) -> float:
    """Accuracy in percent after the last epoch, its mean over all seeds."""
    accuracies = []
    for (name, _), trial in trials.items():
        if name == trained:
            if trial["epochs"] != EPOCHS:
                raise ValueError(f"a training of another number of epochs than {EPOCHS}")
            accuracies.append(float(trial["eval_acc1es"][f"{evaluated}@{EPOCHS - 1}"]))
    if wrong := [value for value in accuracies if not 0 <= value <= 100]:
        raise ValueError(f"{trained}, {evaluated}: an accuracy of {wrong[0]} %")
    if not accuracies:
        raise ValueError(f"no training on {trained}")
    return fmean(accuracies)


def read_archive(path: Path, progress: Progress) -> dict[str, list[object]]:
    """The columns of the nb201 table from one official file, recognized by its first bytes.

    Progress is the number of bytes read.

    Raises:
        TableError: If the file is damaged, or not as the benchmark's authors write it; says how.
    """
    try:
        contents = _check_dictionary(_unpickle(path, progress))
        cells, trainings = _read_cells(contents), contents.get("arch2infos")
        if not isinstance(trainings, dict):
            raise TableError("has no dictionary 'arch2infos' of the trainings of each cell")
        columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
        for index, cell in enumerate(cells):
            if index not in trainings:
                raise TableError(f"has no trainings of cell {index}, {cell}")
            try:
                row = _table_row(trainings[index], cell)
            except TableError as error:
                raise TableError(f"cell {index}: {error}") from None
            for name, value in row.items():
                columns[name].append(value)
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    except EOFError:
        raise TableError(f"{path}: is cut off") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except MemoryError:
        raise TableError(f"{path}: {NO_ROOM}") from None
    return columns


def _unpickle(path: Path, progress: Progress) -> object:
    """The contents of an official file; trainings are trimmed as they are read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(len(START_OF_LEGACY))
        file.seek(0)
        read = next((read for magic, read in READERS.items() if start.startswith(magic)), None)
        if not read:
            raise TableError(
                f"no official file of NAS-Bench-201: it begins with {start[:4].hex(' ') or 'nothing'}"
            )

        def trim(values: dict[Any, Any]) -> None:
            if "eval_acc1es" in values:
                trim_training(values)
            elif "all_results" in values:
                progress(path.name, file.tell(), size)

        return read(file, trim)


def _read_bzip2_stream(file: IO[bytes], trim: Trim) -> object:
    with io.BufferedReader(bz2.open(file), STEP) as unpacked:
        contents = read_pickle(unpacked, TableError, trim=trim)
        while unpacked.read(STEP):  # to the end, where the checksum is compared
            pass
    return contents


def trim_training(training: dict[Any, Any]) -> None:
    """Removes everything from a training that the table does not need.

    Containers that it held are emptied, as the memo of the unpickler still holds them. If a file used one of
    them elsewhere as well, the missing values are noticed there; no value is changed.
    """
    accuracies = training["eval_acc1es"]
    if not isinstance(accuracies, dict):
        return
    last = {name: accuracies[name] for name in LAST_ACCURACIES if name in accuracies}
    remaining = {name: training[name] for name in TRAINING_KEYS if name in training}
    for value in list(training.values()):  # it may hold itself
        if isinstance(value, dict | list):
            value.clear()
    accuracies.update(last)
    training.clear()
    training.update(remaining, eval_acc1es=accuracies)


def _nothing(*_: object) -> None:
    """Stands for a tensor, or for its storage."""


TENSORS: AllowedGlobals = {
    ("torch._utils", "_rebuild_tensor_v2"): _nothing,
    ("torch._utils", "_rebuild_parameter"): _nothing,
    **{("torch", f"{kind}Storage"): _nothing for kind in TENSOR_KINDS},
}


def read_legacy(file: IO[bytes], trim: Trim) -> object:
    """Contents of a file from before torch 1.6.

    Raises:
        TableError: If it is not such a file, is damaged, or asks for anything but plain values and tensors.
    """
    if file.read(len(START_OF_LEGACY)) != START_OF_LEGACY:
        raise TableError("no file of torch.save")
    if read_pickle(file, TableError) != LEGACY_PROTOCOL:
        raise TableError(f"a file of torch.save of another protocol than {LEGACY_PROTOCOL}")
    read_pickle(file, TableError)  # sizes of integers on the machine that wrote it
    return _read_tensors(file, trim)


def read_zip(file: IO[bytes], trim: Trim) -> object:
    """Contents of a file of torch 1.6 or later.

    Raises:
        TableError: If it is not such a file, is damaged, or asks for anything but plain values and tensors.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.split("/")[-1] == PICKLE]
            if len(names) != 1:
                raise TableError(f"no file of torch.save: a zip archive with {len(names)} files {PICKLE}")
            with io.BufferedReader(archive.open(names[0]), STEP) as pickled:  # type: ignore[type-var]
                contents = _read_tensors(pickled, trim)
                while pickled.read(STEP):  # to the end, where the checksum is compared
                    pass
    except TableError:
        raise
    except DAMAGED as error:
        raise TableError(f"no whole file of torch.save ({one_line(error)})") from None
    return contents


def _read_tensors(file: IO[bytes], trim: Trim) -> object:
    return read_pickle(file, TableError, extra_globals=TENSORS, trim=trim, persistent_load=_nothing)


READERS: dict[bytes, Callable[[IO[bytes], Trim], object]] = {
    START_OF_BZIP2: _read_bzip2_stream,
    START_OF_ZIP: read_zip,
    START_OF_LEGACY: read_legacy,
}
"""Reader of a file by its first bytes."""
