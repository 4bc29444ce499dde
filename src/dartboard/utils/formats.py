"""Versions of file formats: numbers from 1 on, where a newer one is refused with what to do."""

from dartboard.errors import DartboardError


def check_format(found: object, newest: int, place: object, error: type[DartboardError]) -> None:
    """Raises `error` if a file has a format that this version of dartboard does not read.

    Args:
        found: The number in the file.
        newest: The newest format that is read; all before it are, too.
        place: The file, or what is in it.
        error: Class of the error.
    """
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise error(f"{place} has format {found!r}, and formats are numbers from 1 on; it was changed")
    if found > newest:
        raise error(
            f"{place} has format {found}, of a newer dartboard, and this one reads formats up to {newest}; "
            "upgrade it: pip install --upgrade dartboard"
        )
