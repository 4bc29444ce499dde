"""Who is told how far a measurement is."""

from collections.abc import Callable

Tell = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and how much there is to do."""


def silent(what: str, done: int, total: int) -> None:
    """Says nothing."""
