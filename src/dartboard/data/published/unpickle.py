"""A reader of pickles that can build nothing but arrays of numbers and containers.

Unpickling calls whatever a file names. Here a file can name only what pickled numpy arrays need, and even
that is not numpy's own: stand-ins take what would be given to numpy, check it, and make an array of it.
"""

import io
import pickle
import pickletools
import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import DataError

CODE = re.compile(r"[<>|=]?[biuf][0-9]{1,2}")
"""Types of numbers that arrays may have: truth, whole, counted and real, of some bytes each."""


class _Dtype:
    """What numpy.dtype is given: a code such as u1, and whether the first byte is the lowest."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = _text(code)
        self.order = "="

    def __setstate__(self, state: object) -> None:
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


class _Array:
    """What numpy's arrays are given: a shape, a type and bytes."""

    array: NDArray[Any]

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise DataError("an array is damaged")
        _, shape, dtype, fortran, data = state
        self.array = _array(data, dtype, shape, "F" if fortran else "C")


class _NdArray:
    """The name of numpy's arrays; nothing is made of it."""


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _from_buffer(data: object, dtype: object, shape: object, order: object) -> _Array:
    made = _Array()
    made.array = _array(data, dtype, shape, _text(order))
    return made


def _scalar(dtype: object, data: object) -> object:
    return _array(data, dtype, (1,), "C")[0].item()


def _array(data: object, dtype: object, shape: object, order: str) -> NDArray[Any]:
    if not isinstance(dtype, _Dtype) or not isinstance(data, bytes | bytearray):
        raise DataError("an array holds something else than plain numbers")
    if not isinstance(shape, tuple) or not all(isinstance(size, int) and size >= 0 for size in shape):
        raise DataError(f"an array has the shape {shape!r}")
    kind = dtype.numpy()
    if prod(shape) * kind.itemsize != len(data):
        raise DataError(f"an array of shape {list(shape)} has {len(data):,} bytes")
    return np.frombuffer(data, kind).reshape(shape, order="F" if order == "F" else "C")


def _encode(text: object, encoding: object = "") -> bytes:
    """How Python 3 writes bytes in pickles that Python 2 can read."""
    if not isinstance(text, str) or encoding != "latin1":
        raise DataError(f"there is text in the encoding {encoding!r}")
    return text.encode("latin1")


def _text(value: object) -> str:
    if isinstance(value, bytes):
        value = value.decode("latin1")
    if not isinstance(value, str):
        raise DataError(f"there is {value!r} in place of a text")
    return value


def _no_bytes() -> bytes:
    """How Python 3 writes an empty text of bytes in such pickles."""
    return b""


ALLOWED: dict[tuple[str, str], Callable[..., object]] = {
    ("numpy", "ndarray"): _NdArray,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _no_bytes,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _from_buffer for core in ("core", "_core")},
}
"""What a file may name, and what stands in for it."""


REFUSED = frozenset(
    ("PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "NEXT_BUFFER")
)
"""Orders that no array or container needs."""


def _check_orders(data: bytes) -> None:
    """Raise unless a pickle is whole, and gives no order that would fill the memory or that nothing needs."""
    for order, value, _ in pickletools.genops(data):
        if order.name in REFUSED:
            raise DataError(f"refused: it has the order {order.name}, which has no place in a file of images")
        if isinstance(value, int) and value > len(data) and order.name in ("PUT", "LONG_BINPUT"):
            raise DataError("no pickle that makes sense (it numbers more values than it has)")


class _Reader(pickle.Unpickler):
    """Finds nothing but what is allowed."""

    def find_class(self, module_name: str, global_name: str) -> object:
        if (module_name, global_name) not in ALLOWED:
            raise DataError(
                f"refused: it asks for {module_name}.{global_name}, which has no place in a file of images"
            )
        return ALLOWED[module_name, global_name]


def read_pickle(data: bytes) -> dict[str, Any]:
    """The dictionary in a pickle, its keys as text and its arrays as numpy's.

    Texts that Python 2 wrote are bytes.

    Raises:
        DataError: If it is damaged, holds no dictionary, or asks for anything but arrays and containers.
    """
    try:
        _check_orders(data)
        found = _Reader(io.BytesIO(data), encoding="bytes").load()
    except DataError:
        raise
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError) as error:
        raise DataError(f"no whole pickle ({' '.join(str(error).split())})") from None
    except (AttributeError, ImportError, OverflowError, MemoryError, RecursionError) as error:
        raise DataError(f"no pickle that makes sense ({error})") from None
    if not isinstance(found, dict):
        raise DataError(f"holds a {type(found).__name__}, not a dictionary")
    return {_text(key): value.array if isinstance(value, _Array) else value for key, value in found.items()}
