"""List runs, look into them, compare them, follow them and remove them.

`dartboard runs [DIR]` is short for `dartboard runs list [DIR]`; a directory that is called like an action is
written ./show. Only the files of runs are read; runs that others are writing are not disturbed.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from types import ModuleType

from dartboard.cli.arguments import add_words
from dartboard.cli.packages import package_commands
from dartboard.cli.runs import compare, listed, remove, show, tail

ACTIONS: dict[str, ModuleType] = {
    "list": listed,
    "show": show,
    "compare": compare,
    "tail": tail,
    "rm": remove,
}
"""Each action is a module with a docstring, `configure(parser)` and `run(args)`."""
HELP = ("-h", "--help")


def complete(words: Sequence[str]) -> list[str]:
    """The words after the verb, with the action `list` where they name none."""
    names = {*ACTIONS, *HELP, *package_commands("runs", ACTIONS)}
    named = bool(words) and words[0] in names
    return [*words] if named else ["list", *words]


def configure(parser: ArgumentParser) -> None:
    """Declare the actions and their arguments."""
    add_words(parser, ACTIONS, title="actions", word="action", to="work", parent="runs")


def run(args: Namespace) -> int:
    """Do what was named."""
    code: int = args.work(args)
    return code
