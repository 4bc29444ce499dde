"""Pickles read whole, with the caller's own errors."""

import pickle
from collections.abc import Callable
from typing import IO, Any

from dartboard.errors import DartboardError
from dartboard.pickles.machine import Allowed, Machine, Refused, Trim
from dartboard.pickles.orders import follow
from dartboard.pickles.standins import ALLOWED, Array, as_text
from dartboard.printable import printable

DAMAGED = (
    pickle.UnpicklingError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
"""What comes of damaged pickles of one kind or another."""
NO_ROOM = "needs more memory than there is, or is made to harm"
MOST_LETTERS = 200
"""Of what is wrong with a pickle, no more is said."""


def read_pickle(
    file: IO[bytes],
    error: type[DartboardError],
    *,
    more: Allowed | None = None,
    trim: Trim | None = None,
    outside: Callable[[object], object] | None = None,
) -> object:
    """What a pickle of plain values holds; texts of Python 2 are bytes, arrays are stand-ins.

    The file is read as the pickle is followed, up to its end; one that is made to harm can take much memory
    and time, and do nothing else.

    Args:
        file: The pickle from its first byte on; buffered, for it is read in small pieces.
        error: What is raised.
        more: What the file may name besides numpy's arrays and numbers and Python's containers.
        trim: Is given a dictionary whenever values were put into it, and may take out what is not needed.
        outside: What stands for a value that the pickle says is kept outside of it; None to refuse that.

    Raises:
        error: If it is damaged, or asks for anything but plain values.
    """
    machine = Machine(file, {**ALLOWED, **(more or {})}, trim, outside)
    try:
        return follow(machine)
    except error:
        raise
    except Refused as refused:
        raise error(str(refused)) from None
    except MemoryError:
        raise error(NO_ROOM) from None
    except DAMAGED as damage:
        raise error(f"no whole pickle ({_line(damage)})") from None


def read_arrays(file: IO[bytes], error: type[DartboardError]) -> dict[str, Any]:
    """The dictionary in a pickle, its keys as text and its arrays as numpy's; texts of Python 2 are bytes.

    Raises:
        error: If it is damaged, holds no dictionary, or asks for anything but arrays and containers.
    """
    found = read_pickle(file, error)
    if not isinstance(found, dict):
        raise error(f"holds a {type(found).__name__}, not a dictionary")
    try:
        return {as_text(key): _plain(value) for key, value in found.items()}
    except Refused as refused:
        raise error(str(refused)) from None


def _plain(value: object) -> object:
    """A value as it is, and the array of a stand-in."""
    if not isinstance(value, Array):
        return value
    if value.array is None:
        raise Refused("an array is damaged: it has no numbers")
    return value.array


def _line(damage: BaseException) -> str:
    return printable(" ".join(str(damage).split()))[:MOST_LETTERS]
