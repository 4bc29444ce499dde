"""Something done with each of many files, by as many threads as are quick."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dartboard.utils.parallel import cores

SMALL = 16_000
"""Files of fewer bytes are read by one thread."""
AT_ONCE = 1024  # files that wait for a thread; millions would fill the memory

T = TypeVar("T")


def bytes_of(file: str) -> int:
    """How large a file is; -1 if it is gone."""
    try:
        return os.stat(file).st_size  # noqa: PTH116
    except OSError:
        return -1


def over_files(function: Callable[[str], T], files: Sequence[str]) -> Iterator[T]:
    """What a function makes of each file, in their order.

    Large files are worked on by several threads; of small ones Python itself takes most of the time, and
    threads would only wait for each other.
    """
    if _usual_bytes(files) < SMALL:
        yield from map(function, files)
        return
    with ThreadPoolExecutor(cores()) as pool:
        for first in range(0, len(files), AT_ONCE):
            yield from pool.map(function, files[first : first + AT_ONCE])


def _usual_bytes(files: Sequence[str]) -> float:
    """How large some of the files are on average; those that are gone have no size."""
    sizes = [size for file in files[:: len(files) // 16 + 1] if (size := bytes_of(file)) >= 0]
    return sum(sizes) / max(len(sizes), 1)
