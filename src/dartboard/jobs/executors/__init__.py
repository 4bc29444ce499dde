"""Executors: where jobs run. In this process, in a pool of processes, on Ray, on Slurm.

Every module of this folder without an underscore registers an executor; so may a plugin.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from dartboard.jobs.executors.base import EXECUTORS, Executor, register_executor
from dartboard.registry import Registry

__all__ = ["EXECUTORS", "Executor", "check_executor", "list_executors", "make_executor", "register_executor"]


@cache
def _registry() -> Registry[Callable[..., Executor]]:
    """All executors, of which those of this folder are imported first."""
    for module in iter_modules(__path__):
        if not module.name.startswith("_"):
            import_module(f"{__name__}.{module.name}")
    return EXECUTORS


def list_executors() -> list[str]:
    """Names of the executors."""
    return list(_registry())


def make_executor(name: str, options: Mapping[str, Any]) -> Executor:
    """The executor of a name.

    Args:
        name: Such as `here`, `pool`, `ray` or `slurm`.
        options: Its options.

    Raises:
        DartboardError: If there is none of this name, an option does not fit, or a package is missing.
    """
    return _registry()[name](**options)


def check_executor(name: str, options: Mapping[str, Any]) -> None:
    """Checks the options of an executor without making it, so that one of a cluster can be checked elsewhere.

    Raises:
        DartboardError: If there is none of this name, or an option does not fit.
    """
    check = getattr(_registry()[name], "check", None)
    if check is not None:
        check(options)
