"""Numbers, times and sentences of reproductions as text."""

import json

import yaml

DASH = "-"
THOUSAND, HUGE = 1000, 1e15


def format_value(value: float | str | None) -> str:
    """A number with four significant digits, integers in full; a dash for None, texts as they are."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    integer = abs(value) >= THOUSAND or float(value).is_integer()
    return f"{value:,.0f}" if integer and abs(value) < HUGE else f"{value:.4g}"


def escape_cell(text: str) -> str:
    """A text as the cell of a Markdown table: one line, with escaped pipes."""
    return " ".join(text.split()).replace("|", "\\|")


def as_sentence(text: str) -> str:
    """A text with a capital letter at its start and a full stop at its end."""
    ended = text if text.endswith((".", "?", "!")) else f"{text}."
    return ended[:1].upper() + ended[1:]


def format_seeds(seeds: int) -> str:
    """The number of repetitions, such as `3 seeds`."""
    if not seeds:
        return "nothing is left to chance"
    return "one seed" if seeds == 1 else f"{seeds:,} seeds"


def format_chance(chance: float | None) -> str:
    """How often a rule passes although the claim is false, such as `passes by chance 5 % of the time`."""
    if chance is None:
        return "nothing is left to chance"
    return f"passes by chance {'less than 0.1' if chance < 0.001 else f'{100 * chance:.2g}'} % of the time"


def format_p(p: float) -> str:
    """A p-value such as `p 0.031` or `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def format_seconds(seconds: float) -> str:
    """A time such as `0.3 s`, `48 s`, `7 min` or `1.5 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3570 else f"{seconds / 3600:.1f} h"


def format_setting(key: str, value: object) -> str:
    """A setting as it is typed on the command line, such as `epochs=5`."""
    plain = False
    if isinstance(value, str):
        try:
            plain = bool(yaml.safe_load(value) == value)  # YAML reads it back without quotes
        except (yaml.YAMLError, ValueError):
            plain = False
    return f"{key}={value if plain else json.dumps(value, ensure_ascii=False)}"
