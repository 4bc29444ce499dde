"""Files with checksums, which a folder lists in its checksums.txt and which are compared at every read.

A line says what a file is from then on, and ends what earlier lines said of it:

    c0ffee00 9f86d081...0a08 1234 epochs/0007.json

That is the CRC-32 of the rest of the line, the SHA-256 of the file, its number of bytes, and its name in the
folder; a file that was removed has `-` for the SHA-256. A line is on disk before its file is changed, so that
a writer who is killed between the two leaves a file that is as the line before says, which is accepted. Lines
are only appended, by the one process that holds the folder's lock; whoever takes it next calls `settle`.

Files are replaced whole (`write_file`), but for those in `APPENDED`, to which lines are added
(`AppendedFile`): a writer who is killed within such a line leaves the beginning of it, which is never read,
and which `settle` removes.

JSON files that are not in such a folder, or that several processes write to the same one, carry the checksum
themselves (`seal`, `unseal`).
"""

import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from dartboard.errors import ChecksumError, RunError
from dartboard.utils import atomic, safe_files
from dartboard.utils.safe_files import TEXT_LIMIT, WEIGHTS_LIMIT

CHECKSUMS = "checksums.txt"
GROWING = ("log.txt",)
"""Files that others append to: their line is about the beginning of the file."""
APPENDED = ("metrics.jsonl",)
"""Files that grow by `AppendedFile`: their last line may have been written in part."""
CHANGED = "it was changed after it was written"

_LINE = re.compile(rb"([0-9a-f]{8}) ((?:[0-9a-f]{64}|-) (\d{1,19}) (.+))")
_SEAL = re.compile(rb',"sha256":"([0-9a-f]{64})"}\n\Z')
_SEAL_LENGTH = 80
_REMAINS = re.compile(rb'"sha256":|[0-9a-f]{64}')  # one of them survives the change of a byte
_TRIES = 5  # a file can be replaced between the look at it and that at its line


@dataclass(frozen=True)
class FileState:
    """What a line says of a file: its SHA-256 in hexadecimal, None if it was removed, and its size."""

    sha256: str | None
    size: int


ABSENT = FileState(None, 0)


@dataclass
class Journal:
    """The lines of a checksums.txt.

    Args:
        entries: By name, what was said last of each file and before that.
        damaged: Numbers of the lines that were changed.
        last: The name in the last line; its file may not have been written yet.
        whole: Bytes of whole lines; behind them may be the beginning of one whose writer was killed.
        has_damaged_end: Whether there is a whole line behind them whose end was changed instead.
    """

    entries: dict[str, tuple[FileState, ...]] = field(default_factory=dict)
    damaged: list[int] = field(default_factory=list)
    last: str | None = None
    whole: int = 0
    has_damaged_end: bool = False

    @classmethod
    def parse(cls, data: bytes) -> "Journal":
        """The journal of the contents of a file."""
        journal = cls(whole=data.rfind(b"\n") + 1)
        *lines, rest = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            match = _LINE.fullmatch(line)
            if match is None or int(match[1], 16) != zlib.crc32(match[2]):
                journal.damaged.append(number)
                continue
            journal._add(
                match[4].decode("utf-8", "surrogateescape"), match[2].split(b" ")[0].decode(), int(match[3])
            )
        match = _LINE.fullmatch(rest[:-1])
        if match is not None and int(match[1], 16) == zlib.crc32(match[2]):
            journal.damaged.append(len(lines) + 1)  # a whole line, then something else than its end
            journal.has_damaged_end = True
        return journal

    def whole_size(self, name: str, size: int) -> int:
        """Size of a file of this size without the beginning of a line whose writer was killed."""
        if name in APPENDED and name == self.last:
            before, now = self.entries[name]
            if before.sha256 is not None and before.size < size < now.size:
                return before.size
        return size

    def _add(self, name: str, sha256: str, size: int) -> None:
        before = self.entries.get(name, (ABSENT,))[-1]
        self.entries[name] = (before, FileState(None if sha256 == "-" else sha256, size))
        self.last = name


_cache: dict[str, tuple[tuple[int, int, int], Journal]] = {}


def read_journal(root: Path) -> Journal | None:
    """What the checksums.txt of a folder says; None if it has none.

    Raises:
        UnsafeFileError: If it is no file.
    """
    path = root / CHECKSUMS
    try:
        with safe_files.open_file(path, root=root) as file:
            key = _key(os.fstat(file.fileno()))
            known = _cache.get(str(path))
            if known is not None and known[0] == key:
                return known[1]
            journal = Journal.parse(file.read())
    except FileNotFoundError:
        return None
    if len(_cache) >= 64:  # enough for the runs that are read at a time
        _cache.clear()
    _cache[str(path)] = key, journal
    return journal


