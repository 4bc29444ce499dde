"""Depthwise convolution with a custom backward pass on the CPU.

PyTorch's CPU backward for depthwise kernels falls back to one matrix product per channel as soon as the
kernel is wider than three columns or dilated. The same gradients follow from cases it does run fast:

- the gradient in the input of a stride-1 convolution is a convolution with the flipped kernel;
- the gradient in the kernel is taken for at most three columns of the kernel at a time;
- a dilation of 2 is undone by splitting the image into its four even/odd sub-images;
- a stride of 2 with a dilation of 2 reads every other pixel only: subsample first, then convolve;
- on images of a few pixels a sum of products per tap of the kernel is fastest.

What comes before the convolution is not stored but recomputed in the backward pass, which is cheap: the
copies of a node's ReLU that several edges read, and the ReLU of a batch-norm. Every formula is written with
differentiable functions, so second derivatives work as usual. Other devices use the native operators.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

_COLUMNS = 3  # the widest kernel whose weight gradient is vectorized over channels (oneDNN, AVX2 and AVX-512)
_FEW_PIXELS = 4  # images up to this side take their weight gradient tap by tap


Function = TypeVar("Function", bound=Callable[..., Any])


def cached_signature(function: Function) -> Function:
    """Stores the signature on the function: `autograd.Function.apply` inspects it on every call."""
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return function


def is_native(x: Tensor) -> bool:
    """Whether the native operators serve `x` best."""
    return x.device.type != "cpu" or torch.is_autocast_enabled("cpu")


def channels_last(x: Tensor) -> Tensor:
    """The same values with the channels of a pixel side by side in memory, also under `torch.vmap`."""
    return x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


def depthwise(
    x: Tensor, weight: Tensor, *, stride: int = 1, dilation: int = 1, tiled: Tensor | None = None
) -> Tensor:
    """Depthwise convolution with square odd kernels, padded so that only the stride changes the size.

    Channels of `x` are read in turn where there are more kernels than channels.

    Args:
        x: Input [B, C, H, W].
        weight: Kernels [n * C, 1, k, k].
        stride: 1 or 2.
        dilation: 1 or 2.
        tiled: `x` with its channels repeated n times, if it is at hand.

    Returns:
        [B, n * C, ceil(H / stride), ceil(W / stride)].
    """
    if is_native(x):
        return _convolve(_tile(x, weight) if tiled is None else tiled, weight, stride, dilation)
    if stride == dilation == 2:  # reads even rows and columns only, the padding being even
        x, stride, dilation = channels_last(x[:, :, ::2, ::2]), 1, 1
        tiled = None
    tiled = None if tiled is None else tiled.detach()  # the gradient goes to x itself
    result: Tensor = _Depthwise.apply(x, weight, tiled, stride, dilation)  # type: ignore[no-untyped-call]
    return result


def norm_relu_depthwise(
    x: Tensor, scale: Tensor | None, shift: Tensor | None, weight: Tensor, *, eps: float, dilation: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch-norm by batch statistics, ReLU and a depthwise convolution, storing nothing but the input.

    Args:
        x: Input [B, C, H, W].
        scale: The batch-norm's scale [C], if any.
        shift: Its shift [C], if any.
        weight: Kernels [C, 1, k, k].
        eps: Its epsilon.
        dilation: 1 or 2.

    Returns:
        The output [B, C, H, W], and the batch's mean and inverse std [C].
    """
    results: tuple[Tensor, Tensor, Tensor]
    results = _NormReLUDepthwise.apply(x, scale, shift, weight, eps, dilation)  # type: ignore[no-untyped-call]
    return results


