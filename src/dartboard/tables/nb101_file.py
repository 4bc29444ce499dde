"""Files of NAS-Bench-101: the compact .npz table, and the official .tfrecord files that it is made from.

The table has one row a cell and no pickles. A record of nasbench_only108.tfrecord or nasbench_full.tfrecord
is one training of a cell: JSON with the graph's hash, the epochs, the matrix as a string of digits, the ops
separated by commas, and the metrics, a protocol buffer in base64.
"""

import base64
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import GenotypeError, TableError
from dartboard.space import prune_nb101
from dartboard.tables.base import IMPORTS
from dartboard.tables.nb101_cells import LABELS, MOST_VERTICES, Ints, cell_key, edge_bits, ops_codes
from dartboard.tables.tfrecord import BATCH, FRAME_BYTES, fields, read_records
from dartboard.utils.atomic import write_bytes
from dartboard.utils.npz import DamagedArrayError, read_array
from dartboard.utils.progress import Progress, no_progress

Columns = Mapping[str, NDArray[Any]]

INTEGERS: dict[str, type[np.unsignedinteger]] = {
    "vertices": np.uint8,
    "adj_bits": np.uint32,
    "ops_code": np.uint16,
    "params": np.uint32,
}
ACCURACIES = ("test_acc_108", "valid_acc_108")
REQUIRED = (*INTEGERS, "test_acc_108")

EPOCHS = 108
EVALUATION, PARAMETERS = 1, 2
"""Fields of the metrics: the evaluations at the start, half-way and at the end; trainable parameters."""
VALID, TEST = 4, 5
"""Fields of an evaluation: accuracies from 0 to 1."""


class Nb101Columns:
    """The columns of the benchmark, checked, and the row of every cell.

    Args:
        columns: By name, each [rows]: `vertices`, `adj_bits` (the edge from x to y is bit x + y (y - 1) / 2),
            `ops_code` (the numbers of the inner ops in base 3 after a leading 1), `params`, `test_acc_108`
            and, where there is one, `valid_acc_108`, both from 0 to 1.

    Raises:
        TableError: If a column is missing or has an impossible value.
    """

    def __init__(self, columns: Columns) -> None:
        _check_columns(columns)
        names = (*REQUIRED, *(name for name in ACCURACIES[1:] if name in columns))
        self.columns = {name: columns[name].astype(INTEGERS.get(name, np.float32)) for name in names}
        keys = cell_key(columns["adj_bits"].astype(np.int64), columns["ops_code"].astype(np.int64))
        self._rows = np.argsort(keys)
        self._keys = keys[self._rows]
        if (self._keys[1:] == self._keys[:-1]).any():
            raise TableError(f"row {self._rows[:-1][self._keys[1:] == self._keys[:-1]][0]} is there twice")

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, keys: Ints) -> Ints:
        """The row of each key that `cell_key` made of a cell, -1 where there is none."""
        places = np.searchsorted(self._keys, keys).clip(max=len(self) - 1)
        return np.where(self._keys[places] == keys, self._rows[places], -1)


def read_table(path: Path) -> Nb101Columns:
    """The table in an .npz file; nothing is unpickled.

    Raises:
        TableError: If the file cannot be read or is no such table.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in (*REQUIRED, *ACCURACIES[1:]) if f"{name}.npy" in archive.namelist()]
            columns = {}
            for name in names:
                try:
                    columns[name] = read_array(archive, name)
                except DamagedArrayError as error:
                    raise TableError(f"column {name} cannot be read ({error})") from None
            return Nb101Columns(columns)
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (zipfile.BadZipFile, NotImplementedError, UnicodeError):
        raise TableError(f"{path}: not an .npz file with the columns {', '.join(REQUIRED)}") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def write_table(path: Path, table: Nb101Columns) -> None:
    """Writes the table atomically, in the place of the file if there is one."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **table.columns)
    write_bytes(path, buffer.getvalue())


def _check_columns(columns: Columns) -> None:
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise TableError(f"has no column {missing[0]}; it needs {', '.join(REQUIRED)}")
    for name in (*INTEGERS, *ACCURACIES):
        if name not in columns:
            continue
        column = columns[name]
        kinds, expected = ("iu", "whole numbers") if name in INTEGERS else ("f", "shares from 0 to 1")
        same_shape = column.ndim == 1 and column.shape == columns["vertices"].shape
        if column.dtype.kind not in kinds or not same_shape or not column.size:
            raise TableError(
                f"column {name} is {column.dtype} of shape {list(column.shape)}; "
                f"it must be {expected}, as many as there are vertices"
            )
        most = np.iinfo(INTEGERS[name]).max if name in INTEGERS else 1
        _check_values(name, column, (column >= 0) & (column <= most), expected)
    vertices, edges, ops = (columns[name].astype(np.int64) for name in ("vertices", "adj_bits", "ops_code"))
    valid = (vertices >= 2) & (vertices <= MOST_VERTICES)
    _check_values("vertices", vertices, valid, f"from 2 to {MOST_VERTICES}")
    valid = edges < 1 << vertices * (vertices - 1) // 2
    _check_values("adj_bits", edges, valid, "edges between the row's vertices")
    lead = 3 ** (vertices - 2)
    _check_values("ops_code", ops, (ops >= lead) & (ops < 2 * lead), "one op for each inner vertex")


