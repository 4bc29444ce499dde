"""Range checks of the options of update rules; the messages name the value and what would work."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from dartboard.errors import UpdateError

ParamGroup = Mapping[str, Any]
"""A parameter group of an optimizer: its options and, under "params", its parameters."""


def check_number(name: str, value: object, rule: str, holds: Callable[[float], bool]) -> None:
    """Raise unless `value` is a finite real number for which `holds`; the message calls for `rule`."""
    real = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not (real and holds(value)):  # type: ignore[arg-type]  # checked on the line above
        raise UpdateError(f"{name} must be {rule}, got {value!r}")


def check_not_negative(name: str, value: object) -> None:
    """Raise unless `value` is a finite number of at least 0."""
    check_number(name, value, "a number >= 0", lambda number: number >= 0)


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Raise unless `value` is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UpdateError(f"{name} must be a whole number >= {least}, got {value!r}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise UpdateError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_rows(parameters: Sequence[Tensor]) -> None:
    """Raise unless every row (last dimension) of every parameter lies on the simplex or is all zero.

    Half precision is refused: it would round away a step of 1e-3 on log weights of a few units.
    Reads the values, which waits for the device; optimizers call it when a group is added, never in a step.
    """
    for theta in parameters:
        if theta.dim() == 0 or theta.dtype not in (torch.float32, torch.float64):
            raise UpdateError(
                f"weights on the simplex must be rows of float32 or float64, got {theta.dtype} "
                f"of shape {tuple(theta.shape)}"
            )
        low, total = theta.detach().amin(), theta.detach().sum(-1)
        if not low >= 0:
            raise UpdateError(f"weights on the simplex must be >= 0, got {low.item():g}")
        off = total[((total - 1).abs() > 1e-3) & (total != 0)]
        if off.numel() > 0:
            raise UpdateError(f"each row must sum to 1, got a row with sum {off[0].item():g}; divide by it")