def _convolve(x: Tensor, weight: Tensor, stride: int, dilation: int) -> Tensor:
    padding = dilation * (weight.shape[-1] // 2)
    return F.conv2d(x, weight, None, stride, padding, dilation, weight.shape[0])


def _tile(x: Tensor, weight: Tensor) -> Tensor:
    copies = weight.shape[0] // x.shape[1]
    return x if copies == 1 else torch.cat([x] * copies, dim=1)


class _Depthwise(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    @cached_signature
    def forward(x: Tensor, weight: Tensor, tiled: Tensor | None, stride: int, dilation: int) -> Tensor:
        return _convolve(_tile(x, weight) if tiled is None else tiled, weight, stride, dilation)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004
        x, weight, _, ctx.stride, ctx.dilation = inputs
        ctx.shape = x.shape
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        geometry = (ctx.stride, ctx.dilation)
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = _input_gradient(grad, ctx.shape, weight, *geometry)
        if ctx.needs_input_grad[1]:
            grad_weight = _kernel_gradient(grad, _tile(x, weight), weight, *geometry)
        return grad_x, grad_weight, None, None, None


class _NormReLUDepthwise(torch.autograd.Function):
    @staticmethod
    @cached_signature
    def forward(
        x: Tensor, scale: Tensor | None, shift: Tensor | None, weight: Tensor, eps: float, dilation: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        y, mean, inverse = torch.native_batch_norm(x, scale, shift, None, None, True, 0.0, eps)
        return _convolve(F.relu_(y), weight, 1, dilation), mean, inverse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
        x, scale, shift, weight, ctx.eps, ctx.dilation = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, scale, shift, weight, *output[1:])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x, scale, shift, weight, mean, inverse = ctx.saved_tensors
        needs = ctx.needs_input_grad
        y = F.relu(F.batch_norm(x, None, None, scale, shift, True, 0.0, ctx.eps))
        grad_weight = _kernel_gradient(grad, y, weight, 1, ctx.dilation) if needs[3] else None
        grad_y = _input_gradient(grad, x.shape, weight, 1, ctx.dilation)
        grad_y = torch.ops.aten.threshold_backward(grad_y, y, 0)
        grad_x, grad_scale, grad_shift = torch.ops.aten.native_batch_norm_backward(
            grad_y, x, scale, None, None, mean, inverse, True, ctx.eps, list(needs[:3])
        )
        return grad_x, grad_scale, grad_shift, grad_weight, None, None


def _input_gradient(grad: Tensor, shape: torch.Size, weight: Tensor, stride: int, dilation: int) -> Tensor:
    """The gradient in the input [B, C, H, W], summed over the kernels that read a channel."""
    if stride == 1:
        tiled = _convolve(grad, weight.flip(2, 3), 1, dilation)
    else:
        size = (shape[0], weight.shape[0], *shape[2:])
        like = torch.empty(size, dtype=grad.dtype, device=grad.device, memory_format=torch.channels_last)
        padding = weight.shape[-1] // 2
        tiled = _native_gradients(grad, like, weight, stride, (padding, padding), (True, False))[0]
    first, *rest = tiled.split(shape[1], dim=1)
    total: Tensor = sum(rest, first)
    return total


def _kernel_gradient(grad: Tensor, x: Tensor, weight: Tensor, stride: int, dilation: int) -> Tensor:
    """The gradient in the kernels [C, 1, k, k]."""
    width = weight.shape[-1]
    padding = dilation * (width // 2)
    hard = width > _COLUMNS or dilation > 1
    if hard and stride == 1 and max(x.shape[2:]) <= _FEW_PIXELS * dilation:
        return _kernel_gradient_by_tap(grad, x, width, dilation)
    if dilation == 2:
        return _kernel_gradient(_sub_images(grad), _sub_images(x), weight, stride, 1)
    if not hard:
        return _native_gradients(grad, x, weight, stride, (padding, padding), (False, True))[1]
    return _kernel_gradient_by_columns(grad, x, weight, stride, padding)


def _kernel_gradient_by_columns(grad: Tensor, x: Tensor, weight: Tensor, stride: int, padding: int) -> Tensor:
    parts, columns = [], x.shape[-1]
    for start in range(0, weight.shape[-1], _COLUMNS):
        part = weight[..., start : start + _COLUMNS]
        seen = stride * (grad.shape[-1] - 1) + part.shape[-1]  # columns of x that these columns meet
        # columns of zeros to add on each side, or to crop where a number is negative
        left, right = padding - start, seen - columns - padding + start
        if -min(left, right) < columns:
            cropped = F.pad(x, (left, right))
        else:  # crops more columns than there were before the padding
            wide = F.pad(x, (max(0, left), max(0, right)))
            cropped = wide[..., max(0, -left) : wide.shape[-1] - max(0, -right)]
        parts.append(_native_gradients(grad, cropped, part, stride, (padding, 0), (False, True))[1])
    return torch.cat(parts, dim=-1)


def _kernel_gradient_by_tap(grad: Tensor, x: Tensor, width: int, dilation: int) -> Tensor:
    rows, columns = (_overlaps(size, width, dilation) for size in x.shape[2:])
    taps = [
        (x[:, :, row, column] * grad[:, :, grad_row, grad_column]).sum(dim=(0, 2, 3))
        for row, grad_row in rows
        for column, grad_column in columns
    ]
    return torch.stack(taps, dim=1).view(-1, 1, width, width)


def _overlaps(size: int, width: int, dilation: int) -> list[tuple[slice, slice]]:
    """For each tap along one axis, the slices of the input and of the output that it connects."""
    slices = []
    for offset in (dilation * (tap - width // 2) for tap in range(width)):
        length = max(0, size - abs(offset))
        start = max(0, offset)
        slices.append((slice(start, start + length), slice(start - offset, start - offset + length)))
    return slices


def _native_gradients(
    grad: Tensor, x: Tensor, weight: Tensor, stride: int, padding: tuple[int, int], needed: tuple[bool, bool]
) -> tuple[Tensor, Tensor]:
    geometry = ([stride, stride], list(padding), [1, 1], False, [0, 0], weight.shape[0])
    grad_x, grad_weight, _ = torch.ops.aten.convolution_backward(
        grad, x, weight, None, *geometry, [*needed, False]
    )
    return grad_x, grad_weight


def _sub_images(x: Tensor) -> Tensor:
    """The even/odd sub-images as further examples: [B, C, H, W] -> [4 B, C, ceil(H / 2), ceil(W / 2)]."""
    if x.shape[2] % 2 or x.shape[3] % 2:
        x = F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2))
    batch, channels, height, width = x.shape
    x = x.permute(0, 2, 3, 1).reshape(batch, height // 2, 2, width // 2, 2, channels)
    x = x.permute(0, 2, 4, 1, 3, 5).reshape(4 * batch, height // 2, width // 2, channels)
    return x.permute(0, 3, 1, 2)
