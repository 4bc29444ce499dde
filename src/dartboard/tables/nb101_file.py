"""The compact table of NAS-Bench-101: one row a cell, in an .npz file without pickles."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import TableError
from dartboard.tables.nb101_cells import MOST_VERTICES, Ints, spell
from dartboard.utils.atomic import write_bytes
from dartboard.utils.npz import DamagedArrayError, read_array

Columns = Mapping[str, NDArray[Any]]

WHOLE: dict[str, type[np.unsignedinteger]] = {
    "vertices": np.uint8,
    "adj_bits": np.uint32,
    "ops_code": np.uint16,
    "params": np.uint32,
}
SHARES = ("test_acc_108", "valid_acc_108")
NEEDED = (*WHOLE, "test_acc_108")


class Nb101Columns:
    """The columns of the benchmark, checked, and the row of every cell.

    Args:
        columns: By name, each [rows]: `vertices`, `adj_bits` (the edge from x to y is bit x + y (y - 1) / 2),
            `ops_code` (the numbers of the inner ops in base 3 after a leading 1), `params`, `test_acc_108`
            and, where there is one, `valid_acc_108`, both shares from 0 to 1.

    Raises:
        TableError: If a column is missing or holds what it cannot.
    """

    def __init__(self, columns: Columns) -> None:
        _check_columns(columns)
        own = (*NEEDED, *(name for name in SHARES[1:] if name in columns))
        self.columns = {name: columns[name].astype(WHOLE.get(name, np.float32)) for name in own}
        spelt = spell(columns["adj_bits"].astype(np.int64), columns["ops_code"].astype(np.int64))
        self._rows = np.argsort(spelt)
        self._spelt = spelt[self._rows]
        if (self._spelt[1:] == self._spelt[:-1]).any():
            raise TableError(f"row {self._rows[:-1][self._spelt[1:] == self._spelt[:-1]][0]} is there twice")

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, spelt: Ints) -> Ints:
        """The row of each number that `spell` made of a cell, -1 where there is none."""
        places = np.searchsorted(self._spelt, spelt).clip(max=len(self) - 1)
        return np.where(self._spelt[places] == spelt, self._rows[places], -1)


def read_table(path: Path) -> Nb101Columns:
    """The table in an .npz file; nothing is unpickled.

    Raises:
        TableError: If the file cannot be read or is no such table.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in (*NEEDED, *SHARES[1:]) if f"{name}.npy" in archive.namelist()]
            return Nb101Columns({name: _column(archive, name) for name in names})
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (zipfile.BadZipFile, NotImplementedError, UnicodeError):
        raise TableError(f"{path}: not an .npz file with the columns {', '.join(NEEDED)}") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None


def write_table(path: Path, table: Nb101Columns) -> None:
    """Puts the table in the place of the file, whole or not at all."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **table.columns)
    write_bytes(path, buffer.getvalue())


def _column(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    try:
        return read_array(archive, name)
    except DamagedArrayError as error:
        raise TableError(f"column {name} cannot be read ({error})") from None


def _check_columns(columns: Columns) -> None:
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise TableError(f"has no column {missing[0]}; it needs {', '.join(NEEDED)}")
    rows = columns["vertices"].shape
    for name in (*WHOLE, *SHARES):
        if name in columns:
            _check_column(name, columns[name], rows)
    _check_cells(columns)


def _check_column(name: str, column: NDArray[Any], rows: tuple[int, ...]) -> None:
    kinds, what = ("iu", "whole numbers") if name in WHOLE else ("f", "shares from 0 to 1")
    if column.dtype.kind not in kinds or column.ndim != 1 or column.shape != rows or not column.size:
        raise TableError(
            f"column {name} is {column.dtype} of shape {list(column.shape)}; "
            f"it must be {what}, as many as there are vertices"
        )
    most = np.iinfo(WHOLE[name]).max if name in WHOLE else 1
    _check_each(f"column {name}", column, (column >= 0) & (column <= most), what)


def _check_cells(columns: Columns) -> None:
    vertices, edges, ops = (columns[name].astype(np.int64) for name in ("vertices", "adj_bits", "ops_code"))
    fits = (vertices >= 2) & (vertices <= MOST_VERTICES)
    _check_each("column vertices", vertices, fits, f"from 2 to {MOST_VERTICES}")
    fits = edges < 1 << vertices * (vertices - 1) // 2
    _check_each("column adj_bits", edges, fits, "edges between the row's vertices")
    lead = 3 ** (vertices - 2)
    _check_each("column ops_code", ops, (ops >= lead) & (ops < 2 * lead), "one op for each inner vertex")


def _check_each(place: str, column: NDArray[Any], fits: NDArray[np.bool_], expected: str) -> None:
    if not fits.all():
        row = int(np.argmin(fits))
        raise TableError(f"{place}, row {row}: expected {expected}, got {column[row]}")
