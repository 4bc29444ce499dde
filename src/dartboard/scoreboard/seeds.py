"""Seeds as people write them."""

import re

from dartboard.config.schema import MAX_COUNT

SEEDS = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds that a text such as `0-9`, `0,3,5` or `7` names; a number alone is that one seed.

    Raises:
        ValueError: If it is no such text.
    """
    found: list[int] = []
    for part in text.split(","):
        match = SEEDS.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last < first + MAX_COUNT:
            raise ValueError(f"expected seeds such as 0-9, 0,3,5 or 7, got {text!r}")
        found += range(first, last + 1)
    return tuple(found)


def as_seeds(value: object) -> object:
    """Several seeds where a text or one number says them; raises ValueError if they cannot be seeds."""
    if isinstance(value, str):
        return parse_seeds(value)
    return (value,) if isinstance(value, int) else value
