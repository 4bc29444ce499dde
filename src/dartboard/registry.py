"""Named things: short registered functions, found by name, with a hint when the name is wrong."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from dartboard.errors import UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A mapping from names to things of one kind that explains a missing name.

    Args:
        kind: What the things are, as it should read in an error ("op", "space").
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that files a thing under `name`; a name can be taken once."""

        def add(thing: T) -> T:
            if name in self._things:
                raise ValueError(f"{self.kind} {name!r} is registered already")
            self._things[name] = thing
            return thing

        return add

    def __getitem__(self, name: str) -> T:
        try:
            return self._things[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._things) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)
