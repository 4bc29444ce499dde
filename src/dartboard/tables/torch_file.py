"""Files of `torch.save`, read without torch and without the values of tensors.

Files before torch 1.6 are four pickles in a row, the last of which is the saved object; later ones are zip
archives with that pickle in them. The values of tensors are stored outside of the pickle and are not read:
tensors become None.
"""

import io
import lzma
import struct
import zipfile
import zlib
from typing import IO

from dartboard.errors import TableError, one_line
from dartboard.utils.unpickler import AllowedGlobals, Trim, read_pickle

START_OF_ZIP = b"PK\x03\x04"
START_OF_LEGACY = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""First bytes of files before torch 1.6: a pickled number."""
LEGACY_PROTOCOL = 1001
PICKLE = "data.pkl"
STEP = 1 << 20
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
KINDS = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")


def _nothing(*_: object) -> None:
    """Stands for a tensor, or for its storage."""


TENSORS: AllowedGlobals = {
    ("torch._utils", "_rebuild_tensor_v2"): _nothing,
    ("torch._utils", "_rebuild_parameter"): _nothing,
    **{("torch", f"{kind}Storage"): _nothing for kind in KINDS},
}


def read_legacy(file: IO[bytes], trim: Trim) -> object:
    """Contents of a file from before torch 1.6.

    Raises:
        TableError: If it is no such file, is damaged, or asks for anything but plain values and tensors.
    """
    if file.read(len(START_OF_LEGACY)) != START_OF_LEGACY:
        raise TableError("no file of torch.save")
    if read_pickle(file, TableError) != LEGACY_PROTOCOL:
        raise TableError(f"a file of torch.save of another protocol than {LEGACY_PROTOCOL}")
    read_pickle(file, TableError)  # sizes of integers on the machine that wrote it
    return _read(file, trim)


def read_zip(file: IO[bytes], trim: Trim) -> object:
    """Contents of a file of torch 1.6 or later.

    Raises:
        TableError: If it is no such file, is damaged, or asks for anything but plain values and tensors.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if name.split("/")[-1] == PICKLE]
            if len(names) != 1:
                raise TableError(f"no file of torch.save: a zip archive with {len(names)} files {PICKLE}")
            with io.BufferedReader(archive.open(names[0]), STEP) as pickled:  # type: ignore[type-var]
                contents = _read(pickled, trim)
                while pickled.read(STEP):  # to the end, where the checksum is compared
                    pass
    except TableError:
        raise
    except DAMAGED as error:
        raise TableError(f"no whole file of torch.save ({one_line(error)})") from None
    return contents


def _read(file: IO[bytes], trim: Trim) -> object:
    return read_pickle(file, TableError, extra_globals=TENSORS, trim=trim, persistent_load=_nothing)
