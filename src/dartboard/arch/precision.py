"""Mixed precision: autocast for forward passes, and the scale of losses in half precision."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


class Precision:
    """The numbers that forward and backward passes compute with.

    Args:
        dtype: What forward passes compute in where torch thinks it safe; None leaves all as it is.
        scale: The factor of losses before gradients are taken, which gradients are divided by after; for
            half precision, whose small numbers would vanish. None for no factor.
    """

    def __init__(self, dtype: torch.dtype | None = None, scale: Tensor | None = None) -> None:
        self.dtype, self.scale = dtype, scale

    def autocast(self, device: torch.device) -> AbstractContextManager[None]:
        """The context of a forward pass on a device."""
        return nullcontext() if self.dtype is None else torch.autocast(device.type, self.dtype)

    def full(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The outputs of a forward pass, in full precision."""
        return outputs if self.dtype is None else tuple(output.float() for output in outputs)

    def scaled(self, loss: Tensor) -> Tensor:
        """The loss as gradients are taken of it; see `unscaled`."""
        return loss if self.scale is None else loss * self.scale

    def unscaled(self, grads: Sequence[Tensor]) -> list[Tensor]:
        """Gradients of the loss from those of `scaled`; all zero where one of them overflowed."""
        if self.scale is None:
            return list(grads)
        finite = torch.stack([grad.isfinite().all() for grad in grads]).all()
        return [torch.where(finite, grad / self.scale, 0.0) for grad in grads]
