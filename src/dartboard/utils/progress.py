"""The one callback through which long work reports how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is to do."""


def no_progress(what: str, done: int, total: int) -> None:
    """Reports nothing."""
