"""HTML put together so that whatever comes from files is text and stays text."""

import json
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = frozenset({"input", "meta", "br"})
"""Elements that have no end."""
SAFE = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
"""How JSON writes characters that could end the script around it."""


class Html(str):
    """Text that is HTML already; any other text is escaped when it is put into an element."""

    __slots__ = ()


def text(value: str) -> Html:
    """A text as HTML that shows it; HTML stays as it is."""
    return value if isinstance(value, Html) else Html(escape(value, quote=True))


def join(parts: Iterable[str], between: str = "") -> Html:
    """Parts after each other, those that are no HTML escaped."""
    return Html(text(between).join(map(text, parts)))


def tag(name: str, /, *inner: str, **attributes: str | float | bool | None) -> Html:
    """An element.

    Args:
        name: Such as `p`.
        inner: What it holds: HTML as it is, other texts escaped.
        attributes: `class_` is written `class`, `aria_label` `aria-label`; None and False are left out.
    """
    start = "".join([name, *(_attribute(key, value) for key, value in attributes.items())])
    return Html(f"<{start}>") if name in VOID else Html(f"<{start}>{join(inner)}</{name}>")


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    plain = key.rstrip("_").replace("_", "-")
    return f" {plain}" if value is True else f' {plain}="{escape(str(value), quote=True)}"'


def data(name: str, value: Any) -> Html:
    """Plain values for scripts to read, as JSON in which nothing can end the element or begin a comment."""
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(SAFE)
    return tag("script", Html(plain), type="application/json", id=name)
