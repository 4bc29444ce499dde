"""A restricted unpickler for plain values and numpy arrays from files of unknown origin.

It is written by hand because `pickle` and `torch.load` import and call what a file names, and can be made to
crash or to hang; `weights_only` needs torch, and neither can drop values while a large file is read.

A pickle is a program for a machine with a stack and a memo. This one makes numbers, strings, lists, tuples,
sets, and dictionaries whose keys are strings, numbers or tuples of them, and calls only stand-ins from an
allow-list. Equal strings are stored once, and a callback can trim dictionaries while they are filled.
"""

import pickle
import pickletools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dartboard.errors import DartboardError
from dartboard.utils.text import printable

AllowedGlobals = Mapping[tuple[str, str], Callable[..., object]]
"""Globals that a file may name, by module and name, and the stand-in that is called for each."""
Trim = Callable[[dict[Any, Any]], None]
"""Called with a dictionary whenever values were added to it; may remove what is not needed."""
STOP = b"."
NOT_NEEDED = "plain values do not need"
KEY_TYPES = frozenset((str, bytes, bool, float))
"""Types of keys that are allowed whatever their value."""
MOST_BITS = 60
"""Size of the largest integer that may be a key."""
MOST_ITEMS = 8
"""Length of the longest tuple that may be a key."""


class RefusedError(Exception):
    """The reason for which a pickle is refused."""


@dataclass(frozen=True)
class Global:
    """The stand-in of a global that a file names, to be called."""

    call: Callable[..., object]


class Memo:
    """Values by their index.

    Pickles count from 0, and those of benchmarks count to a hundred million: consecutive indices are stored
    in a list, 8 bytes each. Any other index costs one entry of a dictionary, however large it is.
    """

    __slots__ = ("_dense", "_sparse")

    def __init__(self) -> None:
        self._dense: list[Any] = []
        self._sparse: dict[int, Any] = {}

    def add(self, value: object) -> None:
        """Stores a value under the number of values stored so far."""
        self.put(len(self._dense) + len(self._sparse), value)

    def put(self, index: int, value: object) -> None:
        """Stores a value, in place of an earlier one of the same index."""
        if index == len(self._dense):
            self._dense.append(value)
            self._sparse.pop(index, None)
        elif 0 <= index < len(self._dense):
            self._dense[index] = value
        else:
            self._sparse[index] = value

    def get(self, index: int) -> Any:
        """The value of an index.

        Raises:
            LookupError: If there is none.
        """
        return self._dense[index] if 0 <= index < len(self._dense) else self._sparse[index]


