"""Published data sets brought to where they are looked for."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dartboard.data.datasets.download import fetch
from dartboard.data.datasets.downloads import DOWNLOADS, Download
from dartboard.data.datasets.official import OFFICIAL, find_official
from dartboard.data.datasets.root import data_root
from dartboard.data.datasets.unpack import unpack
from dartboard.errors import DataError
from dartboard.utils.progress import Progress


def is_complete(name: str, root: Path | None = None) -> Path | None:
    """Where a data set is; None if it is nowhere, or was only partly fetched."""
    folder = data_root(root) / name
    there = [_is_there(download, folder) for download in DOWNLOADS.get(name, ())]
    return None if any(there) and not all(there) else find_official(name, root)


def obtain(name: str, root: Path | None, tell: Progress) -> Path:
    """Fetch a published data set into its folder; returns where its files are.

    Raises:
        DataError: If it cannot be had; says which files to put where by hand.
    """
    folder = data_root(root) / name
    if name not in DOWNLOADS:
        raise DataError(
            f"{name} is given only to those who register at {OFFICIAL[name].home}; get it there, and put "
            f"{OFFICIAL[name].files} in {folder}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        for download in DOWNLOADS[name]:
            if not _is_there(download, folder):
                _bring(name, download, folder, tell)
    found = find_official(name, root)
    if found is None:
        raise DataError(f"{folder}: what was fetched is not {OFFICIAL[name].files}; the publisher changed it")
    return found


def _is_there(download: Download, folder: Path) -> bool:
    """Whether a file is there and as large as it should be, or what it was unpacked to is there."""
    if download.becomes is not None:
        return (folder / download.becomes).is_dir()
    file = folder / download.file
    return file.is_file() and download.size in (None, file.stat().st_size)


def _bring(name: str, download: Download, folder: Path, tell: Progress) -> None:
    """Fetch and unpack a file; an archive is removed then, unless somebody had put it there."""
    by_hand = (folder / download.file).exists()
    try:
        file = fetch(download, folder, tell)
    except DataError as error:
        raise DataError(f"{error}; {_by_hand(name, folder)}") from None
    if download.becomes is not None:
        unpack(file, folder / download.becomes, download.top, tell)
        if not by_hand:
            file.unlink()


def _by_hand(name: str, folder: Path) -> str:
    """Which files to put where, without a network."""
    missing = [download for download in DOWNLOADS[name] if not _is_there(download, folder)]
    wanted = ", ".join(f"{download.urls[0]} as {folder / download.file}" for download in missing)
    return f"where there is no network, put {wanted} and run this again"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else fetches into a folder meanwhile."""
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(f"{folder}: another program is fetching it") from None
        yield
