"""Where the runs of a sweep are done: in this process, in a pool of them, on Ray, on Slurm."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from dartboard.errors import UnknownNameError
from dartboard.jobs.executors.base import EXECUTORS, Executor

__all__ = ["EXECUTORS", "MODULES", "Executor", "check_executor", "make_executor"]

MODULES = {"here": "inline", "pool": "pool", "ray": "ray", "slurm": "slurm"}
"""By the name of an executor, the module of this folder that registers it, imported when it is needed."""


def make_executor(name: str, options: Mapping[str, Any]) -> Executor:
    """The executor of a name.

    Args:
        name: One of `MODULES`, or one that a plugin has registered.
        options: Its own.

    Raises:
        DartboardError: If there is none of this name, an option does not fit, or a package is missing.
    """
    return _find(name)(**options)


def check_executor(name: str, options: Mapping[str, Any]) -> None:
    """Looks at what is asked of an executor as far as its `check` can say, without making it.

    So what is meant for a cluster can be looked at elsewhere.

    Raises:
        DartboardError: If there is none of this name, or an option does not fit.
    """
    check = getattr(_find(name), "check", None)
    if check is not None:
        check(options)


def _find(name: str) -> Callable[..., Executor]:
    if name in MODULES:
        import_module(f"{__name__}.{MODULES[name]}")
    elif name not in EXECUTORS:
        raise UnknownNameError("executor", name, {*MODULES, *EXECUTORS})
    return EXECUTORS[name]