@dataclass
class Unpickler:
    """The machine that executes a pickle.

    Args:
        file: The pickle.
        allowed: Globals that it may name.
        trim: Removes from dictionaries what is not needed; None to keep all.
        persistent_load: Gives the value for a persistent ID (stored elsewhere); None to refuse them.
        stack: Values since the last mark.
        below: For each mark, the stack before it.
        memo: Values that are used more than once, by their index.
        strings: One copy of equal strings.
    """

    file: IO[bytes]
    allowed: AllowedGlobals
    trim: Trim | None = None
    persistent_load: Callable[[object], object] | None = None
    stack: list[Any] = field(default_factory=list)
    below: list[list[Any]] = field(default_factory=list)
    memo: Memo = field(default_factory=Memo)
    strings: dict[str, str] = field(default_factory=dict)

    def mark(self) -> None:
        """Starts a container."""
        self.below.append(self.stack)
        self.stack = []

    def pop_mark(self) -> list[Any]:
        """Pops the values since the last mark."""
        if not self.below:
            raise RefusedError("no whole pickle (a container has no beginning)")
        values, self.stack = self.stack, self.below.pop()
        return values

    def pop(self, count: int) -> list[Any]:
        """Pops this many values, in the order in which they were pushed."""
        if len(self.stack) < count:
            raise RefusedError("no whole pickle (values are missing)")
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def push(self, value: object) -> None:
        """Pushes a value; `stack.append` would be looked up before `pop_mark` replaces the stack."""
        self.stack.append(value)

    def push_string(self, text: str) -> None:
        """Pushes a string, the same object for equal strings."""
        self.stack.append(self.strings.setdefault(text, text))

    def extend(self, values: list[Any]) -> None:
        """Appends values to the list on top."""
        if not isinstance(self.stack[-1], list):
            raise RefusedError("no whole pickle (values are put into what is not a list)")
        self.stack[-1].extend(values)

    def add(self, values: list[Any]) -> None:
        """Adds values to the set on top."""
        if not isinstance(self.stack[-1], set):
            raise RefusedError("no whole pickle (values are put into what is not a set)")
        self.stack[-1].update(check_keys(values, "a set whose members"))

    def push_dict(self, values: list[Any]) -> None:
        """Pushes a dictionary of alternating keys and values."""
        self.stack.append({})
        self.update(values)

    def update(self, values: list[Any]) -> None:
        """Adds alternating keys and values to the dictionary on top."""
        if not isinstance(self.stack[-1], dict):
            raise RefusedError("no whole pickle (values are put into what is not a dictionary)")
        if len(values) % 2:
            raise RefusedError("no whole pickle (a key has no value)")
        keys = check_keys(values[::2], "a dictionary whose keys")
        self.stack[-1].update(zip(keys, values[1::2], strict=True))
        if self.trim:
            self.trim(self.stack[-1])

    def push_global(self, module: object, name: object) -> None:
        """Pushes the stand-in of a global, if it is allowed."""
        if not isinstance(module, str) or not isinstance(name, str):
            raise RefusedError(f"refused: it asks for no name, which {NOT_NEEDED}")
        if (module, name) not in self.allowed:
            qualname = printable(f"{module}.{name}"[:200])
            raise RefusedError(f"refused: it asks for {qualname}, which {NOT_NEEDED}")
        self.stack.append(Global(self.allowed[module, name]))

    def reduce(self) -> None:
        """Calls a stand-in."""
        function, args = self.pop(2)
        if not isinstance(function, Global) or not isinstance(args, tuple):
            raise RefusedError("refused: it calls what is not to be called")
        self.stack.append(function.call(*args))

    def build(self) -> None:
        """Sets the state on top on the value below it."""
        value, state = self.pop(2)
        if not isinstance(value, PickledDtype | PickledArray):
            raise RefusedError(f"refused: it changes a {type(value).__name__}")
        value.build(state)
        self.stack.append(value)

    def push_persistent(self) -> None:
        """Pushes the value of a persistent ID."""
        if not self.persistent_load:
            raise RefusedError(f"refused: it has the opcode BINPERSID, which {NOT_NEEDED}")
        [identifier] = self.pop(1)
        self.stack.append(self.persistent_load(identifier))

    def load(self) -> object:
        """Executes the pickle and returns its value; the file is read up to the end of the pickle.

        Raises:
            RefusedError: If it has an opcode that plain values do not need, or names a global that is not
            allowed. ValueError, LookupError, TypeError: If it is damaged.
        """
        read = self.file.read
        while (opcode := read(1)) != STOP:
            HANDLERS[opcode](self)
        [value] = self.pop(1)
        return value


def check_keys(values: list[Any], what: str) -> list[Any]:
    """The values, if all may be keys.

    Nested tuples and huge integers could take forever: the hashes of the latter can be made to collide.
    """
    if not set(map(type, values)) <= KEY_TYPES:
        for value in values:
            items = value if isinstance(value, tuple) else (value,)
            allowed = (
                type(item) in KEY_TYPES or (type(item) is int and item.bit_length() <= MOST_BITS)
                for item in items
            )
            if len(items) > MOST_ITEMS or not all(allowed):
                raise RefusedError(
                    f"refused: it has {what} are not texts or numbers of 60 bits, or short tuples of them"
                )
    return values


