"""What can be set on the command line, read off the code that takes it: settings and options of methods."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

WORDS = {NoneType: "null", bool: "bool", int: "int", float: "float", str: "text"}
"""What kinds of values are called; `null` is how YAML writes none."""


@dataclass(frozen=True)
class Entry:
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


def method_entries(name: str) -> list[Entry]:
    """The options of a method, from its signature.

    Raises:
        UnknownNameError: If there is no such method.
    """
    from dartboard.search import METHODS

    taken = signature(METHODS[name], eval_str=True).parameters.values()
    return [Entry(f"method.{own.name}", words_of(own.annotation), typed(own.default)) for own in taken]


def setting_entries(model: type[BaseModel]) -> list[Entry]:
    """All settings of a configuration, those that name something first."""
    from dartboard.config.loader import NAMED

    def place(entry: Entry) -> tuple[int, bool]:
        group, _, name = entry.key.partition(".")
        return NAMED.index(group) if group in NAMED else len(NAMED), group in NAMED and name != "name"

    return sorted(_entries(model), key=place)


def _entries(model: type[BaseModel], prefix: str = "") -> Iterator[Entry]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _entries(kind, f"{prefix}{name}.")
        elif len(get_args(kind)) != 1 or get_origin(kind) is not Literal:  # else there is nothing to set
            default = field.get_default(call_default_factory=True)
            yield Entry(prefix + name, words_of(kind), typed(default), field.description or "")
    if model.model_config.get("extra") == "allow":
        yield Entry(f"{prefix}OPTION", "", "", "an option of the method; see dartboard list methods NAME")


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
