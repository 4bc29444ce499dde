"""The commands of the program, and the parser of the command line."""

import ast
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tokenize import STRING, generate_tokens
from types import ModuleType
from typing import Any, NoReturn

from dartboard import __version__
from dartboard.cli.arguments import UsageError
from dartboard.cli.packages import package_commands
from dartboard.errors import UnknownNameError

COMMANDS = {
    "search": "dartboard.cli.search",
    "train": "dartboard.cli.train",
    "protocol": "dartboard.cli.protocol",
    "bench": "dartboard.cli.bench",
    "sweep": "dartboard.cli.sweep",
    "runs": "dartboard.cli.runs",
    "report": "dartboard.cli.report",
    "evaluate": "dartboard.cli.evaluate",
    "export": "dartboard.cli.export",
    "analyse": "dartboard.cli.analyse",
    "info": "dartboard.cli.info",
    "oracle": "dartboard.cli.oracle",
    "list": "dartboard.cli.list",
    "data": "dartboard.cli.data",
    "demo": "dartboard.cli.demo",
}
"""The module of each command, which is imported when the command is used."""


class CommandParser(ArgumentParser):
    """A parser that raises UsageError, and that imports the module of its command when it is used.

    The module has a docstring, `configure(parser)`, and `run(args)` unless it has commands of its own; with
    `complete(words)` it can replace what stands after the command before that is parsed.

    Args:
        load: Imports the module; None for a parser whose arguments are declared by its maker.
    """

    def __init__(
        self, prog: str | None = None, *, load: Callable[[], ModuleType] | None = None, **options: Any
    ) -> None:
        options.setdefault("allow_abbrev", False)
        super().__init__(prog, **options)
        self._load = load

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse what stands after the command."""
        load, self._load = self._load, None
        if load is not None:
            module = load()
            self.description = module.__doc__
            module.configure(self)
            if hasattr(module, "run"):
                self.set_defaults(run=module.run)
            if hasattr(module, "complete"):
                args = module.complete(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message}; see {self.prog} --help")


def add_commands(
    parser: ArgumentParser, modules: Mapping[str, str], *, title: str, name: str, parent: str = ""
) -> None:
    """Declare commands of which one must follow.

    Args:
        parser: The parser of what stands before them.
        modules: The module of each command.
        title: What they are called in the help.
        name: What one of them is called; the parsed arguments have the chosen command under this name.
        parent: The command that they belong to, such as `analyse`; installed packages can add to it.
    """
    commands = parser.add_subparsers(
        title=title, dest=name, metavar=name.upper(), required=True, parser_class=CommandParser
    )
    for command, module in modules.items():
        commands.add_parser(command, help=summary(module), load=partial(import_module, module))
    for command, added in package_commands(parent, modules).items():
        commands.add_parser(command, help=added.help, load=added.load)


def summary(module: str) -> str:
    """The first sentence of a module's docstring, read without importing the module."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module {module}")
    with Path(spec.origin).open(encoding="utf-8") as source:
        first = next(generate_tokens(source.readline))
    return str(ast.literal_eval(first.string)).split(".")[0] if first.type == STRING else ""


def make_parser() -> CommandParser:
    """The parser of the command line."""
    parser = CommandParser("dartboard", description="Differentiable neural architecture search.")
    parser.add_argument("--version", action="version", version=f"dartboard {__version__}")
    add_commands(parser, COMMANDS, title="commands", name="command")
    return parser


def run(argv: Sequence[str]) -> int:
    """Run a command line and return the exit code of its command.

    Raises:
        DartboardError: If there is no such command, or it fails.
    """
    command = next((word for word in argv if not word.startswith("-")), None)
    known = [*COMMANDS, *package_commands("", COMMANDS)]
    if command is not None and command not in known:
        raise UnknownNameError("command", command, known)
    try:
        args = parse(argv)
        args.words = list(argv)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    code: int = args.run(args)
    return code


def parse(argv: Sequence[str]) -> Namespace:
    """The parsed arguments; overrides such as weights.lr=0.05 may stand anywhere among the flags.

    Raises:
        UsageError: If there are arguments that the command does not take.
    """
    parser = make_parser()
    args: Namespace
    args, rest = parser.parse_known_args(argv)
    takes_overrides = "overrides" in args
    if unknown := [word for word in rest if word.startswith("-") or not takes_overrides]:
        hint = "; settings without a flag are written like weights.lr=0.05" if takes_overrides else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if rest:
        args.overrides += rest
    return args
