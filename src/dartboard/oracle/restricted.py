"""A reader of pickles that makes plain values alone: numbers, texts, lists, tuples, sets and dictionaries.

Unpickling calls whatever a file names. Here a file can name an ordered dictionary, which becomes a plain one,
and numpy's numbers, which stand-ins make; what it names cannot be changed by it, and all else is refused.
So no file can run anything. One that is made to harm can still use up the memory of the process.
"""

import io
import pickle
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from dartboard.errors import OracleError

DAMAGED = (
    pickle.UnpicklingError,
    EOFError,
    LookupError,
    AttributeError,
    TypeError,
    ValueError,
    ArithmeticError,
    MemoryError,
    RecursionError,
    ImportError,
)
"""What Python raises on damaged pickles of one kind or another."""


class _Dtype:
    """What numpy.dtype is given: a code such as f8."""

    __slots__ = ("code",)

    def __init__(self, code: object, *_: object) -> None:
        if code not in ("f8", "f4", "i8", "i4"):
            raise OracleError(f"there is a number of type {code!r}; only plain ones are read")
        self.code = str(code)

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] != "<":
            raise OracleError("a type of numbers is damaged, or its first byte is the highest")


def _scalar(dtype: object, data: object) -> object:
    if not isinstance(dtype, _Dtype) or not isinstance(data, bytes):
        raise OracleError("a number of numpy's is damaged")
    [number] = np.frombuffer(data, f"<{dtype.code}").tolist()
    return number


class _Named:
    """What a file has named: it can be called and nothing else."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., object]) -> None:
        object.__setattr__(self, "_call", call)

    def __call__(self, *args: object) -> object:
        return self._call(*args)  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise OracleError("refused: it changes what it is to call")

    def __setstate__(self, _: object) -> NoReturn:
        raise OracleError("refused: it changes what it is to call")


def _dictionary(*args: object) -> dict[object, object]:
    if args:
        raise OracleError("an ordered dictionary is damaged")
    return {}


ALLOWED = {
    ("collections", "OrderedDict"): _Named(_dictionary),
    ("numpy", "dtype"): _Named(_Dtype),
    **{(f"numpy.{core}.multiarray", "scalar"): _Named(_scalar) for core in ("core", "_core")},
}
"""What a file may name, and what stands in for it."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in ALLOWED:
            raise OracleError(f"refused: it asks for {module}.{name}, which has no place in a benchmark")
        return ALLOWED[module, name]


def read_plain(data: bytes) -> object:
    """What a pickle of plain values holds.

    Raises:
        OracleError: If it is damaged, or asks for anything but plain values.
    """
    try:
        return _Reader(io.BytesIO(data)).load()
    except OracleError:
        raise
    except DAMAGED as error:
        raise OracleError(f"no whole pickle ({' '.join(str(error).split())})") from None