Handler = Callable[[Unpickler], object]
"""Executes one opcode."""
IGNORED = frozenset(("PROTO", "FRAME"))
VALUE_OPCODES = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    )
)
"""Opcodes whose argument is the value."""
STRING_OPCODES = frozenset(("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"))
BYTES_OPCODES = frozenset(("STRING", "BINSTRING", "SHORT_BINSTRING"))
"""Opcodes of strings of Python 2."""
PUT = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
GET = frozenset(("GET", "BINGET", "LONG_BINGET"))
OPCODES: dict[str, Handler] = {
    "MARK": Unpickler.mark,
    "NONE": lambda unpickler: unpickler.stack.append(None),
    "NEWTRUE": lambda unpickler: unpickler.stack.append(True),
    "NEWFALSE": lambda unpickler: unpickler.stack.append(False),
    "EMPTY_LIST": lambda unpickler: unpickler.stack.append([]),
    "EMPTY_DICT": lambda unpickler: unpickler.stack.append({}),
    "EMPTY_TUPLE": lambda unpickler: unpickler.stack.append(()),
    "EMPTY_SET": lambda unpickler: unpickler.stack.append(set()),
    "LIST": lambda unpickler: unpickler.push(unpickler.pop_mark()),
    "DICT": lambda unpickler: unpickler.push_dict(unpickler.pop_mark()),
    "TUPLE": lambda unpickler: unpickler.push(tuple(unpickler.pop_mark())),
    "TUPLE1": lambda unpickler: unpickler.stack.append(tuple(unpickler.pop(1))),
    "TUPLE2": lambda unpickler: unpickler.stack.append(tuple(unpickler.pop(2))),
    "TUPLE3": lambda unpickler: unpickler.stack.append(tuple(unpickler.pop(3))),
    "APPEND": lambda unpickler: unpickler.extend(unpickler.pop(1)),
    "APPENDS": lambda unpickler: unpickler.extend(unpickler.pop_mark()),
    "ADDITEMS": lambda unpickler: unpickler.add(unpickler.pop_mark()),
    "SETITEM": lambda unpickler: unpickler.update(unpickler.pop(2)),
    "SETITEMS": lambda unpickler: unpickler.update(unpickler.pop_mark()),
    "MEMOIZE": lambda unpickler: unpickler.memo.add(unpickler.stack[-1]),
    "STACK_GLOBAL": lambda unpickler: unpickler.push_global(*unpickler.pop(2)),
    "REDUCE": Unpickler.reduce,
    "BUILD": Unpickler.build,
    "BINPERSID": Unpickler.push_persistent,
}
"""Opcodes without an argument."""


def _handler(opcode: pickletools.OpcodeInfo) -> Handler:
    """The handler of an opcode; its argument, if it has one, is read from the file."""
    read: Callable[[IO[bytes]], Any] = opcode.arg.reader if opcode.arg else lambda _: None
    if opcode.name in VALUE_OPCODES:
        return lambda unpickler: unpickler.stack.append(read(unpickler.file))
    if opcode.name in STRING_OPCODES:
        return lambda unpickler: unpickler.push_string(read(unpickler.file))
    if opcode.name in BYTES_OPCODES:
        return lambda unpickler: unpickler.stack.append(read(unpickler.file).encode("latin1"))
    if opcode.name in PUT:
        return lambda unpickler: unpickler.memo.put(read(unpickler.file), unpickler.stack[-1])
    if opcode.name in GET:
        return lambda unpickler: unpickler.stack.append(unpickler.memo.get(read(unpickler.file)))
    if opcode.name == "GLOBAL":
        return lambda unpickler: unpickler.push_global(*read(unpickler.file).split(" ", 1))
    if opcode.name in IGNORED:
        return lambda unpickler: read(unpickler.file)
    refuse = _refuse(f"refused: it has the opcode {opcode.name}, which {NOT_NEEDED}")
    return OPCODES.get(opcode.name, refuse)


