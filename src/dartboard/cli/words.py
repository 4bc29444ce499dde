"""Numbers in words that people read at a glance."""

from collections.abc import Sequence


def span(seconds: float) -> str:
    """A time such as `8 s`, `3 min 20 s`, `5 h 10 min` or `2 d 4 h`."""
    whole = max(round(seconds), 0)
    units = (("d", whole // 86400), ("h", whole // 3600 % 24), ("min", whole // 60 % 60), ("s", whole % 60))
    first = next((place for place, (_, count) in enumerate(units) if count), len(units) - 1)
    parts = [f"{count} {unit}" for unit, count in units[first : first + 2] if count]
    return " ".join(parts) or "0 s"


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least one."""
    units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    return next((f"{count / unit:.1f} {name}" for name, unit in units if count >= unit), f"{count} bytes")


def bars(values: Sequence[float], levels: str) -> str:
    """One character a value, the lowest of `levels` for the smallest and the highest for the largest."""
    low, high = min(values), max(values)
    scale = (len(levels) - 1) / (high - low) if high > low else 0.0
    return "".join(levels[round((value - low) * scale)] for value in values)
