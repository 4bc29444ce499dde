"""A reader of pickles that can build nothing but arrays of numbers and containers.

Unpickling by Python calls whatever a file names. Here `dartboard.data.published.orders` follows the few
orders that plain values need, and a file can name only what pickled numpy arrays need, which is not numpy's
own: stand-ins take what would be given to numpy, check it, and make an array of it.
"""

import pickle
import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.data.published.orders import Built, follow
from dartboard.errors import DataError

MOST_AXES, MOST_VALUES = 32, 1 << 40
"""Arrays have fewer axes, and fewer values along each, than this."""
CODE = re.compile(r"[<>|=]?[biuf][0-9]{1,2}")
"""Types of numbers that arrays may have: truth, whole, counted and real, of some bytes each."""


class _Dtype(Built):
    """What numpy.dtype is given: a code such as u1, and whether the first byte is the lowest."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = _text(code)
        self.order = "="

    def build(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) < 2:
            raise DataError("a type of numbers is damaged")
        self.order = _text(state[1])

    def numpy(self) -> np.dtype[Any]:
        code = self.order + self.code
        try:
            if CODE.fullmatch(code):
                return np.dtype(code)
        except TypeError:  # numbers of three bytes
            pass
        raise DataError(f"there is an array of type {code!r}; only plain numbers are read")


class _Array(Built):
    """What numpy's arrays are given: a shape, a type and bytes."""

    def __init__(self, array: NDArray[Any] | None = None) -> None:
        self.array = array

    def build(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise DataError("an array is damaged")
        _, shape, dtype, fortran, data = state
        self.array = _array(data, dtype, shape, "F" if fortran else "C")


def _no_array(*_: object) -> object:
    raise DataError("refused: it makes an array by the name of all arrays")


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _from_buffer(data: object, dtype: object, shape: object, order: object) -> _Array:
    return _Array(_array(data, dtype, shape, _text(order)))


def _scalar(dtype: object, data: object) -> object:
    return _array(data, dtype, (1,), "C")[0].item()


def _array(data: object, dtype: object, shape: object, order: str) -> NDArray[Any]:
    if not isinstance(dtype, _Dtype) or not isinstance(data, bytes | bytearray):
        raise DataError("an array holds something else than plain numbers")
    if not isinstance(shape, tuple) or len(shape) > MOST_AXES or not all(map(_is_size, shape)):
        raise DataError("an array has no shape that makes sense")
    kind = dtype.numpy()
    if prod(shape) * kind.itemsize != len(data):
        raise DataError(f"an array of shape {list(shape)} has {len(data):,} bytes")
    return np.frombuffer(data, kind).reshape(shape, order="F" if order == "F" else "C")


def _is_size(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < MOST_VALUES


def _encode(text: object, encoding: object = "") -> bytes:
    """How Python 3 writes bytes in pickles that Python 2 can read."""
    if not isinstance(text, str) or encoding != "latin1":
        raise DataError("there is text in another encoding than latin1")
    return text.encode("latin1")


def _text(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("latin1")
    if not isinstance(value, str):
        raise DataError(f"there is a {type(value).__name__} in place of a text")
    return value


def _no_bytes() -> bytes:
    """How Python 3 writes an empty text of bytes in such pickles."""
    return b""


ALLOWED: dict[tuple[str, str], Callable[..., object]] = {
    ("numpy", "ndarray"): _no_array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _no_bytes,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _from_buffer for core in ("core", "_core")},
}
"""What a file may name, and what stands in for it."""


def read_pickle(data: bytes) -> dict[str, Any]:
    """The dictionary in a pickle, its keys as text and its arrays as numpy's.

    Texts that Python 2 wrote are bytes.

    Raises:
        DataError: If it is damaged, holds no dictionary, or asks for anything but arrays and containers.
    """
    try:
        found = follow(data, ALLOWED)
    except DataError:
        raise
    except (pickle.UnpicklingError, ValueError, TypeError, LookupError, OverflowError, MemoryError) as error:
        raise DataError(f"no whole pickle ({' '.join(str(error).split())})") from None
    if not isinstance(found, dict):
        raise DataError(f"holds a {type(found).__name__}, not a dictionary")
    return {_text(key): _plain(value) for key, value in found.items()}


def _plain(value: object) -> object:
    """A value as it is, and the array of a stand-in."""
    if not isinstance(value, _Array):
        return value
    if value.array is None:
        raise DataError("an array is damaged: it has no numbers")
    return value.array
