"""Numbers, times and sentences of a reproduction as people read them."""

import json

import yaml

DASH = "-"
THOUSAND, HUGE = 1000, 1e15


def said(value: float | str | None) -> str:
    """A number in words: four digits that count, whole numbers in full, a dash where there is none."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    whole = abs(value) >= THOUSAND or float(value).is_integer()
    return f"{value:,.0f}" if whole and abs(value) < HUGE else f"{value:.4g}"


def cell(text: str) -> str:
    """A text as it stands in a table of a page."""
    return " ".join(text.split()).replace("|", "\\|")


def sentence(text: str) -> str:
    """A text that begins large and ends with a full stop, whether it had one or not."""
    ended = text if text.endswith((".", "?", "!")) else f"{text}."
    return ended[:1].upper() + ended[1:]


def repeated(seeds: int) -> str:
    """How many repetitions there were, in words."""
    if not seeds:
        return "nothing is left to chance"
    return "one seed" if seeds == 1 else f"{seeds:,} seeds"


def span(seconds: float) -> str:
    """A time such as `0.3 s`, `48 s`, `7 min` or `1.5 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3570 else f"{seconds / 3600:.1f} h"


def word(key: str, value: object) -> str:
    """A setting as it is typed, such as `epochs=5`."""
    bare = isinstance(value, str) and _reads_as(value)
    return f"{key}={value if bare else json.dumps(value, ensure_ascii=False)}"


def _reads_as(text: str) -> bool:
    """Whether a text is read back as itself without quotes."""
    try:
        return bool(yaml.safe_load(text) == text)
    except (yaml.YAMLError, ValueError):
        return False
