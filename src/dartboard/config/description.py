"""Settings described for people: their keys, defaults, types and meanings."""

import json
from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from dartboard.config.loader import NAMED

TYPE_NAMES = {NoneType: "null", bool: "bool", int: "int", float: "float", str: "text"}
"""Names of types; `null` is how YAML writes None."""


class SettingRow(NamedTuple):
    """A setting, or an option of a method.

    Args:
        key: The key before the `=`.
        default: Its default, as it would be typed.
        kind: The type of its values.
        about: What it is; empty where the key says it.
    """

    key: str
    default: str
    kind: str
    about: str = ""


def setting_rows(model: type[BaseModel]) -> list[SettingRow]:
    """All settings of a configuration, those that name something first."""

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
            yield SettingRow(prefix + name, default, type_name(kind), field.description or "")
    if model.model_config.get("extra") == "allow":
        about = "an option of the method; see dartboard list methods NAME"
        yield SettingRow(f"{prefix}OPTION", "", "", about)


def option_rows(function: Callable[..., Any], prefix: str) -> list[SettingRow]:
    """The options of a function such as a method of search, from its signature.

    Args:
        function: Takes the options as arguments.
        prefix: What stands before the names of options, such as `method.`.
    """
    return [
        SettingRow(prefix + option.name, format_default(option.default), type_name(option.annotation))
        for option in signature(function, eval_str=True).parameters.values()
    ]


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
