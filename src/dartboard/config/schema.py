"""The base of all settings, frozen, typed and strict about the values they accept; and settings described for
people: their keys, defaults, types and meanings.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationInfo, field_validator
from pydantic_core import CoreSchema, PydanticCustomError, PydanticUndefined

MAX_COUNT = 100_000
"""The largest size an option takes: beyond it the numbers of a network overflow."""
MAX_FLOAT, MAX_RATE = 1e38, 1e30
"""The largest number of any option, which float32 can hold, and the largest rate, which is multiplied."""


@dataclass(frozen=True)
class Between:
    """Limits of an annotated integer type, which a field of that type can narrow.

    Those of a `Field` in the annotation would replace the field's own: pydantic applies them last.

    Args:
        low: The smallest value.
        high: The largest value.
    """

    low: int
    high: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        low, high = schema.get("ge", self.low), schema.get("le", self.high)
        return {**schema, "ge": max(low, self.low), "le": min(high, self.high)}


Count = Annotated[int, Between(1, MAX_COUNT)]
"""A size or a number of times."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""A random seed; torch's generators take no larger one."""
NAMED = ("space", "method", "data")
"""The groups that have a name; the name alone will do for them."""
TYPE_NAMES = {NoneType: "null", bool: "bool", int: "int", float: "float", str: "text"}
"""Names of types; `null` is how YAML writes None."""


class Options(BaseModel):
    """A group of options: immutable, and unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _check_number(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, bool | list | tuple):  # pydantic tells all others apart
            check_number(cls.model_fields[str(info.field_name)].annotation, value)
        return value

    @field_validator("*", mode="after")
    @classmethod
    def _check_size(cls, value: object) -> object:
        if isinstance(value, float) and abs(value) > MAX_FLOAT:
            raise PydanticCustomError("number", f"expected a number of at most {MAX_FLOAT:g} in size")
        return value


def check_number(kind: Any, value: object) -> None:
    """Refuses true and false, alone or in a sequence, where `kind` is a number: they would pass for 1 and 0.

    Raises:
        PydanticCustomError: As those that pydantic itself raises.
    """
    values = value if isinstance(value, list | tuple) else (value,)
    kinds = _member_types(kind)
    if any(isinstance(item, bool) for item in values) and kinds & {int, float} and bool not in kinds:
        raise PydanticCustomError("number", "expected a number")


def _member_types(kind: Any) -> set[Any]:
    """The types that a union or a container is made of."""
    members = {member for inner in get_args(kind) for member in _member_types(inner)}
    return members | {kind if isinstance(kind, type) else None}


def values_before(options: BaseModel) -> dict[str, Any]:
    """The value of each setting in files that were written before the setting existed, by dotted name.

    It is the default, unless the field says otherwise: a field whose default is not what was done before it
    existed declares `json_schema_extra={"before": value}`. `options` has its default values.
    """
    values: dict[str, Any] = {}
    defaults = options.model_dump(mode="json")
    for name, field in type(options).model_fields.items():
        extra, group = field.json_schema_extra, getattr(options, name)
        if isinstance(extra, Mapping) and "before" in extra:
            values[name] = extra["before"]
        elif isinstance(group, BaseModel):
            values |= {f"{name}.{inner}": value for inner, value in values_before(group).items()}
        else:
            values[name] = defaults[name]
    return values


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
    """The options of a function such as a search method, from its signature; `prefix` is put before names."""
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
    if origin is dict:
        return "group"
    return TYPE_NAMES.get(kind, "function" if callable(kind) and origin else "value")


def format_default(value: object) -> str:
    """A default as it would be typed."""
    if value is Parameter.empty or value is PydanticUndefined:
        return "required"
    return value if isinstance(value, str) else json.dumps(value, default=str)
