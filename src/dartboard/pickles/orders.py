"""The orders of a pickle, each with what the machine does about it."""

import pickletools
from collections.abc import Callable
from typing import IO, Any

from dartboard.pickles.machine import NOT_NEEDED, Machine, Refused

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
