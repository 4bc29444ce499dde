"""Where the runs of a sweep are done: in this process, in a pool of them, on Ray, on Slurm."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from dartboard.errors import UnknownNameError
from dartboard.scale.executors.base import EXECUTORS, Executor

__all__ = ["EXECUTORS", "MODULES", "Executor", "make_executor"]

MODULES = ("here", "pool", "ray", "slurm")
"""Modules of this folder that register the executor of their name when it is asked for."""


def make_executor(name: str, options: Mapping[str, Any]) -> Executor:
    """The executor of a name.

    Args:
        name: One of `MODULES`, or one that a plugin has registered.
        options: Its own.

    Raises:
        DartboardError: If there is none of this name, an option does not fit, or a package is missing.
    """
    if name in MODULES:
        import_module(f"dartboard.scale.executors.{name}")
    elif name not in EXECUTORS:
        raise UnknownNameError("executor", name, {*MODULES, *EXECUTORS})
    return EXECUTORS[name](**options)
