"""Numbers in words that people read at a glance."""

from collections.abc import Mapping, Sequence
from typing import Any

from dartboard.utils.text import span

__all__ = ["LABELS", "bars", "numbers", "size", "span"]

LABELS = {
    "train_loss": "loss {:.3f}",
    "train_accuracy": "train {:.1%}",
    "valid_accuracy": "valid {:.1%}",
    "test_accuracy": "test {:.1%}",
    "entropy": "entropy {:.3f}",
}
"""How the numbers of an epoch are shown, by name."""


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least one."""
    units = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
    return next((f"{count / unit:.1f} {name}" for name, unit in units if count >= unit), f"{count} bytes")


def bars(values: Sequence[float], levels: str) -> str:
    """One character a value, the lowest of `levels` for the smallest and the highest for the largest."""
    low, high = min(values), max(values)
    scale = (len(levels) - 1) / (high - low) if high > low else 0.0
    return "".join(levels[round((value - low) * scale)] for value in values)


def numbers(metrics: Mapping[str, Any]) -> str:
    """The numbers of an epoch that are shown, as far as they are there."""
    return "  ".join(form.format(metrics[name]) for name, form in LABELS.items() if name in metrics)
