"""Registries: values of one kind by name, with a hint when a name is wrong and the origin of each value."""

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from dartboard.errors import DuplicateNameError, OptionError, UnknownNameError
from dartboard.plugins import entry_points, load_entry_point, module_of, package_of, warn_once

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
        group: Entry-point group in which installed packages add values, such as `dartboard.ops`; None if they
            cannot. A package is imported when a name of it is looked up, all are when the registry is
            iterated. What cannot be imported, or has a name that is taken, is left out with a warning.
    """

    def __init__(self, kind: str, group: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self._pending: dict[str, EntryPoint] | None = None  # not imported yet; None before the first look
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
            file = frame.f_globals.get("__file__")
            origin = Origin(
                module=frame.f_globals.get("__name__", "__main__"),
                file=None if file is None else str(Path(file).absolute()),
                line=frame.f_lineno,
                qualname=getattr(value, "__qualname__", frame.f_code.co_qualname),
            )
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
        if name not in self._values and name in self._find_pending():
            self._load(name)
        try:
            return self._values[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, [*self._values, *self._find_pending()]) from None

    def __iter__(self) -> Iterator[str]:
        for name in list(self._find_pending()):
            self._load(name)
        return iter(self._values)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _find_pending(self) -> dict[str, EntryPoint]:
        """Entry points of installed packages that are not imported yet, by name."""
        if self._pending is None:
            self._pending = {} if self.group is None else entry_points(self.group)
            for name in self._pending.keys() & self._values.keys():
                entry, owner = self._pending.pop(name), self._origins[name]
                package = module_of(entry).split(".")[0]
                if owner.module.split(".")[0] != package:  # else it was imported before
                    warn_once(f"{package_of(entry)}: {self.kind} {name!r} is ignored: {owner} has that name")
        return self._pending

    def _load(self, name: str) -> None:
        """Imports a pending entry point; warns if that gives no value."""
        entry = self._find_pending().pop(name)
        try:
            value = load_entry_point(entry)
        except OptionError as error:
            warn_once(str(error))
            return
        if name in self._values:  # a decorator registered it during the import
            return
        if isinstance(value, ModuleType):
            warn_once(f"{package_of(entry)}: {entry.value} registers no {self.kind} {name!r}")
            return
        line = getattr(getattr(value, "__code__", None), "co_firstlineno", 1)
        file = getattr(sys.modules[module_of(entry)], "__file__", None)
        self._origins[name] = Origin(module_of(entry), file, line, entry.attr)
        self._values[name] = value


@cache
def _distribution(module: str) -> tuple[str, str] | tuple[None, None]:
    """Name and version of the installed distribution that holds a top-level module."""
    try:  # most distributions are called like their module, and a list of all takes half a second
        return metadata.metadata(module)["Name"], metadata.version(module)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(module)
        return (names[0], metadata.version(names[0])) if names else (None, None)


RENDERERS = {
    "cells_html": "dartboard.viz.svg:cells_html",
    "cell_figure": "dartboard.viz.cells:cell_figure",
    "history_figure": "dartboard.viz.plots:plot_history",
    "report": "dartboard.report:write_report",
}
"""Module and function of what renders results, which is above them in the order of imports."""


def find_renderer(name: str) -> Callable[..., Any]:
    """The function that renders something, such as the `report` of runs; imported when it is needed."""
    module, _, function = RENDERERS[name].partition(":")
    renderer: Callable[..., Any] = getattr(import_module(module), function)
    return renderer
