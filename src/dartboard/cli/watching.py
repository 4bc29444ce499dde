"""Searches, trainings and protocols in TensorBoard: the flag that asks for it, and what it does."""

from argparse import ArgumentParser, Namespace
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dartboard.cli.arguments import UsageError

if TYPE_CHECKING:
    from dartboard.search.hooks import AnyHook


class Hooked(Protocol):
    """What has hooks."""

    hooks: "tuple[AnyHook, ...]"


def add_flag(parser: ArgumentParser) -> None:
    """Declare the flag."""
    words = "write curves, strengths and cells for TensorBoard to a folder in DIR, called like the run"
    parser.add_argument("--tensorboard", type=Path, metavar="DIR", help=words)


def check_flag(args: Namespace) -> None:
    """Refuse the flag where nothing can be written, before anything else is."""
    folder = _folder(args)
    if folder is None:
        return
    from dartboard.integrations.tensorboard import check_installed

    check_installed()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--tensorboard {folder} is a file; name a folder")


def watched(loop: Hooked, run: Path, args: Namespace) -> AbstractContextManager[object]:
    """Have every epoch of a loop written, if that was asked for; the end of the `with` closes the files.

    Args:
        loop: What is run.
        run: The directory of its run.
        args: What was typed.
    """
    folder = _folder(args)
    if folder is None:
        return nullcontext()
    from dartboard.integrations.tensorboard import TensorBoardHook

    hook = TensorBoardHook(folder / run.resolve().name, run)
    loop.hooks = (*loop.hooks, hook)
    return hook


def words(args: Namespace) -> list[str]:
    """The flag as it was typed, for the command that goes on."""
    folder = _folder(args)
    return [] if folder is None else ["--tensorboard", str(folder)]


def _folder(args: Namespace) -> Path | None:
    """Where to write; None if that was not asked for, or the verb has no such flag."""
    folder: Path | None = getattr(args, "tensorboard", None)
    return folder
