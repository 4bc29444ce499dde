"""List what can be named: methods, spaces, ops, recipes, datasets, formats and settings.

With a NAME, what a method is and its options, or the settings of a group: `list methods gdas`,
`list settings weights`, `list train-settings net`.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import Parameter, getdoc, signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from rich.text import Text

from dartboard.cli.arguments import UsageError, add_plugins, load_plugins
from dartboard.cli.render import Terminal, align_columns
from dartboard.errors import UnknownNameError

Rows = list[tuple[str, ...]]
"""Names, each with its description and other columns."""
TYPE_NAMES = {NoneType: "null", bool: "bool", int: "int", float: "float", str: "text"}
"""Names of types; `null` is how YAML writes None."""


@dataclass(frozen=True)
class SettingRow:
    """A setting, or an option of a method.

    Args:
        key: The key before the `=`.
        kind: The type of its values.
        default: Its default, as it would be typed.
        about: What it is; empty where the key says it.
    """

    key: str
    kind: str
    default: str
    about: str = ""


def _registry_rows(module: str, name: str) -> Rows:
    """Names in a registry with the first lines of their docstrings."""
    registry = getattr(import_module(module), name)
    return [(name, (entry.__doc__ or "").splitlines()[0].rstrip(".")) for name, entry in registry.items()]


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


def _search_setting_rows() -> Rows:
    from dartboard.search.config import SearchConfig

    return _as_rows(setting_rows(SearchConfig))


def _train_setting_rows() -> Rows:
    from dartboard.train.config import TrainConfig

    return _as_rows(setting_rows(TrainConfig))


def _protocol_setting_rows() -> Rows:
    from dartboard.sweep.protocol import ProtocolConfig

    inner = [("search.KEY", "", "", "a setting of searches"), ("train.KEY", "", "", "a setting of trainings")]
    return [*_as_rows(row for row in setting_rows(ProtocolConfig) if "." not in row.key), *inner]


KINDS: dict[str, Callable[[], Rows]] = {
    "methods": partial(_registry_rows, "dartboard.search", "METHODS"),
    "spaces": partial(_registry_rows, "dartboard.space", "SPACES"),
    "ops": partial(_registry_rows, "dartboard.nn", "OPS"),
    "recipes": _recipe_rows,
    "oracles": partial(_registry_rows, "dartboard.tables", "TABLES"),
    "datasets": _dataset_rows,
    "formats": _format_rows,
    "settings": _search_setting_rows,
    "train-settings": _train_setting_rows,
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
    terminal = Terminal()
    if args.name is not None and args.kind not in DETAILED:
        kinds = ", ".join(DETAILED)
        raise UsageError(f"{kinds} are listed by name, {args.kind} are not; leave out {args.name!r}")
    if args.name is not None and args.kind == "methods":
        terminal.write(_method_lines(args.name))
    elif args.name is not None:
        terminal.write(_setting_lines(KINDS[args.kind](), args.name))
    elif args.kind is not None:
        terminal.write(_table(KINDS[args.kind]()))
    else:
        for number, (kind, rows) in enumerate(KINDS.items()):
            terminal.write([*([""] if number else []), Text(kind, "bold"), *_table(rows())])
    return 0


def _method_lines(name: str) -> list[Text | str]:
    """The docstring of a method, and its options."""
    from dartboard.search import METHODS

    about = (getdoc(METHODS[name]) or "").splitlines()
    options = _table(_as_rows(method_rows(name))) or [Text("no options")]
    return [Text(name, "bold"), *about, "", *options]


def _setting_lines(rows: Rows, name: str) -> list[Text]:
    """The setting of a name, or those of a group."""
    chosen = [row for row in rows if row[0] == name or row[0].startswith(f"{name}.")]
    if not chosen:
        groups = {key.rpartition(".")[0] for key, *_ in rows} - {""}
        raise UnknownNameError("setting", name, {key for key, *_ in rows} | groups)
    return _table(chosen)


def _as_rows(settings: Iterable[SettingRow]) -> Rows:
    return [(row.key, row.default, row.kind, row.about) for row in settings]


def _table(rows: Rows) -> list[Text]:
    """Rows with aligned columns, the names in color."""
    lines = []
    for name, *cells in align_columns(rows, len(rows[0]) if rows else 0):
        line = Text.assemble((f"{name}  ", "cyan"), "  ".join(cells))
        line.rstrip()
        lines.append(line)
    return lines


def method_rows(name: str) -> list[SettingRow]:
    """The options of a method, from its signature.

    Raises:
        UnknownNameError: If there is no such method.
    """
    from dartboard.search import METHODS

    return [
        SettingRow(f"method.{option.name}", type_name(option.annotation), format_default(option.default))
        for option in signature(METHODS[name], eval_str=True).parameters.values()
    ]


def setting_rows(model: type[BaseModel]) -> list[SettingRow]:
    """All settings of a configuration, those that name something first."""
    from dartboard.config.loader import NAMED

    def position(row: SettingRow) -> tuple[int, bool]:
        group, _, name = row.key.partition(".")
        return NAMED.index(group) if group in NAMED else len(NAMED), group in NAMED and name != "name"

    return sorted(_field_rows(model), key=position)


def _field_rows(model: type[BaseModel], prefix: str = "") -> Iterator[SettingRow]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _field_rows(kind, f"{prefix}{name}.")
        elif len(get_args(kind)) != 1 or get_origin(kind) is not Literal:  # else there is nothing to set
            default = format_default(field.get_default(call_default_factory=True))
            yield SettingRow(prefix + name, type_name(kind), default, field.description or "")
    if model.model_config.get("extra") == "allow":
        about = "an option of the method; see dartboard list methods NAME"
        yield SettingRow(f"{prefix}OPTION", "", "", about)


def type_name(kind: Any) -> str:
    """The name of a type for people; the values of a Literal, the members of a Union with bars between."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return type_name(inner[0])
    if origin is Literal:
        return " | ".join(map(str, inner))
    if origin in (Union, UnionType):
        return " | ".join(map(type_name, inner))
    if origin in (tuple, list):
        return f"list of {type_name(inner[0])}s"
    return TYPE_NAMES.get(kind, "function" if callable(kind) and origin else "value")


def format_default(value: object) -> str:
    """A default as it would be typed."""
    if value is Parameter.empty or value is PydanticUndefined:
        return "required"
    return value if isinstance(value, str) else json.dumps(value, default=str)
