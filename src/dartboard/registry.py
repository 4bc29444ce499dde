"""Registries: values of one kind by name, with a hint when a name is wrong and the origin of each value."""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import TypeVar

from dartboard.errors import DuplicateNameError, UnknownNameError

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Where a value was registered.

    Attributes:
        module: Name of the module that registered it.
        file: Path of that module; None in a notebook or an interactive session.
        line: Line of the registration.
        qualname: Name of the function or class registered; for a plain value, of the code around it.
    """

    module: str
    file: str | None
    line: int
    qualname: str

    @property
    def package(self) -> str | None:
        """Installed package that registered it; None for a script, a plugin file or a notebook."""
        return _distribution(self.module.partition(".")[0])[0]

    @property
    def version(self) -> str | None:
        """Version of that package."""
        return _distribution(self.module.partition(".")[0])[1]

    @property
    def builtin(self) -> bool:
        """Whether dartboard itself registered it."""
        return self.module.partition(".")[0] == "dartboard"

    def same_place(self, other: "Origin") -> bool:
        """Whether both are the same definition, run again.

        In a file that is the same name of a function or class. A notebook gives no such hint: an edited cell
        looks like another one, so any later definition in the same session counts as the same.
        """
        if self.file is None or other.file is None:
            return self.file == other.file and self.module == other.module
        return (self.file, self.qualname) == (other.file, other.qualname)

    def __str__(self) -> str:
        if self.file is None:
            return f"{self.module} (interactive), line {self.line}"
        place = f"{self.file}:{self.line}"
        return place if self.package is None else f"{self.package} {self.version} ({place})"


class Registry(Mapping[str, T]):
    """A mapping from names to values of one kind that explains a missing name.

    Args:
        kind: What the values are, as it should read in an error ("op", "space").
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._values: dict[str, T] = {}
        self._origins: dict[str, Origin] = {}

    def register(self, name: str, *, stacklevel: int = 1) -> Callable[[T], T]:
        """Decorator that registers a value under `name`.

        The same definition run again (a notebook cell, a reloaded file) replaces the value with a warning.

        Args:
            name: Name of the value.
            stacklevel: Which caller counts as the origin: 1 is the caller of `register`, 2 is its caller.

        Raises:
            DuplicateNameError: If the name is registered from another place.
        """
        frame = sys._getframe(stacklevel)

        def add(value: T) -> T:
            origin = _origin(frame, value)
            if name in self._values:
                previous = self._origins[name]
                if not origin.same_place(previous):
                    raise DuplicateNameError(self.kind, name, str(previous), str(origin))
                message = f"{self.kind} {name!r} is defined again by {origin} and replaces the earlier one"
                warnings.warn(message, stacklevel=stacklevel + 1)
            self._values[name] = value
            self._origins[name] = origin
            return value

        return add

    def origin(self, name: str) -> Origin:
        """Where `name` was registered.

        Raises:
            UnknownNameError: If nothing is registered under that name.
        """
        self[name]
        return self._origins[name]

    def __getitem__(self, name: str) -> T:
        try:
            return self._values[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._values) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _origin(frame: FrameType, value: object) -> Origin:
    """Where `frame` registers `value`."""
    file = frame.f_globals.get("__file__")
    module = frame.f_globals.get("__name__", "__main__")
    qualname = getattr(value, "__qualname__", frame.f_code.co_qualname)
    return Origin(module, None if file is None else str(Path(file).absolute()), frame.f_lineno, qualname)


@cache
def _distribution(module: str) -> tuple[str, str] | tuple[None, None]:
    """Name and version of the installed distribution that holds a top-level module."""
    try:  # most distributions are called like their module, and a list of all takes half a second
        return metadata.metadata(module)["Name"], metadata.version(module)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(module)
        return (names[0], metadata.version(names[0])) if names else (None, None)
