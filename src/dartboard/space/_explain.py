"""Error messages about somebody's data: one line with the place, the value and what was expected."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from dartboard.errors import UnknownNameError

Keys = Mapping[str, Sequence[str]]
"""The keys known under each named part of a text; those of any other part stand under `""`."""

_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


def explain(error: ValidationError, keys: Keys) -> str:
    """The first complaint of a validation in one line, with a hint.

    An unknown key comes before all others: a key that is missing is often there under a wrong name.
    """
    complaints = error.errors()
    first = next((one for one in complaints if one["type"] in _UNKNOWN_KEY), complaints[0])
    place = [str(part) for part in first["loc"]]
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    if first["type"] in _UNKNOWN_KEY:
        parents = [part for part in first["loc"][:-1] if isinstance(part, str)]
        known = keys.get(parents[-1] if parents else "top", keys[""])
        message = str(UnknownNameError("key", place.pop(), known))
    elif first["type"] in ("value_error", "json_invalid", "missing"):
        message = message[:1].lower() + message[1:]
    else:
        message = f"{message}, got {shown(first['input'])}"
    return f"{'.'.join(place)}: {message}" if place else message


def shown(value: object, limit: int = 60) -> str:
    """A value as it can stand in a one-line message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else f"{text[:limit]}..."


def listed(names: Iterable[str], limit: int = 6) -> str:
    """Names with commas between them, the later ones of many left out."""
    names = list(names)
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + rest
