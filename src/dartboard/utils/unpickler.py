"""The machine that pickles give orders to, as far as plain values need it.

A pickle is a list of orders to a machine with a stack and a memory. Python's own machine sets what it is told
to set, calls what it is told to call, and takes any value for a key; a file can make it crash. This one makes
numbers, texts, lists, tuples, sets, and dictionaries whose keys are texts, numbers or tuples of them, and
calls what is allowed. Of equal texts it keeps one, and it lets go of what it is told to.
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

Allowed = Mapping[tuple[str, str], Callable[..., object]]
"""What a file may name, by module and name, and what is called for it."""
Trim = Callable[[dict[Any, Any]], None]
"""Is given a dictionary whenever values were put into it, and may take out what is not needed."""
NOT_NEEDED = "plain values do not need"
SURE = frozenset((str, bytes, bool, float))
"""What may be a key whatever its value."""
MOST_BITS = 60
"""Types of keys, and of what a tuple that is a key holds."""
MOST_PARTS = 8
"""A tuple that is a key holds no more."""


class Refused(Exception):  # noqa: N818
    """What a pickle is refused for."""


class Built:
    """A value that is given more after it is made."""

    def build(self, state: object) -> None:
        """Takes what it is given."""
        raise NotImplementedError


@dataclass(frozen=True)
class Named:
    """What a file has named, to be called."""

    call: Callable[..., object]


class Memo:
    """Values by their number.

    Pickles count from 0, and those of benchmarks count to a hundred million: values whose number is the next
    one take up a place in a list, 8 bytes. Any other number costs what one value costs, however large it is.
    """

    __slots__ = ("_rest", "_row")

    def __init__(self) -> None:
        self._row: list[Any] = []
        self._rest: dict[int, Any] = {}

    def add(self, value: object) -> None:
        """Remembers a value under the number of values remembered so far."""
        self.put(len(self._row) + len(self._rest), value)

    def put(self, number: int, value: object) -> None:
        """Remembers a value under a number, in place of what was there."""
        if number == len(self._row):
            self._row.append(value)
            self._rest.pop(number, None)
        elif 0 <= number < len(self._row):
            self._row[number] = value
        else:
            self._rest[number] = value

    def get(self, number: int) -> Any:
        """The value of a number.

        Raises:
            LookupError: If there is none.
        """
        return self._row[number] if 0 <= number < len(self._row) else self._rest[number]


@dataclass
class Machine:
    """The values that a pickle has made so far.

    Args:
        file: Where its orders come from.
        allowed: What it may name.
        trim: Takes out of dictionaries what is not needed; None to keep all.
        outside: What stands for a value that is kept outside of the pickle; None if there are none.
        stack: Values since the last mark that wait to be used, the last first.
        below: For each mark, the values before it.
        memo: Values that are used more than once, by their number.
        texts: One of all equal texts.
    """

    file: IO[bytes]
    allowed: Allowed
    trim: Trim | None = None
    outside: Callable[[object], object] | None = None
    stack: list[Any] = field(default_factory=list)
    below: list[list[Any]] = field(default_factory=list)
    memo: Memo = field(default_factory=Memo)
    texts: dict[str, str] = field(default_factory=dict)

    def mark(self) -> None:
        """Begins a container."""
        self.below.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        """The values from the last mark on, which are taken off the stack."""
        if not self.below:
            raise Refused("no whole pickle (a container has no beginning)")
        values, self.stack = self.stack, self.below.pop()
        return values

    def last(self, count: int) -> list[Any]:
        """So many values from the end, which are taken off the stack."""
        if len(self.stack) < count:
            raise Refused("no whole pickle (values are missing)")
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def push(self, value: object) -> None:
        """Puts a value on top."""
        self.stack.append(value)

    def text(self, text: str) -> None:
        """Puts a text on top, the same one for equal texts."""
        self.stack.append(self.texts.setdefault(text, text))

    def extend(self, values: list[Any]) -> None:
        """Puts values into the list on top."""
        if not isinstance(self.stack[-1], list):
            raise Refused("no whole pickle (values are put into what is no list)")
        self.stack[-1].extend(values)

    def add(self, values: list[Any]) -> None:
        """Puts values into the set on top."""
        if not isinstance(self.stack[-1], set):
            raise Refused("no whole pickle (values are put into what is no set)")
        self.stack[-1].update(keys(values, "a set whose members"))

    def dictionary(self, values: list[Any]) -> None:
        """Puts a dictionary of keys and values on top."""
        self.stack.append({})
        self.update(values)

    def update(self, values: list[Any]) -> None:
        """Puts keys and values into the dictionary on top."""
        if not isinstance(self.stack[-1], dict):
            raise Refused("no whole pickle (values are put into what is no dictionary)")
        self.stack[-1].update(pairs(values))
        if self.trim:
            self.trim(self.stack[-1])

    def name(self, module: object, name: object) -> None:
        """Puts on top what is allowed by this name."""
        known = isinstance(module, str) and isinstance(name, str) and self.allowed.get((module, name))
        if not known:
            asked = f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "no name"
            raise Refused(f"refused: it asks for {printable(asked[:200])}, which {NOT_NEEDED}")
        self.stack.append(Named(known))

    def reduce(self) -> None:
        """Calls what is allowed."""
        named, args = self.last(2)
        if not isinstance(named, Named) or not isinstance(args, tuple):
            raise Refused("refused: it calls what is not to be called")
        self.stack.append(named.call(*args))

    def build(self) -> None:
        """Gives the value below the top what is on top."""
        made, state = self.last(2)
        if not isinstance(made, Built):
            raise Refused(f"refused: it changes a {type(made).__name__}")
        made.build(state)
        self.stack.append(made)

    def fetch(self) -> None:
        """Puts on top what stands for a value that is kept outside."""
        if not self.outside:
            raise Refused(f"refused: it has the order BINPERSID, which {NOT_NEEDED}")
        [what] = self.last(1)
        self.stack.append(self.outside(what))


def keys(values: list[Any], what: str) -> list[Any]:
    """The values, if all can be keys.

    Tuples in tuples and huge numbers could keep one busy for ever: the latter can all fall into one place of
    a dictionary.
    """
    if not set(map(type, values)) <= SURE and not all(map(_is_key, values)):
        raise Refused(f"refused: it has {what} are no texts or numbers of 60 bits, or short tuples of them")
    return values


def _is_key(value: object) -> bool:
    if isinstance(value, tuple):
        return len(value) <= MOST_PARTS and all(map(_is_part, value))
    return _is_part(value)


def _is_part(value: object) -> bool:
    return type(value) in SURE or (type(value) is int and value.bit_length() <= MOST_BITS)


def pairs(values: list[Any]) -> dict[Any, Any]:
    """A dictionary of keys and values in turn."""
    if len(values) % 2:
        raise Refused("no whole pickle (a key has no value)")
    return dict(zip(keys(values[::2], "a dictionary whose keys"), values[1::2], strict=True))


Obey = Callable[[Machine], object]
"""Follows one order."""
IGNORED = frozenset(("PROTO", "FRAME"))
PLAIN = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    )
)
"""Orders that are values themselves."""
TEXTS = frozenset(("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"))
BYTES = frozenset(("STRING", "BINSTRING", "SHORT_BINSTRING"))
"""Orders that are texts of Python 2."""
PUT = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
GET = frozenset(("GET", "BINGET", "LONG_BINGET"))
ORDERS: dict[str, Obey] = {
    "MARK": Machine.mark,
    "NONE": lambda machine: machine.stack.append(None),
    "NEWTRUE": lambda machine: machine.stack.append(True),
    "NEWFALSE": lambda machine: machine.stack.append(False),
    "EMPTY_LIST": lambda machine: machine.stack.append([]),
    "EMPTY_DICT": lambda machine: machine.stack.append({}),
    "EMPTY_TUPLE": lambda machine: machine.stack.append(()),
    "EMPTY_SET": lambda machine: machine.stack.append(set()),
    "LIST": lambda machine: machine.push(machine.since_mark()),
    "DICT": lambda machine: machine.dictionary(machine.since_mark()),
    "TUPLE": lambda machine: machine.push(tuple(machine.since_mark())),
    "TUPLE1": lambda machine: machine.stack.append(tuple(machine.last(1))),
    "TUPLE2": lambda machine: machine.stack.append(tuple(machine.last(2))),
    "TUPLE3": lambda machine: machine.stack.append(tuple(machine.last(3))),
    "APPEND": lambda machine: machine.extend(machine.last(1)),
    "APPENDS": lambda machine: machine.extend(machine.since_mark()),
    "ADDITEMS": lambda machine: machine.add(machine.since_mark()),
    "SETITEM": lambda machine: machine.update(machine.last(2)),
    "SETITEMS": lambda machine: machine.update(machine.since_mark()),
    "MEMOIZE": lambda machine: machine.memo.add(machine.stack[-1]),
    "STACK_GLOBAL": lambda machine: machine.name(*machine.last(2)),
    "REDUCE": Machine.reduce,
    "BUILD": Machine.build,
    "BINPERSID": Machine.fetch,
}
"""Orders that come without a value."""


def _order(order: pickletools.OpcodeInfo) -> Obey:
    """What the machine does about an order; its value, if it has one, is read from the machine's file."""
    read: Callable[[IO[bytes]], Any] = order.arg.reader if order.arg else lambda _: None
    if order.name in PLAIN:
        return lambda machine: machine.stack.append(read(machine.file))
    if order.name in TEXTS:
        return lambda machine: machine.text(read(machine.file))
    if order.name in BYTES:
        return lambda machine: machine.stack.append(read(machine.file).encode("latin1"))
    if order.name in PUT:
        return lambda machine: machine.memo.put(read(machine.file), machine.stack[-1])
    if order.name in GET:
        return lambda machine: machine.stack.append(machine.memo.get(read(machine.file)))
    if order.name == "GLOBAL":
        return lambda machine: machine.name(*read(machine.file).split(" ", 1))
    if order.name in IGNORED:
        return lambda machine: read(machine.file)
    return ORDERS.get(order.name) or _refuse(f"refused: it has the order {order.name}, which {NOT_NEEDED}")


def _refuse(why: str) -> Obey:
    def obey(_: Machine) -> None:
        raise Refused(why)

    return obey


STOP = b"."
OBEY = {
    b"": _refuse("no whole pickle (it is cut off)"),
    **{bytes((code,)): _refuse(f"no whole pickle (there is no order {code})") for code in range(256)},
    **{order.code.encode("latin1"): _order(order) for order in pickletools.opcodes},
}
"""For every byte, and for the end of the file, what the machine does."""


def follow(machine: Machine) -> object:
    """What a pickle makes; texts of Python 2 are bytes. The file is read up to the end of the pickle.

    Raises:
        Refused: If it has an order that plain values do not need, or names what is not allowed.
        ValueError, LookupError, TypeError: If it is damaged.
    """
    read = machine.file.read
    while (code := read(1)) != STOP:
        OBEY[code](machine)
    [made] = machine.last(1)
    return made


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
