"""Downloads of published data sets: resumed where they were cut, checked, unpacked completely or not at all.

Written by hand because pooch, which also checks checksums, starts a cut download from the beginning.
"""

import gzip
import hashlib
import http.client
import lzma
import os
import shutil
import ssl
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from dartboard import __version__
from dartboard.data.registry import Download, PublishedDataset, data_root, published_datasets
from dartboard.errors import DataError, UnknownNameError
from dartboard.utils.file_lock import try_lock
from dartboard.utils.progress import Progress

RETRIES = 3
"""Number of cut connections in a row, with nothing more received, after which a server is given up."""
TIMEOUT = 30
"""Seconds without a byte after which a connection counts as cut."""
CHUNK = 1 << 16
UNKNOWN_SIZE = 1 << 62
"""More bytes than any file has: the file is not complete."""
CUT = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)
DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    EOFError,
    NotImplementedError,
    ValueError,
)
"""What unpacking a damaged archive raises."""


class ConnectionCutError(Exception):
    """A connection that was cut again and again."""


def download_dataset(name: str, root: Path | None, progress: Progress) -> Path:
    """Download a published data set into its folder; returns where its files are.

    Raises:
        DataError: If that fails; says which files to put where by hand.
    """
    datasets = published_datasets()
    if name not in datasets:
        raise UnknownNameError("published data set", name, datasets)
    dataset, folder = datasets[name], data_root(root) / name
    if not dataset.downloads:
        raise DataError(
            f"{name} is given only to those who register at {dataset.homepage}; get it there, and put "
            f"{dataset.files} in {folder}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:  # keeps other processes from downloading into the folder
        if not try_lock(lock.fileno()):
            raise DataError(f"{folder}: another program is fetching it")
        for download in dataset.downloads:
            if not download.is_present(folder):
                _fetch_and_unpack(dataset, download, folder, progress)
    place = dataset.locate(root)
    if place is None:
        raise DataError(f"{folder}: what was fetched is not {dataset.files}; the publisher changed it")
    return place


def _fetch_and_unpack(
    dataset: PublishedDataset, download: Download, folder: Path, progress: Progress
) -> None:
    """Fetch a file and unpack it; the archive is removed then, unless the user had put it there."""
    by_hand = (folder / download.file).exists()
    try:
        file = fetch(download, folder, progress)
    except DataError as error:
        missing = [needed for needed in dataset.downloads if not needed.is_present(folder)]
        files = ", ".join(f"{needed.urls[0]} as {folder / needed.file}" for needed in missing)
        raise DataError(f"{error}; where there is no network, put {files} and run this again") from None
    if download.folder is not None:
        unpack(file, folder / download.folder, download.top, progress)
        if not by_hand:
            file.unlink()


def fetch(download: Download, folder: Path, progress: Progress) -> Path:
    """The file of a download in a folder; downloaded unless it is there, and checked.

    What has arrived is kept in a file with the ending .part, from which the next attempt resumes.

    Raises:
        DataError: If it cannot be downloaded, or is not the published file.
    """
    target = folder / download.file
    if target.exists():
        check_file(target, download)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("ab") as file:
            _receive_from_any(download, file, progress)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"{part}: cannot be written ({error.strerror or error})") from None
    finally:
        if part.is_file() and not part.stat().st_size:
            part.unlink()
    try:
        check_file(part, download)
    except DataError as error:
        part.unlink()
        raise DataError(
            f"{error}; what arrived is removed, so run this again or take another address"
        ) from None
    part.replace(target)
    return target


def check_file(path: Path, download: Download) -> None:
    """Raise unless a file is the published one: by its checksum, or by its size where none is published."""
    md5 = None
    if download.md5 is not None:
        with path.open("rb") as file:
            md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
        if md5 == download.md5:
            return
    size = path.stat().st_size
    if download.size is not None and size != download.size:
        raise DataError(f"{path}: has {size:,} bytes, but the file that is published has {download.size:,}")
    if download.md5 is not None:
        raise DataError(f"{path}: has the md5 {md5}, but the file that is published has {download.md5}")


