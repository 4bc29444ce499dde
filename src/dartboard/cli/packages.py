"""Commands of installed packages, found by their entry points.

An entry point of the group `dartboard.commands` has the name of its command: `reproduce` or, below a command
of dartboard, `analyse.theory`. It names a module with a docstring (the help text), `configure(parser)` and
`run(args)`. The module is imported when the command is used; before that only the package's metadata is read.
"""

from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from types import ModuleType

from dartboard.errors import OptionError
from dartboard.plugins import entry_points, load_entry_point, package_of, warn_once

GROUP = "dartboard.commands"
PARENTS = ("", "analyse", "runs")
"""Commands that packages can add to; the empty name is the program itself."""
KNOWN = {
    "reproduce": ("dartboard-papers", "Redo figures and tables of the papers"),
    "analyse.theory": ("dartboard-papers", "Measure what the papers' theorems speak of, beside their bounds"),
}
"""Commands that packages of this repository provide: the package, and what the command does."""


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
            fault = f"{self.entry.value} is no command; it needs configure(parser) and run(args)"
            raise OptionError(f"{package_of(self.entry)}: {fault}")
        return module


def package_commands(parent: str, builtin: Collection[str]) -> dict[str, PackageCommand]:
    """The commands that packages add to a command of dartboard, by the word that is typed.

    Args:
        parent: The command that they belong to, one of `PARENTS`.
        builtin: Names that are taken there.
    """
    commands = {}
    for name, entry in entry_points(GROUP).items():
        group, _, word = name.rpartition(".")
        if group not in PARENTS:
            warn_once(
                f"{package_of(entry)}: command {name!r} is ignored: commands cannot be added to {group!r}"
            )
        elif group == parent and word in builtin:
            warn_once(
                f"{package_of(entry)}: command {name!r} is ignored: dartboard has a command of that name"
            )
        elif group == parent:
            commands[word] = PackageCommand(name, entry)
    for name in KNOWN:
        group, _, word = name.rpartition(".")
        if group == parent and word not in builtin:
            commands.setdefault(word, PackageCommand(name, None))
    return commands
