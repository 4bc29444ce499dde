"""Depthwise convolution with a backward pass of its own on the CPU.

PyTorch's CPU backward for depthwise kernels falls back to one matrix product per channel as soon as the
kernel is wider than three columns or dilated. The same gradients follow from cases it does run fast:

- the gradient in the input of a stride-1 convolution is a convolution with the flipped kernel;
- the gradient in the kernel is taken for at most three columns of the kernel at a time;
- a dilation of 2 is undone by splitting the image into its four even/odd sub-images;
- a stride of 2 with a dilation of 2 reads every other pixel only: subsample first, then convolve.

Every formula is written with differentiable functions, so second derivatives work as usual. Other
devices use the native operator.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_COLUMNS = 3  # the widest kernel whose weight gradient is vectorised over channels (oneDNN, AVX2 and AVX-512)


def depthwise(x: Tensor, weight: Tensor, *, stride: int = 1, dilation: int = 1) -> Tensor:
    """Depthwise convolution with a square odd kernel, padded so that only the stride changes the size.

    Args:
        x: Input [B, C, H, W].
        weight: One kernel a channel [C, 1, k, k].
        stride: 1 or 2.
        dilation: 1 or 2.

    Returns:
        [B, C, ceil(H / stride), ceil(W / stride)].
    """
    padding = dilation * (weight.shape[-1] // 2)
    if x.device.type != "cpu" or torch.is_autocast_enabled("cpu"):
        return F.conv2d(x, weight, None, stride, padding, dilation, weight.shape[0])
    if stride == 2 and dilation == 2:  # reads even rows and columns only, padding being even
        x, stride, dilation, padding = x[:, :, ::2, ::2], 1, 1, padding // 2
    result: Tensor = _Depthwise.apply(x, weight, stride, padding, dilation)
    return result


class _Depthwise(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, weight: Tensor, stride: int, padding: int, dilation: int) -> Tensor:
        return F.conv2d(x, weight, None, stride, padding, dilation, weight.shape[0])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, weight, ctx.stride, ctx.padding, ctx.dilation = inputs
        needs_x, needs_weight = ctx.needs_input_grad[:2]
        ctx.save_for_backward(x if needs_weight else None, weight)
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        geometry = (ctx.stride, ctx.padding, ctx.dilation)
        grad_x = _input_gradient(grad, ctx.shape, weight, *geometry) if ctx.needs_input_grad[0] else None
        grad_weight = _kernel_gradient(grad, x, weight, *geometry) if ctx.needs_input_grad[1] else None
        return grad_x, grad_weight, None, None, None


def _input_gradient(
    grad: Tensor, shape: torch.Size, weight: Tensor, stride: int, padding: int, dilation: int
) -> Tensor:
    if stride == 1:
        return F.conv2d(grad, weight.flip(2, 3), None, 1, padding, dilation, weight.shape[0])
    like = torch.empty(shape, dtype=grad.dtype, device=grad.device, memory_format=torch.channels_last)
    return _native_gradients(grad, like, weight, stride, (padding, padding), (True, False))[0]


def _kernel_gradient(
    grad: Tensor, x: Tensor, weight: Tensor, stride: int, padding: int, dilation: int
) -> Tensor:
    if dilation == 2:
        return _kernel_gradient(_sub_images(grad), _sub_images(x), weight, stride, padding // 2, 1)
    width = weight.shape[-1]
    if width <= _COLUMNS:
        return _native_kernel_gradient(grad, x, weight, stride, (padding, padding))
    reach = stride * (grad.shape[-1] - 1)
    padded = F.pad(x, (padding, max(0, reach + width - padding - x.shape[-1])))
    parts = []
    for left in range(0, width, _COLUMNS):
        part = weight[..., left : left + _COLUMNS]
        seen = padded[..., left : left + reach + part.shape[-1]]
        parts.append(_native_kernel_gradient(grad, seen, part, stride, (padding, 0)))
    return torch.cat(parts, dim=-1)


def _native_kernel_gradient(
    grad: Tensor, x: Tensor, weight: Tensor, stride: int, padding: tuple[int, int]
) -> Tensor:
    return _native_gradients(grad, x, weight, stride, padding, (False, True))[1]


def _native_gradients(
    grad: Tensor, x: Tensor, weight: Tensor, stride: int, padding: tuple[int, int], wanted: tuple[bool, bool]
) -> tuple[Tensor, Tensor]:
    geometry = ([stride, stride], list(padding), [1, 1], False, [0, 0], weight.shape[0])
    grad_x, grad_weight, _ = torch.ops.aten.convolution_backward(
        grad, x, weight, None, *geometry, [*wanted, False]
    )
    return grad_x, grad_weight


def _sub_images(x: Tensor) -> Tensor:
    """The even/odd sub-images as further examples: [B, C, H, W] -> [4 B, C, ceil(H / 2), ceil(W / 2)]."""
    x = F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2))
    batch, channels, height, width = x.shape
    x = x.permute(0, 2, 3, 1).reshape(batch, height // 2, 2, width // 2, 2, channels)
    x = x.permute(0, 2, 4, 1, 3, 5).reshape(4 * batch, height // 2, width // 2, channels)
    return x.permute(0, 3, 1, 2)
