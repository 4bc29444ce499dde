"""List what can be named: methods, spaces, ops, recipes, datasets, formats and settings.

With a NAME, what a method is and its options, or the settings of a group: `list methods gdas`,
`list settings weights`, `list train-settings net`.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from inspect import getdoc
from typing import TYPE_CHECKING

from rich.text import Text

from dartboard.cli.arguments import UsageError, add_plugins, load_plugins
from dartboard.cli.terminal import Terminal
from dartboard.errors import UnknownNameError

if TYPE_CHECKING:
    from dartboard.cli.options import Entry

Rows = list[tuple[str, ...]]
"""Names, each with what stands beside it."""


def _methods() -> Rows:
    from dartboard.search import METHODS

    return _rows(METHODS)


def _spaces() -> Rows:
    from dartboard.space import SPACES

    return _rows(SPACES)


def _ops() -> Rows:
    from dartboard.nn import OPS

    return _rows(OPS)


def _recipes() -> Rows:
    from dartboard import train
    from dartboard.search.recipes import RECIPES

    both = {"search": RECIPES, "train": train.RECIPES}
    return [(name, verb, about) for verb, recipes in both.items() for name, about in _rows(recipes)]


def _datasets() -> Rows:
    from dartboard.data import DATASETS
    from dartboard.data.datasets.obtain import is_complete
    from dartboard.data.datasets.official import OFFICIAL

    there = {name for name in DATASETS if name not in OFFICIAL or is_complete(name) is not None}
    return [(name, "is there" if name in there else "is not there", about) for name, about in _rows(DATASETS)]


def _formats() -> Rows:
    from dartboard.export import FORMATS

    return [(name, form.suffix, form.brief) for name, form in FORMATS.items()]


def _settings() -> Rows:
    from dartboard.cli.options import setting_entries
    from dartboard.search.config import SearchConfig

    return _entry_rows(setting_entries(SearchConfig))


def _train_settings() -> Rows:
    from dartboard.cli.options import setting_entries
    from dartboard.train.config import TrainConfig

    return _entry_rows(setting_entries(TrainConfig))


def _protocol_settings() -> Rows:
    from dartboard.cli.options import setting_entries
    from dartboard.sweep.protocol import ProtocolConfig

    own = [entry for entry in setting_entries(ProtocolConfig) if "." not in entry.key]
    inner = [("search.KEY", "", "", "a setting of searches"), ("train.KEY", "", "", "a setting of trainings")]
    return [*_entry_rows(own), *inner]


def _oracles() -> Rows:
    from dartboard.tables import TABLES

    return _rows(TABLES)


KINDS: dict[str, Callable[[], Rows]] = {
    "methods": _methods,
    "spaces": _spaces,
    "ops": _ops,
    "recipes": _recipes,
    "oracles": _oracles,
    "datasets": _datasets,
    "formats": _formats,
    "settings": _settings,
    "train-settings": _train_settings,
    "protocol-settings": _protocol_settings,
}


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_plugins(parser)
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"{', '.join(KINDS)} (default: all of them)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a method, or a setting or group of settings")


def run(args: Namespace) -> int:
    """Print the names of one kind or of all, or what there is to say about one name."""
    load_plugins(args.plugin)
    if args.kind is not None and args.kind not in KINDS:
        raise UnknownNameError("kind of thing", args.kind, KINDS)
    terminal = Terminal()
    if args.name is not None:
        terminal.write(_detail(args.kind, args.name))
    elif args.kind is not None:
        terminal.write(_table(KINDS[args.kind]()))
    else:
        for place, (kind, rows) in enumerate(KINDS.items()):
            terminal.write([*([""] if place else []), Text(kind, "bold"), *_table(rows())])
    return 0


def _detail(kind: str, name: str) -> Iterable[Text | str]:
    if kind not in DETAILS:
        raise UsageError(f"{', '.join(DETAILS)} are listed by name, {kind} are not; leave out {name!r}")
    return DETAILS[kind](name)


def _method(name: str) -> list[Text | str]:
    """What a method says about itself, and its options."""
    from dartboard.cli.options import method_entries
    from dartboard.search import METHODS

    about = (getdoc(METHODS[name]) or "").splitlines()
    options = _table(_entry_rows(method_entries(name))) or [Text("no options")]
    return [Text(name, "bold"), *about, "", *options]


def _group(rows: Rows, name: str) -> list[Text]:
    """The setting of a name, or those of a group."""
    found = [row for row in rows if row[0] == name or row[0].startswith(f"{name}.")]
    if not found:
        groups = {key.rpartition(".")[0] for key, *_ in rows} - {""}
        raise UnknownNameError("setting", name, {key for key, *_ in rows} | groups)
    return _table(found)


DETAILS: dict[str, Callable[[str], Iterable[Text | str]]] = {
    "methods": _method,
    "settings": lambda name: _group(_settings(), name),
    "train-settings": lambda name: _group(_train_settings(), name),
}


def _rows(things: Mapping[str, Callable[..., object]]) -> Rows:
    return [(name, _about(thing)) for name, thing in things.items()]


def _about(thing: Callable[..., object]) -> str:
    """The first line of what a thing says about itself."""
    return (thing.__doc__ or "").splitlines()[0].rstrip(".")


def _entry_rows(entries: Iterable["Entry"]) -> Rows:
    return [(own.key, own.default, own.kind, own.about) for own in entries]


def _table(rows: Rows) -> list[Text]:
    """Rows with their columns below each other, the names in colour."""
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    lines = []
    for name, *rest in rows:
        cells = [cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        line = Text.assemble((name.ljust(widths[0]), "cyan"), *cells)
        line.rstrip()
        lines.append(line)
    return lines
