"""Rows of weights on the simplex: log-space arithmetic, and the optimizer state that goes with it.

Everywhere a row is the last dimension, and a dead entry has log weight -inf: exactly zero, for ever.
"""

import math
from collections.abc import MutableMapping

import torch
from torch import Tensor

State = MutableMapping[str, Tensor]
"""The state of an optimizer for one parameter."""


def normalize_logs(log_weight: Tensor) -> Tensor:
    """Log weights [..., N] shifted so that each row sums to 1; a row of dead entries stays dead."""
    dead_row = (log_weight == -math.inf).all(-1, keepdim=True)
    return torch.where(dead_row, log_weight, log_weight.log_softmax(-1))


def shift_logs(log_weight: Tensor, by: Tensor) -> Tensor:
    """`log_weight + by`, dead entries stay dead whatever `by` is there (infinities and NaN included)."""
    return torch.where(log_weight == -math.inf, log_weight, log_weight + by)


def project(x: Tensor) -> Tensor:
    """The point of the simplex nearest to each row of `x` [..., N] in Euclidean distance.

    The projection is max(x - s, 0) with the one shift s that makes the row sum to 1; s is found among
    the N candidates that the sorted row gives.
    """
    ordered = x.sort(dim=-1, descending=True).values
    ranks = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    shifts = (ordered.cumsum(-1) - 1) / ranks
    support = (ordered > shifts).sum(-1, keepdim=True).clamp_min(1)
    return (x - shifts.gather(-1, support - 1)).clamp_min(0)


def read_logs(theta: Tensor, state: State) -> Tensor:
    """Log weights of `theta` [..., N]: those in the state, or those of entries changed from outside.

    `state["log_weight"]` holds the exact weights; `theta` is their exponential, rounded, and
    `state["written"]` is a copy of it. An entry that equals its copy keeps its log weight, so one that was
    rounded to zero is not lost. Any other entry has been changed from outside: the parameter wins, and a
    zero there is a dead entry.
    """
    if "log_weight" not in state:
        return theta.log()
    return torch.where(theta == state["written"], state["log_weight"], theta.log())


def write_logs_(theta: Tensor, log_weight: Tensor, state: State) -> None:
    """Writes normalized log weights into the parameter and the state."""
    theta.copy_(log_weight.exp())
    state["log_weight"] = log_weight
    state["written"] = theta.clone()


def drop_(theta: Tensor, dead: Tensor, state: State) -> None:
    """Makes the entries of `theta` where `dead` is true exactly zero for ever; the others are renormalized.

    Needed where an entry may have been rounded to zero already: writing another zero there changes
    nothing that `read_logs` could see.
    """
    log_weight = read_logs(theta, state).masked_fill(dead, -math.inf)
    write_logs_(theta, normalize_logs(log_weight), state)
