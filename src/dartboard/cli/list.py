"""List what can be named: methods, spaces, ops, recipes, datasets, formats and settings.

With a NAME, what a method is and its options, or the settings of a group: `list methods gdas`,
`list settings weights`, `list train-settings net`.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from inspect import getdoc

from rich.text import Text

from dartboard.cli.arguments import UsageError, add_plugins, load_plugins
from dartboard.cli.render import Terminal, align_columns
from dartboard.errors import UnknownNameError

Rows = Sequence[tuple[str, ...]]
"""Names, each with its description and other columns."""


def _registry_rows(module: str, name: str) -> list[tuple[str, str]]:
    """Names in a registry with the first lines of their docstrings."""
    registry = getattr(import_module(module), name)
    return [(name, (entry.__doc__ or "").splitlines()[0].rstrip(".")) for name, entry in registry.items()]


def _setting_rows(module: str, name: str) -> Rows:
    """The settings of a configuration."""
    from dartboard.config.schema import setting_rows

    return setting_rows(getattr(import_module(module), name))


def _recipe_rows() -> Rows:
    both = {"search": "dartboard.search.recipes", "train": "dartboard.train"}
    return [
        (name, kind, about)
        for kind, module in both.items()
        for name, about in _registry_rows(module, "RECIPES")
    ]


def _dataset_rows() -> Rows:
    from dartboard.data import published_datasets

    missing = {name for name, dataset in published_datasets().items() if dataset.locate_complete() is None}
    return [
        (name, "is not there" if name in missing else "is there", about)
        for name, about in _registry_rows("dartboard.data", "DATASETS")
    ]


def _format_rows() -> Rows:
    from dartboard.export import FORMATS

    return [(name, form.suffix, form.description) for name, form in FORMATS.items()]


def _protocol_setting_rows() -> Rows:
    rows = _setting_rows("dartboard.sweep.protocol", "ProtocolConfig")
    inner = [("search.KEY", "", "", "a setting of searches"), ("train.KEY", "", "", "a setting of trainings")]
    return [*(row for row in rows if "." not in row[0]), *inner]


KINDS: dict[str, Callable[[], Rows]] = {
    "methods": partial(_registry_rows, "dartboard.search", "METHODS"),
    "spaces": partial(_registry_rows, "dartboard.space", "SPACES"),
    "ops": partial(_registry_rows, "dartboard.nn", "OPS"),
    "recipes": _recipe_rows,
    "oracles": partial(_registry_rows, "dartboard.tables", "TABLES"),
    "datasets": _dataset_rows,
    "formats": _format_rows,
    "settings": partial(_setting_rows, "dartboard.search.config", "SearchConfig"),
    "train-settings": partial(_setting_rows, "dartboard.train.config", "TrainConfig"),
    "protocol-settings": _protocol_setting_rows,
}
DETAILED = ("methods", "settings", "train-settings")
"""Kinds of which single names can be shown."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_plugins(parser)
    parser.add_argument("kind", nargs="?", metavar="KIND", help=f"{', '.join(KINDS)} (default: all of them)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a method, or a setting or group of settings")


def run(args: Namespace) -> int:
    """Print the names of one kind or of all, or the details of one name."""
    load_plugins(args.plugin)
    if args.kind is not None and args.kind not in KINDS:
        raise UnknownNameError("kind of thing", args.kind, KINDS)
    if args.name is not None and args.kind not in DETAILED:
        kinds = ", ".join(DETAILED)
        raise UsageError(f"{kinds} are listed by name, {args.kind} are not; leave out {args.name!r}")
    terminal = Terminal()
    if args.name is not None:
        terminal.write(_details(args.kind, args.name))
    elif args.kind is not None:
        terminal.write(_table(KINDS[args.kind]()))
    else:
        for number, (kind, rows) in enumerate(KINDS.items()):
            terminal.write([*([""] if number else []), Text(kind, "bold"), *_table(rows())])
    return 0


def _details(kind: str, name: str) -> Sequence[Text | str]:
    """The docstring and the options of a method; else a setting, or those of a group."""
    if kind == "methods":
        from dartboard.config.schema import option_rows
        from dartboard.search import METHODS

        about = (getdoc(METHODS[name]) or "").splitlines()
        options = _table(option_rows(METHODS[name], "method.")) or [Text("no options")]
        return [Text(name, "bold"), *about, "", *options]
    rows = KINDS[kind]()
    chosen = [row for row in rows if row[0] == name or row[0].startswith(f"{name}.")]
    if not chosen:
        groups = {key.rpartition(".")[0] for key, *_ in rows} - {""}
        raise UnknownNameError("setting", name, {key for key, *_ in rows} | groups)
    return _table(chosen)


def _table(rows: Rows) -> list[Text]:
    """Rows with aligned columns, the names in color."""
    lines = []
    for name, *cells in align_columns(rows, len(rows[0]) if rows else 0):
        line = Text.assemble((f"{name}  ", "cyan"), "  ".join(cells))
        line.rstrip()
        lines.append(line)
    return lines
