"""What a failed check of someone's data comes to: one line with place, value and what was expected."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic import ValidationError

from dartboard.errors import UnknownNameError

Keys = Mapping[str, Sequence[str]]
"""The keys known under each named part of a text; those of any other part stand under `""`."""

_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


def explain(error: ValidationError, keys: Keys) -> str:
    """The first complaint of a validation in one line, an unknown key before all others, with a hint.

    A key that is missing is often there under a wrong name: the wrong name is what to mend.
    """
    complaints = error.errors()
    first = next((one for one in complaints if one["type"] in _UNKNOWN_KEY), complaints[0])
    place = [str(part) for part in first["loc"]]
    if first["type"] in _UNKNOWN_KEY:
        parents = [part for part in first["loc"][:-1] if isinstance(part, str)]
        known = keys.get(parents[-1] if parents else "top", keys[""])
        return _at(place[:-1], str(UnknownNameError("key", place[-1], known)))
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    if first["type"] in ("value_error", "json_invalid", "missing"):
        return _at(place, message[:1].lower() + message[1:])
    return _at(place, f"{message}, got {shown(first['input'])}")


def shown(value: object, limit: int = 60) -> str:
    """A value as it can stand in a one-line message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else f"{text[:limit]}..."


def listed(names: Iterable[str], limit: int = 6) -> str:
    """Names with commas between them, the later ones of many left out."""
    names = list(names)
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + rest


def keys_of(form: Any) -> tuple[str, ...]:
    """The keys of a dataclass."""
    return tuple(field.name for field in fields(form))


def _at(place: Sequence[str], message: str) -> str:
    return f"{'.'.join(place)}: {message}" if place else message
