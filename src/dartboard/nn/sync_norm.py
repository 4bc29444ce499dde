"""Batch-norms that see the examples of all ranks."""

import torch
from torch import Tensor, nn

from dartboard.distributed.process_group import Reducer
from dartboard.nn.fast.norm import update_running_stats


class SyncNorm2d(nn.BatchNorm2d):
    """Batch-norm by the statistics of the batches of all ranks together.

    Torch's `SyncBatchNorm` runs on GPUs only and has no second derivatives; this one runs everywhere and is
    differentiable any number of times, which second order and amended searches need. Each rank contributes
    mean and variance of its examples, in one all-reduce; they are combined by Chan's formula, which does not
    lose digits as the mean of squares does.

    Args:
        norm: Batch-norm whose parameters and statistics are taken over.
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
        """Normalized images [B, C, H, W]."""
        if not self.training:
            return super().forward(x)
        wide = x if x.dtype is torch.float64 else x.float()
        variance, mean = torch.var_mean(wide, dim=(0, 2, 3), correction=0)
        # the statistics of all ranks [R, 2, C], as a sum of tables in which each rank fills its row
        local = torch.stack([mean, variance])
        zeros = torch.zeros_like(local)
        rows = [local if rank == self.reducer.rank else zeros for rank in range(self.reducer.size)]
        means, variances = self.reducer.all_reduce(torch.stack(rows)).unbind(1)
        mean = means.mean(0)
        variance = variances.mean(0) + (means - mean).square().mean(0)
        count = len(means) * x.numel() // x.shape[1]
        update_running_stats([self], [mean.detach()], [variance.detach() * (count / (count - 1))])
        centered, inverse_std = wide - mean[:, None, None], (variance + self.eps).rsqrt()
        if not self.affine:
            return (centered * inverse_std[:, None, None]).to(x.dtype)
        scale, shift = (inverse_std * self.weight)[:, None, None], self.bias[:, None, None]
        return torch.addcmul(shift, centered, scale).to(x.dtype)


def synchronize(net: nn.Module, reducer: Reducer | None) -> None:
    """Replaces every batch-norm that has a running mean by a `SyncNorm2d`; without a reducer, none."""
    if reducer is None:
        return
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.BatchNorm2d and child.track_running_stats and child.momentum is not None:
                setattr(module, name, SyncNorm2d(child, reducer))