def read_file(path: str | Path, *, root: Path | None = None, limit: int = TEXT_LIMIT) -> bytes:
    """The contents of a file, if they are as they were written.

    A file that no checksum is known of is taken as it is.

    Args:
        path: The file.
        root: The folder that it belongs to and must not leave by links; None for one that the user has named,
            whose own folder is asked for its checksum.
        limit: Largest size in bytes.

    Raises:
        FileNotFoundError: If there is none.
        UnsafeFileError: If it is no regular file, too large, or outside of `root`.
        ChecksumError: If it was changed after it was written.
    """
    path = Path(path)
    folder = path.parent if root is None else root
    name = path.relative_to(folder).as_posix()
    fault = None
    for _ in range(_TRIES):
        with safe_files.open_file(path, root=root, limit=limit) as file:
            size, journal = os.fstat(file.fileno()).st_size, read_journal(folder)
            fault = None if journal is None else _fault(journal, name, journal.whole_size(name, size))
            data = b"" if fault else file.read(limit)
        if journal is None:
            return data
        data = data[: journal.whole_size(name, len(data))]
        if not fault and not (fault := _fault(journal, name, len(data), data)):
            return data
        _cache.pop(str(folder / CHECKSUMS), None)
    raise ChecksumError(f"{path} {fault}; see dartboard runs check {folder}")


def write_file(path: Path, data: str | bytes, *, root: Path | None = None) -> None:
    """Writes a file atomically, after a line about it in the checksums.txt of its folder.

    Args:
        path: The file.
        data: Its contents; a text is written in UTF-8.
        root: The folder that it belongs to; None for its own. No other process may be writing there.
    """
    folder = path.parent if root is None else root
    data = data.encode() if isinstance(data, str) else data
    if str(folder) in _unfinished:
        settle(folder)
    _append(folder, path.relative_to(folder).as_posix(), hashlib.sha256(data).hexdigest(), len(data))
    with _finishing(folder):
        atomic.write_bytes(path, data)


def write_changed(path: Path, text: str) -> None:
    """As `write_file` in the file's own folder, unless the file has that text already."""
    try:
        if read_file(path, root=path.parent) == text.encode():
            return
    except (FileNotFoundError, RunError):  # it is written anew
        pass
    write_file(path, text)


