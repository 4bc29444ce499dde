"""Numbers that are not finite, found and explained before they do harm."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from dartboard.arch.objective import Objective
from dartboard.errors import DivergedError

ADVICE = "start again with a smaller weights.lr (or method.lr), weights.clip=5, or precision=full"


def check_finite(objective: Objective, numbers: Mapping[str, Tensor], *, epoch: int, step: int) -> None:
    """Raises if a number is not finite; waits for the device.

    Args:
        objective: The network and its relaxation, searched for the tensor that is to blame.
        numbers: By name.
        epoch: For the message.
        step: For the message.

    Raises:
        DivergedError: Says the step, the tensor and what to try.
    """
    bad = next((name for name, number in numbers.items() if not number.isfinite().all()), None)
    if bad is None:
        return
    culprit = next(_not_finite(objective), None)
    where = (
        f"{culprit} is not finite" if culprit else "all weights are finite, so the forward pass overflowed"
    )
    raise DivergedError(
        f"the {bad} is {float(numbers[bad])} at step {step} (epoch {epoch}): {where}; {ADVICE}"
    )


def check_state(objective: Objective, *, epoch: int, step: int) -> None:
    """Raises if anything that would be saved is not finite; waits for the device.

    Raises:
        DivergedError: Says the step, the tensor and what to try.
    """
    culprit = next(_not_finite(objective), None)
    if culprit is not None:
        raise DivergedError(f"{culprit} is not finite after step {step} (epoch {epoch}); {ADVICE}")


def _not_finite(objective: Objective) -> Iterator[str]:
    """The names of tensors that are not finite: architecture, weights, statistics, gradients."""
    named: dict[str, list[tuple[str, Tensor]]] = {
        "architecture parameter": list(objective.relaxation.named_parameters()),
        "weight": list(objective.net.named_parameters()),
        "batch-norm statistic": list(objective.net.named_buffers()),
    }
    for kind, tensors in named.items():
        yield from (f"{kind} {name}" for name, tensor in tensors if not torch.isfinite(tensor).all())
    for kind in ("architecture parameter", "weight"):
        slopes = ((name, tensor.grad) for name, tensor in named[kind])
        yield from (
            f"the gradient of {kind} {name}"
            for name, slope in slopes
            if slope is not None and not torch.isfinite(slope).all()
        )
