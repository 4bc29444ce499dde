"""The base of all settings: frozen, typed, and strict about what they are given."""

from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

MOST = 100_000
"""The largest size an option takes: beyond it the numbers of a network overflow."""
Count = Annotated[int, Field(ge=1, le=MOST)]
"""A size or a number of times."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
"""Where chance starts; torch's generators take no more."""


class Options(BaseModel):
    """A group of options: immutable, and what it does not know it refuses."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _check_number(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, bool | list | tuple):  # all others are told apart without help
            check_number(cls.model_fields[str(info.field_name)].annotation, value)
        return value


def check_number(kind: Any, value: object) -> None:
    """Refuses true and false where a number is wanted; they would be taken for 1 and 0.

    Args:
        kind: The type that is wanted, or that of several such things.
        value: What is given, or several of them.

    Raises:
        PydanticCustomError: As those that pydantic itself finds.
    """
    several = value if isinstance(value, list | tuple) else (value,)
    kinds = _kinds(kind)
    if any(isinstance(own, bool) for own in several) and kinds & {int, float} and bool not in kinds:
        raise PydanticCustomError("number", "expected a number")


def _kinds(kind: Any) -> set[Any]:
    """The types that a type is made of."""
    return {own for inner in get_args(kind) for own in _kinds(inner)} | {
        kind if isinstance(kind, type) else None
    }
