"""Code from outside this package: Python files that are loaded by path, and installed packages.

A *plugin file* registers methods, spaces, ops or recipes when it is run. Only the person who starts the
program names files to load: a configuration records the files it needs and is refused until they have been
loaded, so a run from somebody else cannot run code by itself.

An *installed package* declares entry points: `dartboard.commands` for commands, and one group for each
registry that is open to packages (`dartboard.methods`, `dartboard.spaces`, ...). The names are read from the
metadata of the packages; nothing is imported before a name is used.
"""

import logging
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import EntryPoint, distributions
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from dartboard.errors import DartboardError, OptionError, one_line

log = logging.getLogger(__name__)

PREFIX = "dartboard."
"""How the entry-point groups of this package begin."""

_loaded: dict[str, str] = {}  # full path: name of the module
_warnings: set[str] = set()


def load_plugin(file: str | Path) -> str:
    """Runs a Python file, once, so that what it registers can be named; returns its full path.

    Raises:
        OptionError: If there is no such file, or it fails.
    """
    path = str(Path(file).resolve())
    if path in _loaded:
        return path
    name = f"dartboard_plugin_{len(_loaded)}_{Path(path).stem}"
    spec = spec_from_file_location(name, path) if path.endswith(".py") and Path(path).is_file() else None
    if spec is None or spec.loader is None:
        raise OptionError(f"no plugin {path!r}; a plugin is a Python file (.py)")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except DartboardError:
        del sys.modules[name]
        raise
    except Exception as error:  # plugin code may raise anything
        del sys.modules[name]
        raise OptionError(f"the plugin {path} fails: {type(error).__name__}: {error}") from error
    _loaded[path] = name
    return path


def check_plugins(paths: Iterable[str]) -> None:
    """Refuses plugin files that have not been loaded.

    Raises:
        OptionError: Says how to load them.
    """
    missing = [path for path in paths if path not in _loaded]
    if missing:
        flags = " ".join(f"--plugin {path}" for path in missing)
        raise OptionError(f"the search needs code of its own; if you trust it, add {flags}")


def entry_points(group: str) -> dict[str, EntryPoint]:
    """Entry points of installed packages in a group, by name; nothing is imported.

    Where two packages declare the same name, the first on the path keeps it and the other is warned about.
    """
    entries: dict[str, EntryPoint] = {}
    for entry in _scan(tuple(sys.path)):
        if entry.group == group and entry.name in entries:
            owner = package_of(entries[entry.name])
            warn_once(
                f"{package_of(entry)}: {entry.name!r} ({group}) is ignored: {owner} has that name already"
            )
        elif entry.group == group:
            entries[entry.name] = entry
    return entries


def load_entry_point(entry: EntryPoint) -> Any:
    """Imports what an entry point names; what is printed meanwhile goes to standard error.

    Raises:
        OptionError: If that fails; names the package, its version and the reason.
    """
    try:
        with redirect_stdout(sys.stderr):
            return entry.load()
    except (Exception, SystemExit) as error:  # a package may raise anything when it is imported
        what = entry.value if module_of(entry) in sys.modules else module_of(entry)
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise OptionError(f"{package_of(entry)}: cannot load {what}: {reason}") from error


def module_of(entry: EntryPoint) -> str:
    """Name of the module that an entry point is in."""
    return entry.value.partition(":")[0].strip()


def package_of(entry: EntryPoint) -> str:
    """Name and version of the package that declares an entry point."""
    assert entry.dist is not None  # noqa: S101  # set for every entry point of an installed package
    return f"package {entry.dist.name} {entry.dist.version}"


def installed_packages() -> dict[str, str]:
    """Versions of the installed packages that extend dartboard, by name."""
    distributions = (entry.dist for entry in _scan(tuple(sys.path)))
    return dict(sorted((dist.name, dist.version) for dist in distributions if dist is not None))


def warn_once(message: str) -> None:
    """Logs a warning, once in a process; without a handler it is a line on standard error."""
    if message not in _warnings:
        _warnings.add(message)
        log.warning("%s", message)


@cache
def _scan(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Entry points in all groups of dartboard; of two copies of a package the first on the path counts."""
    packages: dict[str, list[EntryPoint]] = {}
    for distribution in distributions(path=list(path)):
        try:
            entries = [entry for entry in distribution.entry_points if entry.group.startswith(PREFIX)]
        except Exception:  # malformed entry_points.txt, perhaps of a package that is not for us
            log.debug("skipped the entry points of %s", distribution, exc_info=True)
            continue
        if entries:
            packages.setdefault(distribution.name, entries)
    return tuple(entry for entries in packages.values() for entry in entries)
