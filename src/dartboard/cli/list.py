"""List what can be named: methods, spaces, ops, recipes and datasets, each with a line about it."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping

from rich.text import Text

from dartboard.cli.arguments import add_plugins, load_plugins
from dartboard.cli.terminal import Terminal
from dartboard.errors import UnknownNameError

Things = Mapping[str, Callable[..., object]]


def _methods() -> Things:
    from dartboard.search import METHODS

    return METHODS


def _spaces() -> Things:
    from dartboard.space import SPACES

    return SPACES


def _ops() -> Things:
    from dartboard.nn import OPS

    return OPS


def _recipes() -> Things:
    from dartboard.search.recipes import RECIPES

    return RECIPES


def _datasets() -> Things:
    from dartboard.data import DATASETS

    return DATASETS


KINDS = {"methods": _methods, "spaces": _spaces, "ops": _ops, "recipes": _recipes, "datasets": _datasets}


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_plugins(parser)
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"{', '.join(KINDS)} (default: all of them)")


def run(args: Namespace) -> int:
    """Print the names of one kind, or of all."""
    load_plugins(args.plugin)
    if args.kind is not None and args.kind not in KINDS:
        raise UnknownNameError("kind of thing", args.kind, KINDS)
    terminal = Terminal()
    if args.kind is not None:
        terminal.write(_lines(KINDS[args.kind]()))
        return 0
    for place, (kind, things) in enumerate(KINDS.items()):
        terminal.write([*([""] if place else []), Text(kind, "bold"), *_lines(things())])
    return 0


def _lines(things: Things) -> list[Text]:
    width = max(map(len, things)) + 2
    return [Text.assemble((name.ljust(width), "cyan"), _about(thing)) for name, thing in things.items()]


def _about(thing: Callable[..., object]) -> str:
    """The first line of what a thing says about itself."""
    return (thing.__doc__ or "").splitlines()[0].rstrip(".")
