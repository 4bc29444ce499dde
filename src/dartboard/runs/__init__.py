"""Runs on disk: configuration, metrics, checkpoints and results, safe against kills at any moment.

Names are looked up when they are first used: who only reads the small files of runs does without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dartboard.runs.checkpoint import latest_state, list_checkpoints, load_checkpoint, save_checkpoint
    from dartboard.runs.directory import SPACE, is_run
    from dartboard.runs.environment import describe_environment
    from dartboard.runs.listing import RunSummary, find_runs, summarize_run
    from dartboard.runs.lock import Lock, is_locked
    from dartboard.runs.run_files import RunReader
    from dartboard.runs.store import Run
    from dartboard.runs.text_files import flat
    from dartboard.runs.tree import Tree, digest, pack, unpack
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
    "digest",
    "find_runs",
    "flat",
    "is_locked",
    "is_run",
    "latest_state",
    "list_checkpoints",
    "load_checkpoint",
    "pack",
    "save_checkpoint",
    "summarize_run",
    "unpack",
    "write_bytes",
    "write_text",
]

_HOMES = {
    "dartboard.utils.atomic": ("atomic_directory", "write_bytes", "write_text"),
    "dartboard.runs.directory": ("SPACE", "is_run"),
    "dartboard.runs.text_files": ("flat",),
    "dartboard.runs.checkpoint": ("latest_state", "list_checkpoints", "load_checkpoint", "save_checkpoint"),
    "dartboard.runs.environment": ("describe_environment",),
    "dartboard.runs.listing": ("RunSummary", "find_runs", "summarize_run"),
    "dartboard.runs.lock": ("Lock", "is_locked"),
    "dartboard.runs.run_files": ("RunReader",),
    "dartboard.runs.store": ("Run",),
    "dartboard.runs.tree": ("Tree", "digest", "pack", "unpack"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(home), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
