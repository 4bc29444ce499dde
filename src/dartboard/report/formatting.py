"""Numbers and times as reports write them."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from statistics import fmean, stdev

from dartboard.utils.statistics import mean_interval

DASH = "\N{EN DASH}"
"""Stands for a number that is not known."""

Format = Callable[[float], str]


def percent(fraction: float | None, digits: int = 1) -> str:
    """A fraction such as `91.3 %`; a dash where it is not known."""
    return DASH if fraction is None else f"{100 * fraction:.{digits}f} %"


def percent2(fraction: float | None) -> str:
    """A fraction with two digits, such as `91.34 %`."""
    return percent(fraction, 2)


def count_noun(count: int, noun: str) -> str:
    """Such as `1 epoch` or `3 epochs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_time(text: object) -> str:
    """A time of environment.json such as `16 Nov 2026, 09:59 UTC`; unchanged if it cannot be parsed."""
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return str(text)
    return f"{time.day} {time:%b %Y, %H:%M} {time.tzname() or ''}".strip()


def slug(text: str) -> str:
    """A text as part of an id: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def mean_and_std(numbers: Sequence[float | None], form: Format) -> str:
    """Such as `91.3 % ± 0.4`; a dash where nothing is known."""
    known = [number for number in numbers if number is not None]
    if not known:
        return DASH
    spread = f" \N{PLUS-MINUS SIGN} {form(stdev(known)).removesuffix(' %')}" if len(known) > 1 else ""
    return f"{form(fmean(known))}{spread}"


def confidence_interval(numbers: Sequence[float | None], form: Format) -> str:
    """The 95 % confidence interval of the mean, such as `90.9 to 91.7 %`; a dash for fewer than two."""
    ends = mean_interval([number for number in numbers if number is not None])
    return DASH if ends is None else f"{form(ends[0]).removesuffix(' %')} to {form(ends[1])}"
