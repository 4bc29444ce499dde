"""Runs on disk: configuration, metrics, checkpoints and results, safe against kills at any moment."""

from dartboard.atomic import whole_directory, write_bytes, write_text
from dartboard.runs._directory import SPACE, is_run
from dartboard.runs.checkpoint import latest_state, list_checkpoints, load_checkpoint, save_checkpoint
from dartboard.runs.environment import describe_environment
from dartboard.runs.lock import Lock, is_locked
from dartboard.runs.store import Run
from dartboard.runs.tree import Tree, digest, pack, unpack

__all__ = [
    "SPACE",
    "Lock",
    "Run",
    "Tree",
    "describe_environment",
    "digest",
    "is_locked",
    "is_run",
    "latest_state",
    "list_checkpoints",
    "load_checkpoint",
    "pack",
    "save_checkpoint",
    "unpack",
    "whole_directory",
    "write_bytes",
    "write_text",
]
