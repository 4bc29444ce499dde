"""The orders of a pickle, followed as far as plain values need them.

A pickle is a list of orders to a machine with a stack and a memory. Python's own machine sets what it is told
to set, calls what it is told to call, and takes any value for a key; a file can make it crash. This one makes
numbers, texts, lists, tuples and dictionaries whose keys are texts or numbers, and calls what is allowed.
"""

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dartboard.errors import DataError

Allowed = Mapping[tuple[str, str], Callable[..., object]]
"""What a file may name, by module and name, and what is called for it."""
MARK = object()
"""Where on the stack a container begins."""


class Built:
    """A value that is given more after it is made."""

    def build(self, state: object) -> None:
        """Takes what it is given."""
        raise NotImplementedError


@dataclass(frozen=True)
class Named:
    """What a file has named, to be called."""

    call: Callable[..., object]


@dataclass
class Machine:
    """The values that a pickle has made so far.

    Args:
        allowed: What it may name.
        stack: Values that wait to be used, the last first.
        memo: Values that are used more than once, by their number.
    """

    allowed: Allowed
    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def since_mark(self) -> list[Any]:
        """The values from the last mark on, which are taken off the stack."""
        place = len(self.stack) - 1
        while self.stack[place] is not MARK:
            place -= 1
            if place < 0:
                raise DataError("no whole pickle (a container has no beginning)")
        values = self.stack[place + 1 :]
        del self.stack[place:]
        return values

    def last(self, count: int) -> list[Any]:
        """So many values from the end, which are taken off the stack."""
        if len(self.stack) < count:
            raise DataError("no whole pickle (values are missing)")
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def extend(self, values: list[Any]) -> None:
        """Puts values into the list on top."""
        if not isinstance(self.stack[-1], list):
            raise DataError("no whole pickle (values are put into what is no list)")
        self.stack[-1].extend(values)

    def update(self, values: list[Any]) -> None:
        """Puts keys and values into the dictionary on top."""
        if not isinstance(self.stack[-1], dict):
            raise DataError("no whole pickle (values are put into what is no dictionary)")
        self.stack[-1].update(_pairs(values))

    def name(self, module: object, name: object) -> None:
        """Puts on top what is allowed by this name."""
        known = isinstance(module, str) and isinstance(name, str) and self.allowed.get((module, name))
        if not known:
            asked = f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "no name"
            raise DataError(f"refused: it asks for {asked}, which has no place in a file of images")
        self.stack.append(Named(known))

    def reduce(self) -> None:
        """Calls what is allowed."""
        named, args = self.last(2)
        if not isinstance(named, Named) or not isinstance(args, tuple):
            raise DataError("refused: it calls what is not to be called")
        self.stack.append(named.call(*args))

    def build(self) -> None:
        """Gives the value below the top what is on top."""
        made, state = self.last(2)
        if not isinstance(made, Built):
            raise DataError(f"refused: it changes a {type(made).__name__}")
        made.build(state)
        self.stack.append(made)


def _pairs(values: list[Any]) -> dict[Any, Any]:
    """A dictionary of keys and values in turn; a key of tuples in tuples could keep one busy for ever."""
    if len(values) % 2 or not all(isinstance(key, str | bytes | int) for key in values[::2]):
        raise DataError("refused: it has a dictionary whose keys are no texts or numbers")
    return dict(zip(values[::2], values[1::2], strict=True))


PLAIN = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
        *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    )
)
"""Orders that are values themselves."""
BYTES = frozenset(("STRING", "BINSTRING", "SHORT_BINSTRING"))
"""Orders that are texts of Python 2."""
PUT = frozenset(("PUT", "BINPUT", "LONG_BINPUT"))
GET = frozenset(("GET", "BINGET", "LONG_BINGET"))
ORDERS: dict[str, Callable[[Machine], object]] = {
    "PROTO": lambda _: None,
    "FRAME": lambda _: None,
    "STOP": lambda _: None,
    "MARK": lambda machine: machine.stack.append(MARK),
    "NONE": lambda machine: machine.stack.append(None),
    "NEWTRUE": lambda machine: machine.stack.append(True),
    "NEWFALSE": lambda machine: machine.stack.append(False),
    "EMPTY_LIST": lambda machine: machine.stack.append([]),
    "EMPTY_DICT": lambda machine: machine.stack.append({}),
    "EMPTY_TUPLE": lambda machine: machine.stack.append(()),
    "LIST": lambda machine: machine.stack.append(machine.since_mark()),
    "DICT": lambda machine: machine.stack.append(_pairs(machine.since_mark())),
    "TUPLE": lambda machine: machine.stack.append(tuple(machine.since_mark())),
    "TUPLE1": lambda machine: machine.stack.append(tuple(machine.last(1))),
    "TUPLE2": lambda machine: machine.stack.append(tuple(machine.last(2))),
    "TUPLE3": lambda machine: machine.stack.append(tuple(machine.last(3))),
    "APPEND": lambda machine: machine.extend(machine.last(1)),
    "APPENDS": lambda machine: machine.extend(machine.since_mark()),
    "SETITEM": lambda machine: machine.update(machine.last(2)),
    "SETITEMS": lambda machine: machine.update(machine.since_mark()),
    "MEMOIZE": lambda machine: machine.memo.update({len(machine.memo): machine.stack[-1]}),
    "STACK_GLOBAL": lambda machine: machine.name(*machine.last(2)),
    "REDUCE": Machine.reduce,
    "BUILD": Machine.build,
}
"""Orders that come without a value."""


def follow(data: bytes, allowed: Allowed) -> object:
    """What a pickle makes; texts of Python 2 are bytes.

    Raises:
        DataError: If it has an order that plain values do not need, or names what is not allowed.
        ValueError, LookupError, TypeError: If it is damaged.
    """
    machine = Machine(allowed)
    for order, value, _ in pickletools.genops(data):
        _obey(machine, order.name, value)
    [made] = machine.last(1)
    return made


def _obey(machine: Machine, order: str, value: Any) -> None:
    if order in PLAIN:
        machine.stack.append(value)
    elif order in ORDERS:
        ORDERS[order](machine)
    elif order in BYTES:
        machine.stack.append(value.encode("latin1"))
    elif order in PUT:
        machine.memo[value] = machine.stack[-1]
    elif order in GET:
        machine.stack.append(machine.memo[value])
    elif order == "GLOBAL":
        machine.name(*value.split(" ", 1))
    else:
        raise DataError(f"refused: it has the order {order}, which has no place in a file of images")
