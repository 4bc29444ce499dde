"""List what can be named: methods, spaces, ops, recipes, datasets, formats and settings.

With a NAME, what a method is and its options, or the settings of a group: `list methods gdas`,
`list settings weights`, `list train-settings net`.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from rich.text import Text

from dartboard.cli.arguments import UsageError, add_plugins, load_plugins
from dartboard.cli.render import Terminal
from dartboard.errors import UnknownNameError

if TYPE_CHECKING:
    pass


WORDS = {NoneType: "null", bool: "bool", int: "int", float: "float", str: "text"}
"""What kinds of values are called; `null` is how YAML writes none."""


@dataclass(frozen=True)
class SettingRow:
    """Something that can be set.

    Args:
        key: What stands before the `=`.
        kind: The kind of its values, in words.
        default: Its default, as it would be typed.
        about: What it is; empty where the name says it.
    """

    key: str
    kind: str
    default: str
    about: str = ""


def method_entries(name: str) -> list[SettingRow]:
    """The options of a method, from its signature.

    Raises:
        UnknownNameError: If there is no such method.
    """
    from dartboard.search import METHODS

    taken = signature(METHODS[name], eval_str=True).parameters.values()
    return [SettingRow(f"method.{own.name}", words_of(own.annotation), typed(own.default)) for own in taken]


def setting_entries(model: type[BaseModel]) -> list[SettingRow]:
    """All settings of a configuration, those that name something first."""
    from dartboard.config.loader import NAMED

    def place(entry: SettingRow) -> tuple[int, bool]:
        group, _, name = entry.key.partition(".")
        return NAMED.index(group) if group in NAMED else len(NAMED), group in NAMED and name != "name"

    return sorted(_entries(model), key=place)


def _entries(model: type[BaseModel], prefix: str = "") -> Iterator[SettingRow]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _entries(kind, f"{prefix}{name}.")
        elif len(get_args(kind)) != 1 or get_origin(kind) is not Literal:  # else there is nothing to set
            default = field.get_default(call_default_factory=True)
            yield SettingRow(prefix + name, words_of(kind), typed(default), field.description or "")
    if model.model_config.get("extra") == "allow":
        yield SettingRow(
            f"{prefix}OPTION", "", "", "an option of the method; see dartboard list methods NAME"
        )


def words_of(kind: Any) -> str:
    """The kind of a value: a word, the values themselves where they are few, several with bars between."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return words_of(inner[0])
    if origin is Literal:
        return " | ".join(map(str, inner))
    if origin in (Union, UnionType):
        return " | ".join(map(words_of, inner))
    if origin in (tuple, list):
        return f"list of {words_of(inner[0])}s"
    return WORDS.get(kind, "function" if callable(kind) and origin else "value")


def typed(value: object) -> str:
    """A default as it would be typed."""
    if value is Parameter.empty or value is PydanticUndefined:
        return "required"
    return value if isinstance(value, str) else json.dumps(value, default=str)


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
    from dartboard.data import DATASETS, published_datasets

    missing = {name for name, dataset in published_datasets().items() if dataset.locate_complete() is None}
    return [
        (name, "is not there" if name in missing else "is there", about) for name, about in _rows(DATASETS)
    ]


def _formats() -> Rows:
    from dartboard.export import FORMATS

    return [(name, form.suffix, form.description) for name, form in FORMATS.items()]


def _settings() -> Rows:
    from dartboard.search.config import SearchConfig

    return _entry_rows(setting_entries(SearchConfig))


def _train_settings() -> Rows:
    from dartboard.train.config import TrainConfig

    return _entry_rows(setting_entries(TrainConfig))


def _protocol_settings() -> Rows:
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
    """Declare the arguments."""
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


def _entry_rows(entries: Iterable["SettingRow"]) -> Rows:
    return [(row.key, row.default, row.kind, row.about) for row in entries]


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
