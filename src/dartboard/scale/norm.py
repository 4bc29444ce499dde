"""Batch-norms that see the examples of all ranks."""

from typing import Any, Self

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup

from dartboard.nn.norm import track


class Exchange:
    """Processes that add numbers up; a copy of what uses it uses the same.

    Args:
        group: The processes.
    """

    def __init__(self, group: ProcessGroup) -> None:
        self.group, self.rank, self.count = group, group.rank(), group.size()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def total(self, own: Tensor) -> Tensor:
        """The sum over all ranks, as a function that can be derived."""
        whole: Tensor = _Total.apply(own, self.group)  # type: ignore[no-untyped-call]
        return whole


class _Total(torch.autograd.Function):
    """The sum over all ranks; its derivative is the sum over all ranks of the derivatives, and so on."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, group: ProcessGroup) -> Tensor:
        ctx.group = group
        whole = own.clone()
        dist.all_reduce(whole, group=group)
        return whole

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        return _Total.apply(slope.contiguous(), ctx.group), None  # type: ignore[no-untyped-call]


class SyncNorm2d(nn.BatchNorm2d):
    """Batch-norm by the statistics of the batches of all ranks together.

    Torch's own `SyncBatchNorm` runs on graphics cards alone and has no second derivatives; this one runs
    everywhere, and all of it can be derived as often as one likes, which second order and amended searches
    need. Each rank says mean and variance of its own examples, in one exchange; the parts are put together
    by Chan's formula, which does not lose digits as the mean of squares does.

    Args:
        norm: Whose parameters and statistics it takes over.
        exchange: With whom.
    """

    sees_all_ranks = True

    def __init__(self, norm: nn.BatchNorm2d, exchange: Exchange) -> None:
        super().__init__(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
        self.weight, self.bias = norm.weight, norm.bias
        self.running_mean, self.running_var = norm.running_mean, norm.running_var
        self.num_batches_tracked = norm.num_batches_tracked
        self.exchange = exchange
        self.train(norm.training)

    def forward(self, x: Tensor) -> Tensor:
        """Normalised images [B, C, H, W]."""
        if not self.training:
            return super().forward(x)
        wide = x if x.dtype is torch.float64 else x.float()
        variance, mean = torch.var_mean(wide, dim=(0, 2, 3), correction=0)
        means, variances = self._gather(torch.stack([mean, variance])).unbind(1)
        mean = means.mean(0)
        variance = variances.mean(0) + (means - mean).square().mean(0)
        count = len(means) * x.numel() // x.shape[1]
        track([self], [mean.detach()], [variance.detach() * (count / (count - 1))])
        return self._scaled(wide - _wide(mean), (variance + self.eps).rsqrt()).to(x.dtype)

    def _scaled(self, centred: Tensor, inverse: Tensor) -> Tensor:
        if not self.affine:
            return centred * _wide(inverse)
        return torch.addcmul(_wide(self.bias), centred, _wide(inverse * self.weight))

    def _gather(self, own: Tensor) -> Tensor:
        """The statistics of all ranks [R, 2, C], as a sum of tables in which each fills its row."""
        places, nothing = range(self.exchange.count), torch.zeros_like(own)
        rows = [own if place == self.exchange.rank else nothing for place in places]
        return self.exchange.total(torch.stack(rows))


def _wide(channels: Tensor) -> Tensor:
    """A number a channel [C] as it is set against images [C, 1, 1]."""
    return channels[:, None, None]


def synchronise(net: nn.Module, exchange: Exchange) -> None:
    """Puts a `SyncNorm2d` in the place of every batch-norm of a network that keeps a running mean."""
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.BatchNorm2d and child.track_running_stats and child.momentum is not None:
                setattr(module, name, SyncNorm2d(child, exchange))
