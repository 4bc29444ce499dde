"""Batch-norms that see the examples of all ranks."""

import torch
from torch import Tensor, nn

from dartboard.distributed.process_group import Reducer
from dartboard.nn.fast.norm import update_running_stats


class SyncNorm2d(nn.BatchNorm2d):
    """Batch-norm by the statistics of the batches of all ranks together.

    Torch's own `SyncBatchNorm` runs on graphics cards alone and has no second derivatives; this one runs
    everywhere, and all of it can be derived as often as one likes, which second order and amended searches
    need. Each rank says mean and variance of its own examples, in one exchange; the parts are put together
    by Chan's formula, which does not lose digits as the mean of squares does.

    Args:
        norm: Whose parameters and statistics it takes over.
        reducer: Sums statistics over the ranks.
    """

    sees_all_ranks = True

    def __init__(self, norm: nn.BatchNorm2d, reducer: Reducer) -> None:
        super().__init__(norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats)
        self.weight, self.bias = norm.weight, norm.bias
        self.running_mean, self.running_var = norm.running_mean, norm.running_var
        self.num_batches_tracked = norm.num_batches_tracked
        self.reducer = reducer
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
        update_running_stats([self], [mean.detach()], [variance.detach() * (count / (count - 1))])
        return self._scaled(wide - _wide(mean), (variance + self.eps).rsqrt()).to(x.dtype)

    def _scaled(self, centred: Tensor, inverse: Tensor) -> Tensor:
        if not self.affine:
            return centred * _wide(inverse)
        return torch.addcmul(_wide(self.bias), centred, _wide(inverse * self.weight))

    def _gather(self, own: Tensor) -> Tensor:
        """The statistics of all ranks [R, 2, C], as a sum of tables in which each fills its row."""
        places, nothing = range(self.reducer.size), torch.zeros_like(own)
        rows = [own if place == self.reducer.rank else nothing for place in places]
        return self.reducer.all_reduce(torch.stack(rows))


def _wide(channels: Tensor) -> Tensor:
    """A number a channel [C] as it is set against images [C, 1, 1]."""
    return channels[:, None, None]


def synchronize(net: nn.Module, reducer: Reducer | None) -> None:
    """Puts a `SyncNorm2d` in the place of every batch-norm of a network that keeps a running mean.

    Args:
        net: The network, on its way to the device.
        reducer: Sums statistics over the ranks; None leaves the network as it is.
    """
    if reducer is None:
        return
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.BatchNorm2d and child.track_running_stats and child.momentum is not None:
                setattr(module, name, SyncNorm2d(child, reducer))
