"""Text for terminals: escaped names, durations, command lines."""

import shlex
from collections.abc import Iterable


def printable(text: str) -> str:
    """The text with control characters escaped, so that a terminal shows them instead of acting on them."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def span(seconds: float) -> str:
    """A duration such as `8 s`, `3 min 20 s`, `5 h 10 min` or `2 d 4 h`."""
    total = max(round(seconds), 0)
    units = (("d", total // 86400), ("h", total // 3600 % 24), ("min", total // 60 % 60), ("s", total % 60))
    first = next((index for index, (_, count) in enumerate(units) if count), len(units) - 1)
    parts = [f"{count} {unit}" for unit, count in units[first : first + 2] if count]
    return " ".join(parts) or "0 s"


def plural(count: int, noun: str) -> str:
    """A count with its noun, such as `1 epoch` or `3 epochs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def command(*words: object, plugins: Iterable[object] = ()) -> str:
    """A dartboard command line of these arguments, quoted for the shell, that loads these plugin files."""
    flags = [word for plugin in plugins for word in ("--plugin", plugin)]
    return shlex.join(["dartboard", *map(str, (*words, *flags))])
