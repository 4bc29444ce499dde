"""What pickles may name, and what stands in for it: numpy's arrays and numbers, and containers.

Nothing here is numpy's own: stand-ins take what would be given to numpy, check it, and make an array or a
plain number of it.
"""

import re
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dartboard.pickles.machine import Allowed, Built, Named, Refused, keys

MOST_AXES, MOST_VALUES = 32, 1 << 40
"""Arrays have fewer axes, and fewer values along each, than this."""
CODE = re.compile(r"[<>|=]?[biuf][0-9]{1,2}")
"""Types of numbers that arrays may have: truth, whole, counted and real, of some bytes each."""


class Dtype(Built):
    """What numpy.dtype is given: a code such as u1, and whether the first byte is the lowest."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = as_text(code)
        self.order = "="

    def build(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) < 2:
            raise Refused("a type of numbers is damaged")
        self.order = as_text(state[1])

    def numpy(self) -> np.dtype[Any]:
        """The type itself; plain numbers only."""
        code = self.order + self.code
        try:
            if CODE.fullmatch(code):
                return np.dtype(code)
        except TypeError:  # numbers of three bytes
            pass
        raise Refused(f"there is an array of type {code!r}; only plain numbers are read")


class Array(Built):
    """What numpy's arrays are given: a shape, a type and bytes."""

    def __init__(self, array: NDArray[Any] | None = None) -> None:
        self.array = array

    def build(self, state: object) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise Refused("an array is damaged")
        _, shape, dtype, fortran, data = state
        self.array = _array(data, dtype, shape, "F" if fortran else "C")


def _no_array(*_: object) -> object:
    raise Refused("refused: it makes an array by the name of all arrays")


def _reconstruct(*_: object) -> Array:
    return Array()


def _from_buffer(data: object, dtype: object, shape: object, order: object) -> Array:
    return Array(_array(data, dtype, shape, as_text(order)))


def _scalar(dtype: object, data: object) -> object:
    return _array(data, dtype, (1,), "C")[0].item()


def _array(data: object, dtype: object, shape: object, order: str) -> NDArray[Any]:
    if not isinstance(dtype, Dtype) or not isinstance(data, bytes | bytearray):
        raise Refused("an array holds something else than plain numbers")
    if not isinstance(shape, tuple) or len(shape) > MOST_AXES or not all(map(_is_size, shape)):
        raise Refused("an array has no shape that makes sense")
    kind = dtype.numpy()
    if prod(shape) * kind.itemsize != len(data):
        raise Refused(f"an array of shape {list(shape)} has {len(data):,} bytes")
    return np.frombuffer(data, kind).reshape(shape, order="F" if order == "F" else "C")


def _is_size(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < MOST_VALUES


def _encode(text: object, encoding: object = "") -> bytes:
    """How Python 3 writes bytes in pickles that Python 2 can read."""
    if not isinstance(text, str) or encoding != "latin1":
        raise Refused("there is text in another encoding than latin1")
    return text.encode("latin1")


def as_text(value: object) -> str:
    """A text, those of Python 2 included."""
    if isinstance(value, bytes):
        value = value.decode("latin1")
    if not isinstance(value, str):
        raise Refused(f"there is a {type(value).__name__} in place of a text")
    return value


def _dictionary(*args: object) -> dict[Any, Any]:
    """An ordered dictionary, or one that makes what it lacks, as a plain one."""
    if len(args) > 1 or not all(arg is None or isinstance(arg, Named) for arg in args):
        raise Refused("a dictionary is damaged")
    return {}


def _not_called(*_: object) -> object:
    raise Refused("refused: it calls what can only be what dictionaries lack")


def _set(values: object = ()) -> set[Any]:
    if not isinstance(values, list | tuple):
        raise Refused("a set is damaged")
    return set(keys(list(values), "a set whose members"))


def _no_bytes() -> bytes:
    """How Python 3 writes an empty text of bytes in such pickles."""
    return b""


KINDS = ("list", "dict", "int", "long", "float")
"""What dictionaries may say that they lack."""
CORES, BUILTINS = ("core", "_core"), ("builtins", "__builtin__")
"""What numpy, and Python, called these modules in one version or another."""
ALLOWED: Allowed = {
    ("numpy", "ndarray"): _no_array,
    ("numpy", "dtype"): Dtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): _no_bytes,
    ("collections", "OrderedDict"): _dictionary,
    ("collections", "defaultdict"): _dictionary,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _reconstruct for core in CORES},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in CORES},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _from_buffer for core in CORES},
    **{(module, "set"): _set for module in BUILTINS},
    **{(module, kind): _not_called for module in BUILTINS for kind in KINDS},
}
"""What a file may name, and what stands in for it."""
