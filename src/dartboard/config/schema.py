"""The base of all settings: frozen, typed, and strict about the values they accept."""

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

MAX_COUNT = 100_000
"""The largest size an option takes: beyond it the numbers of a network overflow."""
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
"""A size or a number of times."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""A random seed; torch's generators take no larger one."""


class Options(BaseModel):
    """A group of options: immutable, and unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _check_number(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, bool | list | tuple):  # pydantic tells all others apart
            check_number(cls.model_fields[str(info.field_name)].annotation, value)
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