def _receive_from_any(download: Download, file: BinaryIO, progress: Progress) -> None:
    """Fill a file from the first address that has it."""
    reasons = []
    for url in download.urls:
        try:
            return receive(
                url, file, lambda done, total: progress(download.file, done, total or download.size or 0)
            )
        except (ConnectionCutError, *CUT, urllib.error.URLError) as error:
            reasons.append(f"{url}: {_reason(error)}")
    raise DataError("; ".join(reasons))


def _reason(error: BaseException) -> str:
    if isinstance(error, ConnectionCutError):
        return str(error)
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        error = error.reason if isinstance(error.reason, Exception) else error
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot be reached ({text or type(error).__name__})"


def receive(url: str, file: BinaryIO, progress: Callable[[int, int], None]) -> None:
    """Fill a file, open for appending, from an address, resuming at its end, until it is complete.

    `progress` is called with the bytes so far and in total; 0 where the server does not say.

    Raises:
        ConnectionCutError: If the connection is cut again and again.
        URLError: If there is no connection, or no such file.
    """
    most = failures = 0
    while failures < RETRIES:
        total = _append(url, file, progress)
        done = file.seek(0, os.SEEK_END)
        if total <= done:
            return
        failures = 0 if done > most else failures + 1
        most = max(most, done)
    raise ConnectionCutError(f"the connection was cut after {most:,} bytes; run this again to go on there")


def _append(url: str, file: BinaryIO, progress: Callable[[int, int], None]) -> int:
    """Append what an address has beyond the end of a file; returns the total size, 0 if unknown."""
    offset = file.seek(0, os.SEEK_END)
    headers = {"User-Agent": f"dartboard/{__version__}", "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - addresses of registered data sets
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not offset:
            raise
        if _number(error.headers.get("Content-Range", "").rpartition("/")[2]) == file.tell():
            return file.tell()
        file.truncate(0)
        return UNKNOWN_SIZE
    with response:
        total = _number(response.headers.get("Content-Length", ""))
        partial = response.status == http.HTTPStatus.PARTIAL_CONTENT
        if partial and response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
            total = offset + total if total else 0
        else:  # the server starts from the beginning
            file.truncate(0)
            if partial:  # or sends another part than the one requested
                return UNKNOWN_SIZE
        done = file.seek(0, os.SEEK_END)
        try:
            while data := response.read(CHUNK):
                done += file.write(data)
                progress(done, total)
        except CUT:
            return max(total, done + 1)
    return total


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0


def unpack(archive: Path, folder: Path, top: str | None, progress: Progress) -> None:
    """Replace a folder by the files in a .tar.gz or .zip, completely or not at all.

    Of the archive only the content of a folder called `top` is kept; None keeps everything.

    Raises:
        DataError: If the archive is damaged, would write outside of the folder, or the disk is full.
    """
    temporary = folder.with_name(f".{folder.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _extract(archive, temporary, top, progress)
        if not any(temporary.iterdir()):
            raise DataError(f"{archive}: has no files{f' in a folder {top!r}' if top else ''}")
        os.sync()
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except DataError:
        raise
    except DAMAGED as error:
        raise DataError(f"{archive}: is damaged or cut short ({error}); remove it and get it again") from None
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error.strerror or error})") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _extract(archive: Path, folder: Path, top: str | None, progress: Progress) -> None:
    total = archive.stat().st_size
    with archive.open("rb") as raw:
        members = _zip_members(raw) if archive.suffix.lower() == ".zip" else _tar_members(raw)
        for name, content in members:
            progress(f"unpacking {archive.name}", min(raw.tell(), total), total)
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise DataError(f"{archive}: refused: it would write {name!r} outside of its folder")
            if top is not None:
                if top not in path.parts[:-1]:
                    continue
                path = PurePosixPath(*path.parts[path.parts.index(top) + 1 :])
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                shutil.copyfileobj(content, file)


def _tar_members(raw: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each file; links, which could lead anywhere, are left out."""
    with tarfile.open(fileobj=raw) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content


def _zip_members(raw: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each file."""
    with zipfile.ZipFile(raw) as archive:
        for member in archive.infolist():
            if member.flag_bits & 1:
                raise zipfile.BadZipFile("it needs a password")
            if not member.is_dir():
                with archive.open(member) as content:
                    yield member.filename, content
