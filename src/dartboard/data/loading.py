"""How images are brought into memory."""

from dataclasses import dataclass
from pathlib import Path

GIGABYTE = 10**9


@dataclass(frozen=True)
class Loading:
    """What a source of images is asked with.

    Args:
        size: Height and width that images are brought to; None for the source's own.
        memory: Images that take more bytes than this stay in their files and are read as they are needed.
        root: The folder in which data sets by name have their folders; None for the usual one.
    """

    size: int | None = None
    memory: int = 2 * GIGABYTE
    root: Path | None = None
