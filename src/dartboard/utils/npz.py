"""Arrays in .npz archives: any damage is one type of error, and nothing is unpickled."""

import lzma
import zipfile
import zlib
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.utils.text import printable

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
    lzma.LZMAError,
)
"""Errors of numpy and Python that damaged arrays cause."""


class DamagedArrayError(ValueError):
    """An array that cannot be read; the message is one line."""


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """The array of that name in an open archive.

    Raises:
        DamagedArrayError: If it is missing or damaged.
    """
    try:
        with archive.open(f"{name}.npy") as member, np.errstate(invalid="ignore"):
            return np.lib.format.read_array(member, allow_pickle=False)
    except DAMAGED as error:
        raise DamagedArrayError(" ".join(printable(str(error)).split())[:200]) from None
