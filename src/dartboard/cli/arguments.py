"""Argument types that several verbs share; what they refuse, they say how to write."""

import math
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any, NoReturn

from dartboard.cli.packages import package_commands
from dartboard.errors import DartboardError


class UsageError(DartboardError):
    """Arguments that do not make a command."""


class Parser(ArgumentParser):
    """A parser that raises instead of leaving the program, and that can be configured when it is first used.

    Attributes:
        prepare: Called once before arguments are parsed, to declare them: the command of another package is
            imported only when it is named.
    """

    prepare: Callable[[], None] | None = None

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        prepare, self.prepare = self.prepare, None
        if prepare is not None:
            prepare()
        return super().parse_known_args(*args, **kwargs)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message}; see {self.prog} --help")


MOST = 100_000
"""The largest number an option takes: with sizes beyond it the numbers of a network overflow."""


def positive(text: str) -> int:
    """A whole number from 1 to `MOST`."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 1 <= number <= MOST:
        raise ArgumentTypeError(f"expected a whole number from 1 to {MOST:,}, got {text!r}")
    return number


def number(text: str) -> float:
    """A number that is finite."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise ArgumentTypeError(f"expected a number, got {text!r}")
    return found


def above_zero(text: str) -> float:
    """A number above 0, and finite."""
    try:
        found = number(text)
    except ArgumentTypeError:
        found = 0.0
    if found <= 0:
        raise ArgumentTypeError(f"expected a number above 0, got {text!r}")
    return found


def image_shape(text: str) -> tuple[int, int, int]:
    """Channels, height and width of an image, written like 3x32x32."""
    sizes = text.lower().split("x")
    if len(sizes) != 3:
        raise ArgumentTypeError(f"expected channels x height x width like 3x32x32, got {text!r}")
    channels, height, width = map(positive, sizes)
    return channels, height, width


def add_words(
    parser: ArgumentParser,
    modules: Mapping[str, ModuleType],
    *,
    title: str,
    word: str,
    to: str,
    parent: str = "",
) -> None:
    """Declare words of which one must follow, each a module that says what it is and does.

    Args:
        parser: What they follow.
        modules: By word, a module with a docstring, `configure(parser)` and `run(args)`.
        title: What the words are called together.
        word: What one of them is called; the arguments have it under this name.
        to: The name under which the arguments have what runs the module.
        parent: Command that they belong to, such as `analyse`; installed packages can add to it.
    """
    words = parser.add_subparsers(
        title=title, dest=word, metavar=word.upper(), required=True, parser_class=Parser
    )
    for name, module in modules.items():
        brief = (module.__doc__ or "").split(".")[0]
        child = words.add_parser(name, help=brief, description=module.__doc__, allow_abbrev=False)
        _configure(child, module, to)
    for name, command in package_commands(parent, modules).items():
        child = words.add_parser(name, help=command.help, allow_abbrev=False)
        child.prepare = lambda child=child, command=command: _configure(child, command.load(), to)


def _configure(parser: ArgumentParser, module: ModuleType, to: str) -> None:
    parser.description = module.__doc__
    module.configure(parser)
    parser.set_defaults(**{to: module.run})


def add_plugins(parser: ArgumentParser) -> None:
    """Declare the option that loads code of one's own."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py",
        help="run a Python file that registers methods, spaces, ops or recipes; may be given several times",
    )


def load_plugins(files: Sequence[str]) -> list[str]:
    """Run the files that were named; returns their full paths."""
    if not files:
        return []
    from dartboard.plugins import load_plugin

    with redirect_stdout(sys.stderr):  # what they print is no part of what the program answers
        return [load_plugin(file) for file in files]