def _refuse(reason: str) -> Callable[..., object]:
    """A handler, or the stand-in of a global, that refuses the pickle."""

    def refuse(*_: object) -> object:
        raise RefusedError(reason)

    return refuse


HANDLERS = {
    b"": _refuse("no whole pickle (it is cut off)"),
    **{bytes((code,)): _refuse(f"no whole pickle (there is no opcode {code})") for code in range(256)},
    **{opcode.code.encode("latin1"): _handler(opcode) for opcode in pickletools.opcodes},
}
"""Handler of every byte, and of the end of the file."""


MOST_AXES, MOST_VALUES = 32, 1 << 40
"""Largest number of axes of an array, and an upper bound of their length."""
CODE = re.compile(r"[<>|=]?[biuf][0-9]{1,2}")
"""Types of arrays: booleans, signed and unsigned integers and floats, with their size."""


class PickledDtype:
    """Stand-in of numpy.dtype: a code such as u1, and the byte order, which is set by the opcode BUILD."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = as_text(code)
        self.order = "="

    def build(self, state: object) -> None:
        """Sets the byte order."""
        if not isinstance(state, tuple) or len(state) < 2:
            raise RefusedError("a type of numbers is damaged")
        self.order = as_text(state[1])

    def numpy(self) -> np.dtype[Any]:
        """The numpy type; plain numbers only."""
        code = self.order + self.code
        try:
            if CODE.fullmatch(code):
                return np.dtype(code)
        except TypeError:  # numbers of three bytes
            pass
        raise RefusedError(f"there is an array of type {code!r}; only plain numbers are read")


class PickledArray:
    """Stand-in of numpy.ndarray: shape, type and bytes, which are set by the opcode BUILD."""

    def __init__(self, array: NDArray[Any] | None = None) -> None:
        self.array = array

    def build(self, state: object) -> None:
        """Sets the numbers."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise RefusedError("an array is damaged")
        _, shape, dtype, fortran, data = state
        self.array = _array(data, dtype, shape, "F" if fortran else "C")


def _from_buffer(data: object, dtype: object, shape: object, order: object) -> PickledArray:
    return PickledArray(_array(data, dtype, shape, as_text(order)))


def _scalar(dtype: object, data: object) -> object:
    return _array(data, dtype, (1,), "C")[0].item()


def _array(data: object, dtype: object, shape: object, order: str) -> NDArray[Any]:
    if not isinstance(dtype, PickledDtype) or not isinstance(data, bytes | bytearray):
        raise RefusedError("an array holds something else than plain numbers")
    sizes = shape if isinstance(shape, tuple) and len(shape) <= MOST_AXES else (None,)
    if not all(isinstance(size, int) and 0 <= size < MOST_VALUES for size in sizes):
        raise RefusedError("an array has no shape that makes sense")
    kind = dtype.numpy()
    if prod(sizes) * kind.itemsize != len(data):
        raise RefusedError(f"an array of shape {list(sizes)} has {len(data):,} bytes")
    return np.frombuffer(data, kind).reshape(sizes, order="F" if order == "F" else "C")


def _encode(text: object, encoding: object = "") -> bytes:
    """Stand-in of _codecs.encode, with which Python 3 writes bytes for Python 2."""
    if not isinstance(text, str) or encoding != "latin1":
        raise RefusedError("there is text in another encoding than latin1")
    return text.encode("latin1")


def as_text(value: object) -> str:
    """A string; those of Python 2 are bytes."""
    if isinstance(value, bytes):
        value = value.decode("latin1")
    if not isinstance(value, str):
        raise RefusedError(f"there is a {type(value).__name__} in place of a text")
    return value


