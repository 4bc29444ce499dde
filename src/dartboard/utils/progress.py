"""The progress callback of long tasks."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the name of the task, the amount done and the total amount."""


def no_progress(what: str, done: int, total: int) -> None:
    """Reports nothing."""
