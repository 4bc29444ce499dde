"""What reports call things."""

import re
from datetime import datetime


def percent(share: float | None, digits: int = 1) -> str:
    """A share such as `91.3 %`; a dash where it is not known."""
    return "\N{EN DASH}" if share is None else f"{100 * share:.{digits}f} %"


def counted(count: int, what: str) -> str:
    """Such as `1 epoch` or `3 epochs`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def moment(text: object) -> str:
    """A time as environment.json has it, such as `16 Nov 2026, 09:59 UTC`; as it is where it is none."""
    try:
        when = datetime.fromisoformat(str(text))
    except ValueError:
        return str(text)
    return f"{when.day} {when:%b %Y, %H:%M} {when.tzname() or ''}".strip()


def slug(words_: str) -> str:
    """A text as part of an id: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", words_.lower()).strip("-")