class AppendedFile:
    """A file to which lines are added; those that are there are neither read nor written again.

    As with `write_file`, a line about it is in the checksums.txt of its folder first, and a kill at any
    moment leaves the file with the new lines or without them, for all who read it by `read_file`.

    Args:
        path: The file, one of `APPENDED`, in the folder that it belongs to, where no other process may be
            writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sha256, self._size = hashlib.sha256(), 0
        self._status: tuple[int, int, int] | None = None  # when this process has last read or written it
        self._is_listed = False  # whether its checksum is that of its last line: else a kill would be damage

    @property
    def is_known(self) -> bool:
        """Whether the file is as this process has read or left it, as far as its status tells."""
        return self._status is not None and self._status == self._status_now()

    def read(self) -> bytes:
        """The contents, empty if there is no file; raises as `read_file`."""
        try:
            data, self._status = read_file(self.path, root=self.path.parent), self._status_now()
        except FileNotFoundError:
            data, self._status = b"", None
        self._sha256, self._size = hashlib.sha256(data), len(data)
        journal = read_journal(self.path.parent) or Journal()
        state = FileState(self._sha256.hexdigest(), self._size)
        self._is_listed = journal.entries.get(self.path.name, (ABSENT,))[-1] == state
        return data

    def append(self, data: bytes) -> None:
        """Adds whole lines."""
        folder = self.path.parent
        if str(folder) in _unfinished:
            settle(folder)
        before = b"" if self.is_known else self.read()
        if not self._is_listed:
            write_file(self.path, (before or self.read()) + data)
            self.read()
            return
        self._status = None  # until all is written
        self._sha256.update(data)
        flags, limit = os.O_WRONLY | os.O_APPEND, TEXT_LIMIT - len(data)
        handle = safe_files.open_handle(self.path, flags, root=folder, limit=limit)
        try:
            _append(folder, self.path.name, self._sha256.hexdigest(), self._size + len(data))
            with _finishing(folder), atomic.name_in_errors(self.path):
                _append_all(handle, data, self._size)
        finally:
            os.close(handle)
        self._size += len(data)
        self._status = self._status_now()

    def _status_now(self) -> tuple[int, int, int] | None:
        with suppress(FileNotFoundError):
            return _key(self.path.lstat())
        return None


def remove_file(path: Path, *, root: Path | None = None) -> None:
    """Removes a file, if there is one, after a line that says so."""
    folder = path.parent if root is None else root
    if not os.path.lexists(path):
        return
    if str(folder) in _unfinished:
        settle(folder)
    _append(folder, path.relative_to(folder).as_posix(), "-", 0)
    with _finishing(folder):
        path.unlink(missing_ok=True)


def record_growing(path: Path) -> None:
    """Adds a line about what a file that others append to begins with: all that it has now."""
    with suppress(OSError, RunError):  # a log is not worth an error
        data = safe_files.read_file(path, root=path.parent)
        journal = read_journal(path.parent) or Journal()
        entry = FileState(hashlib.sha256(data).hexdigest(), len(data))
        if journal.entries.get(path.name, (ABSENT,))[-1] != entry:
            _append(path.parent, path.name, str(entry.sha256), entry.size)


def settle(folder: Path) -> None:
    """Completes what a killed writer has left of a folder's checksums.txt; nobody else may be writing there.

    The beginning of a line is removed, there and in the file of its last line. If that file has not been
    changed, a further line says that it is as before: the next writer could be killed as well.
    """
    journal = read_journal(folder)
    _unfinished.discard(str(folder))
    if journal is None:
        return
    if journal.whole < (folder / CHECKSUMS).stat().st_size and not journal.has_damaged_end:
        os.truncate(folder / CHECKSUMS, journal.whole)
    if journal.last is None or journal.last in GROWING:
        return
    before, now = journal.entries[journal.last]
    with suppress(RunError, OSError):  # a damaged file is for its readers to complain about
        found = _entry_of(folder, journal.last)
        if found.size != (whole := journal.whole_size(journal.last, found.size)):
            os.truncate(folder / journal.last, whole)
            found = _entry_of(folder, journal.last)
        if found == before != now:
            _append(folder, journal.last, before.sha256 or "-", before.size)


def check_file(folder: Path, name: str) -> str | None:
    """What is wrong with a file of a folder; None if it is as it was written, or no checksum is known."""
    journal = read_journal(folder) or Journal()
    if not os.path.lexists(folder / name):
        entries = journal.entries.get(name, (ABSENT,))
        gone = entries[-1] == ABSENT or (journal.last == name and ABSENT in entries)
        return None if gone else "is missing"
    try:
        read_file(folder / name, root=folder, limit=WEIGHTS_LIMIT)
    except RunError as error:
        return str(error).removeprefix(f"{folder / name} ").partition("; see dartboard runs check")[0]
    return None


def seal(text: str) -> str:
    """A JSON object with one more entry, `sha256`, at its end: the checksum of all that stands before it."""
    body = text.rstrip().removesuffix("}").rstrip()
    return f'{body},"sha256":"{hashlib.sha256(body.encode()).hexdigest()}"}}\n'


def unseal(data: bytes, place: object) -> bytes:
    """The JSON object that was sealed; one that never was is returned as it is.

    Raises:
        ChecksumError: If it was changed; names the place.
    """
    match = _SEAL.search(data)
    if match is None:
        if _REMAINS.search(data[-_SEAL_LENGTH:]):
            raise ChecksumError(f"{place} is damaged at its end: {CHANGED}")
        return data
    body = data[: match.start()]
    if hashlib.sha256(body).hexdigest().encode() != match[1]:
        raise ChecksumError(f"{place} does not have the checksum that it should: {CHANGED}")
    return body + b"}"


def _fault(journal: Journal, name: str, size: int, data: bytes | None = None) -> str | None:
    """What is wrong with a file of that size and, if they are given, contents; None for nothing."""
    if (entries := journal.entries.get(name)) is None:
        if not journal.damaged:
            return None
        return f"has no checksum, and line {journal.damaged[0]} of {CHECKSUMS} is damaged"
    for entry in entries:
        fits = size == entry.size or (name in GROWING and size > entry.size)
        if fits and (data is None or hashlib.sha256(data[: entry.size]).hexdigest() == entry.sha256):
            return None
    if data is None and entries[-1].sha256 is not None:
        return f"has {size:,} bytes instead of {entries[-1].size:,}: {CHANGED}"
    return f"does not have the checksum that it should: {CHANGED}"


def _entry_of(folder: Path, name: str) -> FileState:
    try:
        data = safe_files.read_file(folder / name, root=folder, limit=WEIGHTS_LIMIT)
    except FileNotFoundError:
        return ABSENT
    return FileState(hashlib.sha256(data).hexdigest(), len(data))


def _append(folder: Path, name: str, sha256: str, size: int) -> None:
    text = f"{sha256} {size} {name}".encode("utf-8", "surrogateescape")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    handle = safe_files.open_handle(folder / CHECKSUMS, flags, root=folder)
    try:
        os.write(handle, b"%08x %s\n" % (zlib.crc32(text), text))
        os.fsync(handle)
    finally:
        os.close(handle)


def _append_all(handle: int, data: bytes, size: int) -> None:
    """Writes to the end of a file of this size and syncs it; if that fails the file is unchanged."""
    try:
        while data:  # a disk that becomes full takes a part of it
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    except BaseException:
        with suppress(OSError):  # `settle` tries again
            os.ftruncate(handle, size)
        raise


def _key(status: os.stat_result) -> tuple[int, int, int]:
    """Numbers that change with the contents of a file."""
    return status.st_ino, status.st_size, status.st_mtime_ns


_unfinished = set[str]()  # folders in which a write has failed after its line was written


@contextmanager
def _finishing(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _unfinished.add(str(folder))
        raise