def _check_values(name: str, column: NDArray[Any], valid: NDArray[np.bool_], expected: str) -> None:
    if not valid.all():
        row = int(np.argmin(valid))
        raise TableError(f"column {name}, row {row}: expected {expected}, got {column[row]}")


@dataclass(slots=True)
class _CellTotals:
    """A cell, and the sums over its trainings."""

    vertices: int
    edges: int
    ops: int
    parameters: int
    trainings: int = 0
    valid: float = 0.0
    test: float = 0.0


@IMPORTS.register("nb101")
def import_tfrecord(path: Path, out: Path, progress: Progress) -> int:
    """The file nasbench_only108.tfrecord or nasbench_full.tfrecord of NAS-Bench-101."""
    table = read_tfrecord(path, progress)
    write_table(out, table)
    return len(table)


def read_tfrecord(path: Path, progress: Progress = no_progress) -> Nb101Columns:
    """The table of an official file: accuracies after 108 epochs, means over the trainings of each cell.

    Rows are in the order of their graphs' hashes. The file is read once, record by record.

    Args:
        path: The .tfrecord file.
        progress: Called with the file's name, the bytes read, and its size.

    Raises:
        TableError: If the file is damaged or has another record; says which.
    """
    cells: dict[str, _CellTotals] = {}
    size, done = path.stat().st_size if path.is_file() else 0, 0
    for number, record in enumerate(read_records(path)):
        if number % BATCH == 0:
            progress(path.name, done, size)
        try:
            _add_training(cells, record)
        except (TableError, GenotypeError) as error:
            raise TableError(f"{path}: record {number}: {error}") from None
        done += len(record) + FRAME_BYTES
    progress(path.name, done, size)
    if not cells:
        raise TableError(f"{path}: has no training of {EPOCHS} epochs")
    try:
        return Nb101Columns(_mean_columns([cells[graph] for graph in sorted(cells)]))
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _add_training(cells: dict[str, _CellTotals], record: bytes) -> None:
    """Adds one training to those of its cell, unless it has another number of epochs."""
    try:
        values = json.loads(record)
    except (ValueError, RecursionError):
        raise TableError("is no JSON; expected a training of NAS-Bench-101") from None
    if not isinstance(values, list) or list(map(type, values)) != [str, int, str, str, str]:
        raise TableError("expected hash, epochs, matrix, ops and metrics of a training of NAS-Bench-101")
    graph, epochs, matrix, ops, metrics = values
    if epochs != EPOCHS:
        return
    parameters, valid, test = _read_metrics(metrics)
    if graph not in cells:
        cells[graph] = _CellTotals(*_encode_cell(matrix, ops.split(",")), parameters)
    cell = cells[graph]
    cell.trainings += 1
    cell.valid += valid
    cell.test += test


def _encode_cell(digits: str, ops: list[str]) -> tuple[int, int, int]:
    """Number of vertices, bits of the edges and code of the ops of a cell without its loose ends."""
    size = len(ops)
    if len(digits) != size**2 or not set(digits) <= {"0", "1"}:
        raise TableError(f"expected a matrix of {size}x{size} digits 0 and 1, got {digits[:60]!r}")
    rows = [list(map(int, digits[start : start + size])) for start in range(0, size**2, size)]
    matrix, pruned_ops = prune_nb101(rows, ops)
    same_order = np.arange(len(pruned_ops))[None]
    labels = [LABELS.index(op) for op in pruned_ops[1:-1]]
    return len(pruned_ops), int(edge_bits(matrix, same_order)[0]), int(ops_codes(labels, same_order)[0])


def _read_metrics(text: str) -> tuple[int, float, float]:
    """Parameters, validation accuracy and test accuracy at the end of a training."""
    try:
        message = list(fields(base64.b64decode("".join(text.split()), validate=True)))
    except ValueError as error:  # base64's own and those of `fields`
        raise TableError(f"its metrics cannot be read ({error})") from None
    evaluations = [value for number, value in message if number == EVALUATION and isinstance(value, bytes)]
    if len(evaluations) != 3:
        raise TableError(f"expected 3 evaluations, at start, half-way and end; got {len(evaluations)}")
    parameters = dict(message).get(PARAMETERS)
    if not isinstance(parameters, int):
        raise TableError(f"expected a number of trainable parameters, got {parameters!r}")
    final = dict(fields(evaluations[-1]))
    for number in (VALID, TEST):
        value = final.get(number)
        if not isinstance(value, float) or not 0 <= value <= 1:
            raise TableError(
                f"field {number} of its last evaluation: expected a share from 0 to 1, got {value!s}"
            )
    return parameters, float(final[VALID]), float(final[TEST])


def _mean_columns(cells: list[_CellTotals]) -> Columns:
    return {
        "vertices": np.array([cell.vertices for cell in cells], np.int64),
        "adj_bits": np.array([cell.edges for cell in cells], np.int64),
        "ops_code": np.array([cell.ops for cell in cells], np.int64),
        "params": np.array([cell.parameters for cell in cells], np.int64),
        "test_acc_108": np.array([cell.test / cell.trainings for cell in cells], np.float64),
        "valid_acc_108": np.array([cell.valid / cell.trainings for cell in cells], np.float64),
    }
