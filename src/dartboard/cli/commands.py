"""The commands of the program and of installed packages, and the parser of the command line.

A package adds a command with an entry point of the group `dartboard.commands`, which has the name of its
command: `reproduce` or, below a command of dartboard, `analyse.theory`. It names a module with a docstring
(the help text), `configure(parser)` and `run(args)`. The module is imported when the command is used; before
that only the package's metadata is read.
"""

import ast
from argparse import Action, ArgumentParser, Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from tokenize import STRING, generate_tokens
from types import ModuleType
from typing import Any, NoReturn

from dartboard import __version__
from dartboard.cli.arguments import UsageError
from dartboard.cli.exit_codes import EXIT_CODES
from dartboard.errors import OptionError, UnknownNameError
from dartboard.plugins import entry_points, load_entry_point, package_of, warn_once

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
    "check": "dartboard.cli.check",
    "demo": "dartboard.cli.demo",
    "completion": "dartboard.cli.completion",
}
"""The module of each command, which is imported when the command is used."""
HELP_GROUPS = {
    "search and train": ("demo", "search", "train", "protocol"),
    "many runs": ("sweep", "bench", "reproduce"),
    "look at runs": ("runs", "report", "analyse"),
    "use networks": ("evaluate", "export"),
    "look things up": ("list", "info", "oracle", "data"),
}
"""Commands that stand together in the help; all others stand below them."""
OTHERS = "more"
GROUP = "dartboard.commands"
PARENTS = ("", "analyse", "runs")
"""Commands that packages can add to; the empty name is the program itself."""
KNOWN = {
    "reproduce": ("dartboard-papers", "Redo figures and tables of the papers"),
    "analyse.theory": ("dartboard-papers", "Measure what the papers' theorems speak of, beside their bounds"),
}
"""Commands that packages of this repository provide: the package, and what the command does."""


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

    def load(self) -> ModuleType | None:
        """Import the module of the command and declare its arguments; None if that is done already."""
        load, self._load = self._load, None
        if load is None:
            return None
        module = load()
        self.description = module.__doc__
        module.configure(self)
        if hasattr(module, "run"):
            self.set_defaults(run=module.run)
        return module

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse what stands after the command."""
        module = self.load()
        if module is not None and hasattr(module, "complete"):
            args = module.complete(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message}; see {self.prog} --help")


class GroupedHelp(RawDescriptionHelpFormatter):
    """Help in which the commands stand in `HELP_GROUPS`."""

    def _format_action(self, action: Action) -> str:
        if not isinstance(action, _SubParsersAction):
            return super()._format_action(action)
        commands = {command.dest: command for command in action._get_subactions()}
        grouped = [name for names in HELP_GROUPS.values() for name in names]
        groups = HELP_GROUPS | {OTHERS: [name for name in commands if name not in grouped]}
        self._action_max_length += self._indent_increment  # commands stand below titles
        parts = []
        for title, names in groups.items():
            parts.append(f"{'':{self._current_indent}}{title}:\n")
            self._indent()
            parts += [self._format_action(commands[name]) for name in names if name in commands]
            self._dedent()
        return "".join(parts)


@dataclass(frozen=True)
class PackageCommand:
    """A command that an installed package provides, or would provide if it were installed.

    Args:
        name: Its name with that of its parent, such as `analyse.theory`.
        entry: Where it is; None if the package is not installed.
    """

    name: str
    entry: EntryPoint | None

    @property
    def help(self) -> str:
        """One line for the list of commands."""
        if self.entry is None:
            package, about = KNOWN[self.name]
            return f"{about} (not installed; pip install {package})"
        dist = self.entry.dist
        summary = None if dist is None else dist.metadata["Summary"]
        about = KNOWN[self.name][1] if self.name in KNOWN else summary or "command"
        return f"{about} ({package_of(self.entry)})".replace("%", "%%")

    def load(self) -> ModuleType:
        """The module of the command.

        Raises:
            OptionError: If the package is not installed, or fails to load.
        """
        if self.entry is None:
            package, _ = KNOWN[self.name]
            words = self.name.replace(".", " ")
            raise OptionError(
                f"{words} is a command of the package {package}, which is not installed; "
                f"pip install {package} (in a source tree: pip install ./papers)"
            )
        module: ModuleType = load_entry_point(self.entry)
        if not callable(getattr(module, "configure", None)) or not callable(getattr(module, "run", None)):
            fault = f"{self.entry.value} is not a command; it needs configure(parser) and run(args)"
            raise OptionError(f"{package_of(self.entry)}: {fault}")
        return module


def package_commands(parent: str, builtin: Collection[str]) -> dict[str, PackageCommand]:
    """The commands that packages add to `parent`, by the word that is typed; names in `builtin` are taken."""
    commands = {}
    for name, entry in entry_points(GROUP).items():
        group, _, word = name.rpartition(".")
        ignored = f"{package_of(entry)}: command {name!r} is ignored: "
        if group not in PARENTS:
            warn_once(f"{ignored}commands cannot be added to {group!r}")
        elif group == parent and word in builtin:
            warn_once(f"{ignored}dartboard has a command of that name")
        elif group == parent:
            commands[word] = PackageCommand(name, entry)
    for name in KNOWN:
        group, _, word = name.rpartition(".")
        if group == parent and word not in builtin:
            commands.setdefault(word, PackageCommand(name, None))
    return commands


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


def make_parser() -> CommandParser:
    """The parser of the whole command line; modules of commands are imported when they are parsed."""
    codes = "\n".join(f"  {code:<5}{meaning}" for code, meaning in EXIT_CODES.items())
    parser = CommandParser(
        "dartboard",
        description="Differentiable neural architecture search.",
        epilog=f"exit codes:\n{codes}\n\nEvery command says with --help what it does.",
        formatter_class=GroupedHelp,
    )
    parser.add_argument("--version", action="version", version=f"dartboard {__version__}")
    add_commands(parser, COMMANDS, title="commands", name="command")
    return parser


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
