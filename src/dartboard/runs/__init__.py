"""Runs on disk: configuration, metrics, checkpoints and results, safe against kills at any moment.

Names are imported when they are first used, so that reading the small files of runs does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dartboard.runs.checkpoint import (
        Tree,
        digest,
        latest_state,
        load_checkpoint,
        pack,
        save_checkpoint,
        unpack,
    )
    from dartboard.runs.checkpoint_files import list_checkpoints
    from dartboard.runs.directory import SPACE, RunReader, is_run, load_run
    from dartboard.runs.listing import RunSummary, find_runs, summarize_run
    from dartboard.runs.lock import Lock, is_locked
    from dartboard.runs.store import Run, describe_environment
    from dartboard.runs.text_files import differences, flat
    from dartboard.utils.atomic import atomic_directory, write_bytes, write_text

__all__ = [
    "SPACE",
    "Lock",
    "Run",
    "RunReader",
    "RunSummary",
    "Tree",
    "atomic_directory",
    "describe_environment",
    "differences",
    "digest",
    "find_runs",
    "flat",
    "is_locked",
    "is_run",
    "latest_state",
    "list_checkpoints",
    "load_checkpoint",
    "load_run",
    "pack",
    "save_checkpoint",
    "summarize_run",
    "unpack",
    "write_bytes",
    "write_text",
]

_MODULES = {
    "dartboard.utils.atomic": ("atomic_directory", "write_bytes", "write_text"),
    "dartboard.runs.directory": ("SPACE", "RunReader", "is_run", "load_run"),
    "dartboard.runs.text_files": ("differences", "flat"),
    "dartboard.runs.checkpoint": (
        *("Tree", "digest", "pack", "unpack"),
        *("latest_state", "load_checkpoint", "save_checkpoint"),
    ),
    "dartboard.runs.checkpoint_files": ("list_checkpoints",),
    "dartboard.runs.listing": ("RunSummary", "find_runs", "summarize_run"),
    "dartboard.runs.lock": ("Lock", "is_locked"),
    "dartboard.runs.store": ("Run", "describe_environment"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            globals()[name] = value = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
