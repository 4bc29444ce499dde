"""The machine that pickles give orders to, as far as plain values need it.

A pickle is a list of orders to a machine with a stack and a memory. Python's own machine sets what it is told
to set, calls what it is told to call, and takes any value for a key; a file can make it crash. This one makes
numbers, texts, lists, tuples, sets, and dictionaries whose keys are texts, numbers or tuples of them, and
calls what is allowed. Of equal texts it keeps one, and it lets go of what it is told to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from dartboard.pickles.memo import Memo
from dartboard.printable import printable

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
