"""Many batch-norms as one, with the mixing weights folded into their scale.

Batch-norm is, given the batch statistics, an affine map a channel, so `w * (g * x_hat + b)` is the same
map with scale `w * g` and shift `w * b`: the weighted candidate costs nothing on top of the batch-norm, its
unweighted output is never stored, and the native kernels give first and second derivatives in `w` too.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.nn.fast.depthwise import depthwise, is_native, norm_relu_depthwise

if TYPE_CHECKING:
    from dartboard.distributed.process_group import Reducer


def normalize(x: Tensor, norms: Sequence[nn.BatchNorm2d], weight: Tensor | None = None) -> Tensor:
    """The batch-norms of `norms`, each on one block of channels, times a weight per block.

    Args:
        x: Input [B, n * C, H, W], one block of C channels a norm.
        norms: The n batch-norms; in training their buffers are updated as if each had run by itself.
        weight: [n], or [B, n] for a weight per example; None for none.
    """
    if not _alike(norms):
        blocks = x.chunk(len(norms), dim=1)
        return scale_blocks(
            torch.cat([norm(b) for norm, b in zip(norms, blocks, strict=True)], dim=1), weight
        )
    folded = weight is not None and weight.dim() == 1
    scale, shift = _affine(norms, weight if folded else None)
    if norms[0].training:
        y, mean, variance = _by_batch(x, norms[0], scale, shift)
        update_running_stats(norms, mean.chunk(len(norms)), variance.chunk(len(norms)))
    else:
        mean = torch.cat([norm.running_mean for norm in norms])  # type: ignore[misc]
        variance = torch.cat([norm.running_var for norm in norms])  # type: ignore[misc]
        y = F.batch_norm(x, mean, variance, scale, shift, False, 0.0, norms[0].eps)
    return y if folded else scale_blocks(y, weight)


def scale_blocks(x: Tensor, weight: Tensor | None) -> Tensor:
    """Blocks of channels [B, n * C, H, W] times a weight per block, [n] or [B, n]; None leaves them."""
    if weight is None:
        return x
    return x * per_channel(weight, x.shape[1])[..., None, None]


def per_channel(weight: Tensor, channels: int) -> Tensor:
    """A weight per block [..., n] as a weight per channel [..., channels]."""
    repeated = weight[..., None].expand(*weight.shape, channels // weight.shape[-1])
    # Made contiguous because torch 2.13's batch-norm backward misreads a scale with stride 0.
    return repeated.flatten(-2).contiguous()


def normalize_relu_depthwise(
    x: Tensor, norms: Sequence[nn.BatchNorm2d], weight: Tensor, *, dilation: int
) -> Tensor:
    """A depthwise convolution of the ReLU of `normalize`; see `dartboard.nn.fast.depthwise`."""
    count, eps = x.numel() // x.shape[1], norms[0].eps
    if is_native(x) or count == 1 or not norms[0].training or not _alike(norms):
        return depthwise(F.relu_(normalize(x, norms)), weight, dilation=dilation)
    scale, shift = _affine(norms, None)
    y, mean, inverse = norm_relu_depthwise(x, scale, shift, weight, eps=eps, dilation=dilation)
    variance = (inverse**-2 - eps) * (count / (count - 1))
    update_running_stats(norms, mean.chunk(len(norms)), variance.chunk(len(norms)))
    return y


def _alike(norms: Sequence[nn.BatchNorm2d]) -> bool:
    """Whether the norms can run as one: plain batch-norms with equal settings, no subclasses."""
    first = norms[0]
    return first.momentum is not None and all(
        type(norm) is nn.BatchNorm2d
        and norm.training == first.training
        and norm.affine == first.affine
        and norm.momentum == first.momentum
        and norm.eps == first.eps
        and norm.track_running_stats
        for norm in norms
    )


def _affine(norms: Sequence[nn.BatchNorm2d], weight: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Scale and shift [n * C] of the norms side by side, times the weights [n]."""
    scale = shift = None
    if norms[0].affine:
        scale = torch.cat([norm.weight for norm in norms])
        shift = torch.cat([norm.bias for norm in norms])
    if weight is not None:
        weight = per_channel(weight, len(norms) * norms[0].num_features)
        scale = weight if scale is None else weight * scale
        shift = None if shift is None else weight * shift
    return scale, shift


def _by_batch(
    x: Tensor, norm: nn.BatchNorm2d, scale: Tensor | None, shift: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch-norm by the batch's statistics, with mean and variance in the type of the norm's buffers."""
    like = x if norm.running_mean is None else norm.running_mean
    mean, variance = torch.zeros(2, x.shape[1], dtype=like.dtype, device=x.device).unbind()
    y = F.batch_norm(x, mean, variance, scale, shift, True, 1.0, norm.eps)  # momentum 1: this batch's
    return y, mean, variance


@torch.no_grad()
def update_running_stats(
    norms: Sequence[nn.BatchNorm2d], means: Sequence[Tensor], variances: Sequence[Tensor]
) -> None:
    """Moves the running statistics of each norm towards its batch mean and unbiased variance."""
    momentum = norms[0].momentum or 0.0
    running = [norm.running_mean for norm in norms] + [norm.running_var for norm in norms]
    torch._foreach_lerp_(running, [*means, *variances], momentum)  # type: ignore[arg-type]
    torch._foreach_add_([norm.num_batches_tracked for norm in norms], 1)  # type: ignore[misc]


def normalize_once(x: Tensor, norms: Sequence[nn.BatchNorm2d]) -> Tensor | None:
    """The one output that all of `norms` give for the same input, or None where their outputs differ.

    In training, batch-norms without affine parameters agree whatever their buffers hold; each buffer is
    updated. In evaluation they may have different running statistics.
    """
    if not norms[0].training or norms[0].affine or not _alike(norms):
        return None
    y, mean, variance = _by_batch(x, norms[0], None, None)
    update_running_stats(norms, [mean] * len(norms), [variance] * len(norms))
    return y


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

    def __init__(self, norm: nn.BatchNorm2d, reducer: "Reducer") -> None:
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


def synchronize(net: nn.Module, reducer: "Reducer | None") -> None:
    """Replaces every batch-norm that has a running mean by a `SyncNorm2d`; without a reducer, none."""
    if reducer is None:
        return
    for module in list(net.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.BatchNorm2d and child.track_running_stats and child.momentum is not None:
                setattr(module, name, SyncNorm2d(child, reducer))
