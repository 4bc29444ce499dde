"""One step of the weight optimizer, looked at before it is taken."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim import SGD, Optimizer

from dartboard.errors import CompositionError


@torch.no_grad()
def virtual_step(
    optimizer: Optimizer, weights: Sequence[Tensor], slopes: Sequence[Tensor]
) -> tuple[list[Tensor], float]:
    """The weights as a step of stochastic gradient descent would leave them; nothing is changed.

    Momentum and weight decay take part as in `torch.optim.SGD`; neither depends on the architecture.

    Args:
        optimizer: The weight optimizer, with one group of parameters.
        weights: The parameters.
        slopes: Their gradients.

    Returns:
        The weights after the step, and how fast they follow their gradients.

    Raises:
        CompositionError: If the optimizer is another one than plain SGD.
    """
    if not isinstance(optimizer, SGD) or len(optimizer.param_groups) != 1:
        raise CompositionError(
            "the second order gradient unrolls a step of SGD with one group of weights, and these are "
            f"trained by {type(optimizer).__name__} with {len(optimizer.param_groups)}; "
            "use the first order gradient"
        )
    group = optimizer.param_groups[0]
    lr, momentum, nesterov = group["lr"], group["momentum"], group["nesterov"]
    moved = []
    for weight, slope in zip(weights, slopes, strict=True):
        slope = slope + group["weight_decay"] * weight  # noqa: PLW2901
        kept = optimizer.state.get(weight, {}).get("momentum_buffer")
        speed = slope if kept is None else momentum * kept + slope
        moved.append(weight - lr * (slope + momentum * speed if nesterov else speed))
    return moved, lr * (1 + momentum if nesterov else 1)
