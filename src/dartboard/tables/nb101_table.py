"""The table of NAS-Bench-101: cells under integer keys, columns of numbers, and the .npz file of both.

The benchmark trained one cell of each isomorphism class. A cell is looked up under the keys of all vertex
orders in which its edges lead forwards: there are five inner vertices at most. The file has one row per cell
and no pickles.
"""

import io
import zipfile
from collections.abc import Mapping
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dartboard.errors import TableError
from dartboard.utils.atomic import write_bytes
from dartboard.utils.npz import DamagedArrayError, read_array

Ints = NDArray[np.int64]
Columns = Mapping[str, NDArray[Any]]

MOST_VERTICES, MOST_EDGES = 7, 9
"""Size of the largest cells of the benchmark."""
LABELS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
"""The ops of the benchmark in the order of their numbers."""
INTEGERS: dict[str, type[np.unsignedinteger]] = {
    "vertices": np.uint8,
    "adj_bits": np.uint32,
    "ops_code": np.uint16,
    "params": np.uint32,
}
ACCURACIES = ("test_acc_108", "valid_acc_108")
REQUIRED = (*INTEGERS, "test_acc_108")
_EDGE_BITS = MOST_VERTICES * (MOST_VERTICES - 1) // 2


def cell_key(edges: Ints, ops: Ints) -> Ints:
    """One integer for the bits of a cell's edges and the code of its ops, element by element."""
    return ops << _EDGE_BITS | edges


def forward_orders(matrix: ArrayLike) -> Ints:
    """The orders [orders, vertices] in which all edges lead forwards, the first and last vertex fixed.

    Args:
        matrix: 1 where there is an edge from the row's to the column's vertex, else 0 [vertices, vertices].
    """
    edges = np.asarray(matrix, dtype=np.int64)
    orders = _vertex_orders(len(edges))
    backwards = np.tril(edges[orders[:, :, None], orders[:, None, :]])  # [orders, vertices, vertices]
    forwards: Ints = orders[~backwards.any(axis=(1, 2))]
    return forwards


def edge_bits(matrix: ArrayLike, orders: Ints) -> Ints:
    """The bits of the edges [orders] in each of the orders: the edge from x to y is bit x + y (y - 1) / 2."""
    reordered = np.asarray(matrix, dtype=np.int64)[orders[:, :, None], orders[:, None, :]]
    bits: Ints = (reordered * _weights(orders.shape[1])).sum(axis=(1, 2))
    return bits


def ops_codes(labels: ArrayLike, orders: Ints) -> Ints:
    """The codes of the ops [..., orders] in each of the orders: their numbers in base 3 after a leading 1.

    `labels` has the op of each inner vertex, an index into `LABELS` [..., vertices - 2].
    """
    inner = orders.shape[1] - 2
    numbers = np.asarray(labels, dtype=np.int64)[..., orders[:, 1:-1] - 1]
    codes: Ints = numbers @ 3 ** np.arange(inner - 1, -1, -1) + 3**inner
    return codes


def matrix_of(edges: int, vertices: int) -> list[list[int]]:
    """The matrix whose edges have these bits."""
    weights = _weights(vertices).tolist()
    return [[int(weight & edges > 0) for weight in row] for row in weights]


def labels_of(ops: int) -> list[int]:
    """The op of each inner vertex, an index into `LABELS`, from the code of the ops."""
    return [int(digit) for digit in np.base_repr(ops, 3)[1:]]


@cache
def _vertex_orders(vertices: int) -> Ints:
    inner = permutations(range(1, vertices - 1))
    return np.array([(0, *order, vertices - 1) for order in inner], dtype=np.int64)


@cache
def _weights(vertices: int) -> Ints:
    """What each edge adds to the bits [vertices, vertices]; nothing on and below the diagonal."""
    source, target = np.indices((vertices, vertices))
    return np.where(source < target, 1 << source + target * (target - 1) // 2, 0)


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
        TableError: If the file cannot be read or is not such a table.
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
