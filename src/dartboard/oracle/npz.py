"""Columns of tables in .npz files, read so that a damaged one is one line; nothing is unpickled."""

import zipfile
import zlib
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import OracleError
from dartboard.printable import printable

DAMAGED = (
    ValueError,
    EOFError,
    RuntimeError,  # NotImplementedError is one
    OverflowError,
    MemoryError,
    SyntaxError,
    KeyError,
    TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What numpy and Python raise on damaged arrays of one kind or another."""


def read_column(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """The array of that name in an archive that is open.

    Raises:
        OracleError: If it is not there, or damaged.
    """
    try:
        with archive.open(f"{name}.npy") as member, np.errstate(invalid="ignore"):
            return np.lib.format.read_array(member, allow_pickle=False)
    except DAMAGED as error:
        why = " ".join(printable(str(error)).split())
        raise OracleError(f"column {name} cannot be read ({why[:200]})") from None
