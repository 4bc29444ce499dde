"""Files by their names, out of a folder or an archive."""

import gzip
import lzma
import tarfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from dartboard.errors import DataError

LARGEST = 10**9
"""Files of more bytes are no part of a data set that is read at once."""
ARCHIVES = (".tar.gz", ".tgz", ".tar")


def is_archive(path: Path) -> bool:
    """Whether a file is called like an archive that `read_bundle` reads."""
    return path.name.lower().endswith(ARCHIVES)


def names_in(path: Path) -> set[str]:
    """The names of the files in a folder, or, without their folders, in an archive."""
    with naming(path):
        if path.is_dir():
            return {file.name for file in path.iterdir()}
        with tarfile.open(path) as archive:
            return {Path(member.name).name for member in archive if member.isfile()}


def read_bundle(path: Path, wanted: Collection[str]) -> dict[str, bytes]:
    """What is in the files of these names, in a folder or an archive.

    Raises:
        DataError: If one is missing or cannot be read.
    """
    with naming(path):
        found = {name: read_file(path / name) for name in wanted} if path.is_dir() else _members(path, wanted)
    if missing := sorted(set(wanted) - set(found)):
        raise DataError(f"{path}: has no {', '.join(missing)}")
    return found


def _members(path: Path, wanted: Collection[str]) -> dict[str, bytes]:
    """The files of an archive, which is read once from its beginning to its end."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = Path(member.name).name
            if member.isfile() and name in wanted:
                if member.size > LARGEST:
                    raise DataError(f"{path}: {name} has {member.size:,} bytes, far too many")
                file = archive.extractfile(member)
                found[name] = file.read() if file else b""
    return found


def read_file(path: Path) -> bytes:
    """What is in a file; what was packed by gzip is unpacked.

    Raises:
        DataError: If the file is missing, cannot be read, or is cut short.
    """
    with naming(path):
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix.lower() == ".gz" else data


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """A file that cannot be read is named in the error."""
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path}: is damaged or cut short ({error})") from None


@contextmanager
def about(path: Path) -> Iterator[None]:
    """What is wrong with what a file holds is said in a line that names the file."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
