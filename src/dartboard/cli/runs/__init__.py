"""List runs, look into them, compare them, follow them, check them and remove them.

`dartboard runs [DIR]` is short for `dartboard runs list [DIR]`; a directory that is called like an action is
written ./show. Only the files of runs are read; runs that others are writing are not disturbed.
"""

from argparse import ArgumentParser
from collections.abc import Sequence

from dartboard.cli.commands import add_commands, package_commands

ACTIONS = {
    "list": "dartboard.cli.runs.list",
    "show": "dartboard.cli.runs.show",
    "compare": "dartboard.cli.runs.compare",
    "tail": "dartboard.cli.runs.tail",
    "check": "dartboard.cli.runs.check",
    "rm": "dartboard.cli.runs.rm",
}
"""The module of each action."""


def complete(words: Sequence[str]) -> list[str]:
    """The words after `runs`, with the action `list` where they name none."""
    named = bool(words) and words[0] in ("-h", "--help", *ACTIONS, *package_commands("runs", ACTIONS))
    return [*words] if named else ["list", *words]


def configure(parser: ArgumentParser) -> None:
    """Declare the actions."""
    add_commands(parser, ACTIONS, title="actions", name="action", parent="runs")
