"""Files from the network: resumed where they were cut, checked, and there whole or not at all."""

import hashlib
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from dartboard import __version__
from dartboard.data.datasets.downloads import Download
from dartboard.errors import DataError
from dartboard.utils.progress import Progress

TRIES = 3
"""A server that cuts the connection so many times without sending more is given up."""
PATIENCE = 30
"""Seconds without a byte after which a connection counts as cut."""
CHUNK = 1 << 16
UNKNOWN = 1 << 62
"""More bytes than any file has: what arrived is not the whole."""
RESUMED, BEYOND = 206, 416  # what HTTP says where a part is sent, and where there is no such part
CUT = (http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)


class CutError(Exception):
    """A connection that was cut again and again."""


def fetch(download: Download, folder: Path, tell: Progress) -> Path:
    """The file of a download in a folder; it is fetched unless it is there, and checked.

    What has arrived is kept in a file with the ending .part, from which the next attempt goes on.

    Raises:
        DataError: If it cannot be had, or is another file than the one that is published.
    """
    target = folder / download.file
    if target.exists():
        check(target, download)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("ab") as file:
            _from_any(download, file, tell)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"{part}: cannot be written ({error.strerror or error})") from None
    finally:
        if part.is_file() and not part.stat().st_size:
            part.unlink()
    try:
        check(part, download)
    except DataError as error:
        part.unlink()
        raise DataError(
            f"{error}; what arrived is removed, so run this again or take another address"
        ) from None
    part.replace(target)
    return target


def check(path: Path, download: Download) -> None:
    """Raise unless a file is what is published: by its checksum, or by its size where there is none."""
    if download.md5 is not None and _md5(path) == download.md5:
        return
    size = path.stat().st_size
    if download.size is not None and size != download.size:
        raise DataError(f"{path}: has {size:,} bytes, but the file that is published has {download.size:,}")
    if download.md5 is not None:
        raise DataError(
            f"{path}: has the md5 {_md5(path)}, but the file that is published has {download.md5}"
        )


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _from_any(download: Download, file: BinaryIO, tell: Progress) -> None:
    """Fill a file from the first address that has it."""
    reasons = []
    for url in download.urls:
        try:
            return receive(
                url, file, lambda done, total: tell(download.file, done, total or download.size or 0)
            )
        except (CutError, *CUT, urllib.error.URLError) as error:
            reasons.append(f"{url}: {_reason(error)}")
    raise DataError("; ".join(reasons))


def _reason(error: BaseException) -> str:
    if isinstance(error, CutError):
        return str(error)
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        error = error.reason if isinstance(error.reason, Exception) else error
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot be reached ({text or type(error).__name__})"


def receive(url: str, file: BinaryIO, tell: Callable[[int, int], None]) -> None:
    """Fill a file from an address, going on at its end, until it is whole.

    Args:
        url: Of the file, by http or https.
        file: Open for appending.
        tell: Is told how many bytes there are, and how many there will be; 0 where the server does not say.

    Raises:
        CutError: If the connection is cut again and again.
        URLError: If there is no connection, or no such file.
    """
    most = idle = 0
    while idle < TRIES:
        total = _go_on(url, file, tell)
        done = file.seek(0, os.SEEK_END)
        if total <= done:
            return
        idle = 0 if done > most else idle + 1
        most = max(most, done)
    raise CutError(f"the connection was cut after {most:,} bytes; run this again to go on there")


def _go_on(url: str, file: BinaryIO, tell: Callable[[int, int], None]) -> int:
    """Append what an address has beyond the end of a file; returns how large the whole is, 0 if unknown."""
    offset = file.seek(0, os.SEEK_END)
    try:
        response = _open(url, offset)
    except urllib.error.HTTPError as error:
        if error.code != BEYOND or not offset:
            raise
        return _beyond(error, file)
    with response:
        total = _begin(response, file, offset)
        if total == UNKNOWN:
            return total
        done = file.seek(0, os.SEEK_END)
        try:
            while data := response.read(CHUNK):
                done += file.write(data)
                tell(done, total)
        except CUT:
            return max(total, done + 1)
    return total


def _open(url: str, offset: int) -> http.client.HTTPResponse:
    headers = {"User-Agent": f"dartboard/{__version__}", "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - addresses are those of DOWNLOADS
    response: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=PATIENCE)  # noqa: S310
    return response


def _begin(response: http.client.HTTPResponse, file: BinaryIO, offset: int) -> int:
    """Empties the file if the server sends the whole once more; returns how large the whole is."""
    length = _number(response.headers.get("Content-Length", ""))
    where = response.headers.get("Content-Range", "")
    if response.status == RESUMED and where.startswith(f"bytes {offset}-"):
        return offset + length if length else 0
    file.truncate(0)
    return length if response.status != RESUMED else UNKNOWN  # not the part that was asked for


def _beyond(error: urllib.error.HTTPError, file: BinaryIO) -> int:
    """The size of the whole that a server names when there is nothing beyond the end of the file."""
    total = error.headers.get("Content-Range", "").rpartition("/")[2]
    if _number(total) == file.tell():
        return file.tell()
    file.truncate(0)
    return UNKNOWN


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0
