"""Text for terminals: control characters made visible, durations, command lines."""

import re
import shlex
from collections.abc import Iterable
from typing import Any, TextIO

_CONTROLS = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # C0 but for tabs and ends of lines, delete, C1
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # what changes the direction of writing
    "\\u2028\\u2029]"  # other ends of lines
)


def visible(text: str) -> str:
    r"""The text with control characters escaped, such as `\x1b`, but for tabs and ends of lines."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class VisibleStream:
    """A text stream that passes everything on to another, with control characters made visible.

    What the program prints can contain names and messages from files; in a terminal they must not move the
    cursor, change the title or look like other lines. Rich writes its colors past it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Writes a text; returns its length."""
        self._stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