def _dictionary(*args: object) -> dict[Any, Any]:
    """Stand-in of OrderedDict and defaultdict: a plain dictionary."""
    if len(args) > 1 or not all(arg is None or isinstance(arg, Global) for arg in args):
        raise RefusedError("a dictionary is damaged")
    return {}


def _set(values: object = ()) -> set[Any]:
    if not isinstance(values, list | tuple):
        raise RefusedError("a set is damaged")
    return set(check_keys(list(values), "a set whose members"))


KINDS = ("list", "dict", "int", "long", "float")
"""Default factories of defaultdict; named, but never called."""
CORES, BUILTINS = ("core", "_core"), ("builtins", "__builtin__")
"""Names of these modules of numpy and Python in different versions."""
_DEFAULT_FACTORY = _refuse("refused: it calls what can only be what dictionaries lack")
ALLOWED: AllowedGlobals = {
    ("numpy", "ndarray"): _refuse("refused: it makes an array by the name of all arrays"),
    ("numpy", "dtype"): PickledDtype,
    ("_codecs", "encode"): _encode,
    ("__builtin__", "bytes"): lambda: b"",  # how Python 3 writes empty bytes for Python 2
    ("collections", "OrderedDict"): _dictionary,
    ("collections", "defaultdict"): _dictionary,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): lambda *_: PickledArray() for core in CORES},
    **{(f"numpy.{core}.multiarray", "scalar"): _scalar for core in CORES},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _from_buffer for core in CORES},
    **{(module, "set"): _set for module in BUILTINS},
    **{(module, kind): _DEFAULT_FACTORY for module in BUILTINS for kind in KINDS},
}
"""Globals that every file may name, and their stand-ins."""


DAMAGED = (
    pickle.UnpicklingError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RecursionError,
)
"""Errors that damaged pickles cause."""
NO_ROOM = "needs more memory than there is, or is made to harm"


def read_pickle(
    file: IO[bytes],
    error: type[DartboardError],
    *,
    extra_globals: AllowedGlobals | None = None,
    trim: Trim | None = None,
    persistent_load: Callable[[object], object] | None = None,
) -> object:
    """The value in a pickle of plain values; strings of Python 2 are bytes, arrays are `PickledArray`.

    The file is read up to the end of the pickle; a malicious one can take much memory and time, but nothing
    else.

    Args:
        file: The pickle from its first byte on; buffered, as it is read in small pieces.
        error: Type of the error to raise.
        extra_globals: Globals that the file may name besides those of `ALLOWED`.
        trim: Called with a dictionary whenever values were added to it; may remove what is not needed.
        persistent_load: Gives the value for a persistent ID (stored elsewhere); None to refuse them.

    Raises:
        error: If it is damaged, or needs anything but plain values.
    """
    try:
        return Unpickler(file, {**ALLOWED, **(extra_globals or {})}, trim, persistent_load).load()
    except error:
        raise
    except RefusedError as refused:
        raise error(str(refused)) from None
    except MemoryError:
        raise error(NO_ROOM) from None
    except DAMAGED as damage:
        reason = printable(" ".join(str(damage).split()))[:200]
        raise error(f"no whole pickle ({reason})") from None


def read_arrays(file: IO[bytes], error: type[DartboardError]) -> dict[str, Any]:
    """The dictionary in a pickle, with strings as keys and numpy arrays; strings of Python 2 are bytes.

    Raises:
        error: If it is damaged, has no dictionary, or needs anything but arrays and containers.
    """
    contents = read_pickle(file, error)
    if not isinstance(contents, dict):
        raise error(f"holds a {type(contents).__name__}, not a dictionary")
    try:
        values = {as_text(key): value for key, value in contents.items()}
    except RefusedError as refused:
        raise error(str(refused)) from None
    for name, value in values.items():
        if isinstance(value, PickledArray):
            if value.array is None:
                raise error("an array is damaged: it has no numbers")
            values[name] = value.array
    return values
