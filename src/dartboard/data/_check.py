"""Checks of the numbers that data is asked with; the messages name the value and what would work."""

from dartboard.errors import DataError


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Raise unless `value` is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} must be a whole number >= {least}, got {value!r}")
