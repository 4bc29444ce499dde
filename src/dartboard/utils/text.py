"""Names out of files and folders, made fit for a line of text."""

import shlex
from collections.abc import Iterable


def printable(text: str) -> str:
    """The text, with escapes for characters that a terminal would obey rather than show."""
    return "".join(own if own.isprintable() else own.encode("unicode_escape").decode() for own in text)


def span(seconds: float) -> str:
    """A time such as `8 s`, `3 min 20 s`, `5 h 10 min` or `2 d 4 h`."""
    whole = max(round(seconds), 0)
    units = (("d", whole // 86400), ("h", whole // 3600 % 24), ("min", whole // 60 % 60), ("s", whole % 60))
    first = next((place for place, (_, count) in enumerate(units) if count), len(units) - 1)
    parts = [f"{count} {unit}" for unit, count in units[first : first + 2] if count]
    return " ".join(parts) or "0 s"


def command(*words: object, plugins: Iterable[object] = ()) -> str:
    """A command of this program.

    Args:
        words: What follows its name.
        plugins: Python files that it must load.
    """
    flags = [word for own in plugins for word in ("--plugin", own)]
    return shlex.join(["dartboard", *map(str, (*words, *flags))])
