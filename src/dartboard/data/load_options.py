"""How images are brought into memory."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dartboard.data._check import check_count
from dartboard.utils.progress import Progress

GIGABYTE = 10**9


@dataclass(frozen=True)
class LoadOptions:
    """What a source of images is asked with.

    Args:
        size: Height and width that images are brought to; None for the source's own.
        memory: Images that are in a file each and take more bytes than this stay in their files and are read
            as they are needed.
        root: The folder in which data sets by name have their folders; None for the usual one.
        progress: Is told how far it is whenever something may take long.
        broken: Is told of every file that is left out, and why.
    """

    size: int | None = None
    memory: int = 2 * GIGABYTE
    root: Path | None = None
    progress: Progress | None = None
    broken: Callable[[str, str], None] | None = None

    def __post_init__(self) -> None:
        if self.size is not None:
            check_count("size", self.size)
        check_count("memory", self.memory, least=0)

    def tell(self, what: str, done: int, total: int) -> None:
        """Say how far it is to whoever wants to know."""
        if self.progress is not None:
            self.progress(what, done, total)
