"""Python files of one's own that register methods, spaces, ops or recipes.

Loading a file runs it, so only the one who starts the program names files to load. A configuration says
which files it needs, and is refused until they have been loaded: a run from somebody else cannot run code
by itself.
"""

import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from dartboard.errors import DartboardError, OptionError

_loaded: dict[str, str] = {}  # full path: name of the module


def load_plugin(file: str | Path) -> str:
    """Runs a Python file, once, so that what it registers can be named; returns its full path.

    Raises:
        OptionError: If there is no such file, or it fails.
    """
    path = str(Path(file).resolve())
    if path not in _loaded:
        name = f"dartboard_plugin_{len(_loaded)}_{Path(path).stem}"
        _run(path, name)
        _loaded[path] = name
    return path


def _run(path: str, name: str) -> None:
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
    except Exception as error:  # whatever somebody else's code raises
        del sys.modules[name]
        raise OptionError(f"the plugin {path} fails: {type(error).__name__}: {error}") from error


def check_plugins(wanted: Iterable[str]) -> None:
    """Refuses files that have not been loaded.

    Raises:
        OptionError: Says how to load them.
    """
    missing = [path for path in wanted if path not in _loaded]
    if missing:
        again = " ".join(f"--plugin {path}" for path in missing)
        raise OptionError(f"the search needs code of its own; if you trust it, add {again}")
