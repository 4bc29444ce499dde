"""List what can be named: methods, spaces, ops, recipes, datasets, formats and settings.

With a NAME, what a method is and its options, or the settings of a group: `list methods gdas`,
`list settings weights`, `list train-settings net`.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import getdoc
from textwrap import wrap

from rich.text import Text

from dartboard.cli.arguments import UsageError, add_plugins, load_plugins
from dartboard.cli.render import GAP, Terminal, align_columns, print_json
from dartboard.errors import UnknownNameError

Rows = Sequence[Mapping[str, str | bool]]
"""Names, each with its description and other columns, by the keys of `--json`."""
MIN_ABOUT, NARROW_INDENT = 24, 4
"""Characters that the last column needs beside the others, and how far it stands below them if it has not."""


def _registry_rows(module: str, name: str, **columns: str) -> Rows:
    """Names in a registry with the first lines of their docstrings; `columns` stand in between."""
    registry = getattr(import_module(module), name)
    return [
        {"name": name, **columns, "about": (entry.__doc__ or "").partition("\n")[0].rstrip(".")}
        for name, entry in registry.items()
    ]


def _setting_rows(module: str, name: str) -> Rows:
    """The settings of a configuration."""
    from dartboard.config.schema import setting_rows

    return [_setting(*row) for row in setting_rows(getattr(import_module(module), name))]


def _setting(key: str, default: str, kind: str, about: str) -> Mapping[str, str]:
    return {"name": key, "default": default, "type": kind, "about": about}


def _recipe_rows() -> Rows:
    both = {"search": "dartboard.search.recipes", "train": "dartboard.train"}
    return [row for kind, module in both.items() for row in _registry_rows(module, "RECIPES", kind=kind)]


def _dataset_rows() -> Rows:
    from dartboard.data import published_datasets

    missing = {name for name, dataset in published_datasets().items() if dataset.locate_complete() is None}
    return [
        {"name": row["name"], "present": row["name"] not in missing, "about": row["about"]}
        for row in _registry_rows("dartboard.data", "DATASETS")
    ]


def _format_rows() -> Rows:
    from dartboard.export import FORMATS

    return [
        {"name": name, "suffix": form.suffix, "about": form.description} for name, form in FORMATS.items()
    ]


def _protocol_setting_rows() -> Rows:
    rows = _setting_rows("dartboard.sweep.protocol", "ProtocolConfig")
    about = {"search.KEY": "a setting of searches", "train.KEY": "a setting of trainings"}
    inner = [_setting(key, "", "", text) for key, text in about.items()]
    return [*(row for row in rows if "." not in str(row["name"])), *inner]


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
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print the names of one kind or of all, or the details of one name."""
    load_plugins(args.plugin)
    if args.kind is not None and args.kind not in KINDS:
        raise UnknownNameError("kind of thing", args.kind, KINDS)
    if args.name is not None and args.kind not in DETAILED:
        kinds = ", ".join(DETAILED)
        raise UsageError(f"{kinds} are listed by name, {args.kind} are not; leave out {args.name!r}")
    terminal = Terminal()
    if args.name is not None and args.kind == "methods":
        _print_method(args.name, terminal, as_json=args.json)
        return 0
    chosen = KINDS if args.kind is None else {args.kind: KINDS[args.kind]}
    rows = {kind: make_rows() for kind, make_rows in chosen.items()}
    if args.name is not None:
        rows = {args.kind: _chosen(rows[args.kind], args.name)}
    if args.json:
        print_json(rows)
        return 0
    for number, (kind, of_kind) in enumerate(rows.items()):
        if args.kind is None:
            terminal.write([*([""] if number else []), Text(kind, "bold")])
        terminal.write(_table(of_kind, terminal.table_width))
    return 0


def _print_method(name: str, terminal: Terminal, *, as_json: bool) -> None:
    """Print the docstring and the options of a method."""
    from dartboard.config.schema import option_rows
    from dartboard.search import METHODS

    about = getdoc(METHODS[name]) or ""
    options = [_setting(*row) for row in option_rows(METHODS[name], "method.")]
    if as_json:
        print_json({"methods": [{"name": name, "about": about, "options": options}]})
        return
    lines = _table(options, terminal.table_width) or [Text("no options")]
    terminal.write([Text(name, "bold"), *about.splitlines(), "", *lines])


def _chosen(rows: Rows, name: str) -> Rows:
    """The setting of this name, or those of a group.

    Raises:
        UnknownNameError: If there is none.
    """
    keys = [str(row["name"]) for row in rows]
    chosen = [row for row, key in zip(rows, keys, strict=True) if f"{key}.".startswith(f"{name}.")]
    if not chosen:
        groups = {key.rpartition(".")[0] for key in keys} - {""}
        raise UnknownNameError("setting", name, {*keys} | groups)
    return chosen


def _table(rows: Rows, width: int) -> list[Text]:
    """Rows with aligned columns, the names in color, in lines of at most `width` characters.

    The last column is wrapped; on a narrow terminal all others but the name stand above it, without columns.
    """
    if not rows:
        return []
    cells = [[_word(value) for value in row.values()] for row in rows]
    heads = list(align_columns([row[:-1] for row in cells], len(cells[0]) - 1))
    indent = sum(len(cell) + GAP for cell in heads[0])
    narrow = width - indent < MIN_ABOUT
    lines = []
    for row, (name, *middle) in zip(cells, heads, strict=True):
        first = "".join(f"{cell}  " for cell in middle)
        others = wrap(row[-1], width - indent) if not narrow else []
        if narrow:
            first, others = "", wrap("  ".join(filter(None, row[1:])), max(width - NARROW_INDENT, MIN_ABOUT))
        elif others:
            first += others.pop(0)
        line = Text.assemble((f"{name}  ", "cyan"), first)
        line.rstrip()
        lines += [line, *(Text(" " * (NARROW_INDENT if narrow else indent) + other) for other in others)]
    return lines


def _word(value: str | bool) -> str:
    if isinstance(value, str):
        return value
    return "is there" if value else "is not there"
