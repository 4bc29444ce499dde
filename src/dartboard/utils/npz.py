"""Arrays in .npz archives, read so that damage of any kind is one error; nothing is unpickled."""

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
"""What numpy and Python raise on damaged arrays of one kind or another."""


class DamagedArrayError(ValueError):
    """Why an array cannot be read, in one line."""


def read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """The array of that name in an archive that is open.

    Raises:
        DamagedArrayError: If it is not there, or damaged.
    """
    try:
        with archive.open(f"{name}.npy") as member, np.errstate(invalid="ignore"):
            return np.lib.format.read_array(member, allow_pickle=False)
    except DAMAGED as error:
        raise DamagedArrayError(" ".join(printable(str(error)).split())[:200]) from None
