"""Benchmark tables as .csv.gz files: a line for each architecture, and columns by name.

The first line names the columns; values are separated by commas and contain no comma, no quote and no line
break. The CRC-32 and the length at the end of the gzip file are checked when it is read, so a file that is
cut off or altered is refused.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dartboard.errors import TableError
from dartboard.tables.base import Floats
from dartboard.utils.atomic import write_bytes

MOST_BYTES = 1 << 28
"""Largest unpacked size of a table."""
_SEPARATORS = re.compile(r'[,"\n\r\v\f\x1c-\x1e\x85\u2028\u2029]')

Columns = Mapping[str, Sequence[str]]


def read_columns(path: Path, names: Sequence[str]) -> Columns:
    """The texts of some columns of a table, by name; other columns are ignored.

    Raises:
        TableError: If the file is damaged, or lacks a column.
    """
    try:
        with gzip.open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise TableError(f"unpacks to more than {MOST_BYTES:,} bytes; that is no table of a benchmark")
        first, *lines = data.decode().splitlines() or [""]
        head = first.split(",")
        if missing := [name for name in names if name not in head]:
            raise TableError(f"has no column {', '.join(missing)}; it has {', '.join(head)[:200] or 'none'}")
        for number, line in enumerate(lines, start=2):
            if line.count(",") + 1 != len(head):
                raise TableError(
                    f"line {number} has {line.count(',') + 1} values, the first line {len(head)}"
                )
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(f"{path}: not a whole .csv.gz table ({error})") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise TableError(f"{path}: not a table: its text is not in UTF-8") from None
    except TableError as error:
        raise TableError(f"{path}: {error}") from None
    values = ",".join(lines).split(",") if lines else []  # one list is faster than one for each line
    return {name: values[head.index(name) :: len(head)] for name in names}


def numbers(columns: Columns, name: str, *, most: float) -> Floats:
    """A column of numbers from 0 to `most` [lines].

    Raises:
        TableError: If a line holds anything else; says which.
    """
    try:
        column = np.array(list(map(float, columns[name])))
    except ValueError as error:
        raise TableError(f"column {name}: {error}") from None
    wrong = np.flatnonzero(~((column >= 0) & (column <= most)))
    if wrong.size:
        value = columns[name][wrong[0]]
        raise TableError(f"column {name}, line {wrong[0] + 2}: expected 0 to {most:,.0f}, got {value}")
    return column


def write_columns(path: Path, columns: Mapping[str, Iterable[object]]) -> None:
    """Writes a table atomically; the same columns always give the same bytes.

    Raises:
        TableError: If a value contains a comma, a quote or a line break.
    """
    rows = [tuple(columns), *(tuple(map(str, row)) for row in zip(*columns.values(), strict=True))]
    if wrong := next((value for row in rows for value in row if _SEPARATORS.search(value)), None):
        raise TableError(
            f"{wrong[:60]!r} cannot stand in a table: it has a comma, a quote or an end of a line"
        )
    text = "".join(",".join(row) + "\n" for row in rows)
    write_bytes(path, gzip.compress(text.encode(), mtime=0))
