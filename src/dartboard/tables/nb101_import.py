"""The official files of NAS-Bench-101, nasbench_only108.tfrecord and nasbench_full.tfrecord.

A record is one training of a cell: JSON of its graph's hash, the epochs, the matrix as one text of digits,
the ops with commas between them, and the metrics, a protocol buffer in base64.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dartboard.errors import GenotypeError, TableError
from dartboard.space import prune_nb101
from dartboard.tables.base import IMPORTS
from dartboard.tables.nb101_cells import LABELS, edge_bits, ops_codes
from dartboard.tables.nb101_file import Columns, Nb101Columns, write_table
from dartboard.tables.tfrecord import BATCH, FRAME_BYTES, fields, read_records
from dartboard.utils.progress import Progress

EPOCHS = 108
EVALUATION, PARAMETERS = 1, 2
"""Fields of the metrics: what was measured, at the start, half-way and at the end; trainable parameters."""
VALID, TEST = 4, 5
"""Fields of an evaluation: accuracies, shares from 0 to 1."""


@dataclass(slots=True)
class _Trained:
    """A cell and the sums over its trainings."""

    vertices: int
    edges: int
    ops: int
    parameters: int
    trainings: int = 0
    valid: float = 0.0
    test: float = 0.0


@dataclass(frozen=True)
class _Metrics:
    parameters: int
    valid: float
    test: float


@IMPORTS.register("nb101")
def import_tfrecord(path: Path, out: Path, tell: Progress) -> int:
    """The file nasbench_only108.tfrecord or nasbench_full.tfrecord of NAS-Bench-101."""
    table = read_official(path, tell)
    write_table(out, table)
    return len(table)


def _silent(what: str, done: int, total: int) -> None:
    """Tells nobody."""


def read_official(path: Path, tell: Progress = _silent) -> Nb101Columns:
    """The table of an official file: accuracies after 108 epochs, means over the trainings of each cell.

    Rows come in the order of their graphs' hashes. The file is read once, record by record.

    Args:
        path: The .tfrecord file.
        tell: Is told the file's name, how many bytes of it are read, and how many there are.

    Raises:
        TableError: If the file is damaged or holds no such records; says which.
    """
    cells: dict[str, _Trained] = {}
    for number, record in enumerate(_told(path, tell)):
        try:
            _add(cells, record)
        except (TableError, GenotypeError) as error:
            raise TableError(f"{path}: record {number}: {error}") from None
    try:
        return Nb101Columns(_columns([cells[graph] for graph in sorted(cells)]))
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def _told(path: Path, tell: Progress) -> Iterator[bytes]:
    """The records of the file, told about now and then and at the end."""
    total, done = path.stat().st_size if path.is_file() else 0, 0
    for number, record in enumerate(read_records(path)):
        if number % BATCH == 0:
            tell(path.name, done, total)
        yield record
        done += len(record) + FRAME_BYTES
    tell(path.name, done, total)


def _add(cells: dict[str, _Trained], record: bytes) -> None:
    """Put one training with the others of its cell; those of other lengths are left out."""
    graph, epochs, matrix, ops, metrics = _parts(record)
    if epochs != EPOCHS:
        return
    measured = _metrics(metrics)
    if graph not in cells:
        cells[graph] = _Trained(*_cell(matrix, ops.split(",")), measured.parameters)
    cell = cells[graph]
    cell.trainings += 1
    cell.valid += measured.valid
    cell.test += measured.test


def _parts(record: bytes) -> tuple[str, int, str, str, str]:
    try:
        parts = json.loads(record)
    except (ValueError, RecursionError):
        raise TableError("is no JSON; expected a training of NAS-Bench-101") from None
    kinds = (str, int, str, str, str)
    if not isinstance(parts, list) or list(map(type, parts)) != list(kinds):
        raise TableError("expected hash, epochs, matrix, ops and metrics of a training of NAS-Bench-101")
    graph, epochs, matrix, ops, metrics = parts
    return graph, epochs, matrix, ops, metrics


def _cell(digits: str, ops: list[str]) -> tuple[int, int, int]:
    """Vertices, edges' bits and ops' code of a cell, loose ends taken off."""
    size = len(ops)
    if len(digits) != size**2 or not set(digits) <= {"0", "1"}:
        raise TableError(f"expected a matrix of {size}x{size} digits 0 and 1, got {digits[:60]!r}")
    rows = [list(map(int, digits[start : start + size])) for start in range(0, size**2, size)]
    matrix, kept = prune_nb101(rows, ops)
    as_it_is = np.arange(len(kept))[None]
    labels = [LABELS.index(op) for op in kept[1:-1]]
    return len(kept), int(edge_bits(matrix, as_it_is)[0]), int(ops_codes(labels, as_it_is)[0])


def _metrics(text: str) -> _Metrics:
    try:
        message = list(fields(base64.b64decode("".join(text.split()), validate=True)))
    except ValueError as error:  # base64's own and those of `fields`
        raise TableError(f"its metrics cannot be read ({error})") from None
    evaluations = [value for number, value in message if number == EVALUATION and isinstance(value, bytes)]
    if len(evaluations) != 3:
        raise TableError(f"expected 3 evaluations, at start, half-way and end; got {len(evaluations)}")
    parameters, last = dict(message).get(PARAMETERS), dict(fields(evaluations[-1]))
    if not isinstance(parameters, int):
        raise TableError(f"expected a number of trainable parameters, got {parameters!r}")
    return _Metrics(parameters, _share(last, VALID), _share(last, TEST))


def _share(evaluation: Mapping[int, object], number: int) -> float:
    value = evaluation.get(number)
    if not isinstance(value, float) or not 0 <= value <= 1:
        raise TableError(f"field {number} of its last evaluation: expected a share from 0 to 1, got {value}")
    return value


def _columns(cells: list[_Trained]) -> Columns:
    if not cells:
        raise TableError(f"has no training of {EPOCHS} epochs")
    columns: dict[str, Iterator[float]] = {
        "vertices": (cell.vertices for cell in cells),
        "adj_bits": (cell.edges for cell in cells),
        "ops_code": (cell.ops for cell in cells),
        "params": (cell.parameters for cell in cells),
    }
    shares: dict[str, Iterator[float]] = {
        "test_acc_108": (cell.test / cell.trainings for cell in cells),
        "valid_acc_108": (cell.valid / cell.trainings for cell in cells),
    }
    whole = {name: np.fromiter(column, np.int64, len(cells)) for name, column in columns.items()}
    return whole | {name: np.fromiter(column, np.float64, len(cells)) for name, column in shares.items()}
