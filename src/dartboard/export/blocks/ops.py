# mypy: disable-error-code="no-any-return"
"""Ops of exported networks: each is built from input channels, output channels and stride."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def identity(*_: int) -> nn.Module:
    """The input itself."""
    return nn.Identity()


def skip_or_reduce(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The input itself, or a factorized reduction where the size changes."""
    return FactorizedReduce(inputs, outputs) if stride == 2 else nn.Identity()


def skip_connect(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The input itself, or a convolution where the size or the channels change."""
    if stride == 2:
        return FactorizedReduce(inputs, outputs)
    return nn.Identity() if inputs == outputs else ReLUConvNorm(inputs, outputs, kernel=1)


def max_pool(_inputs: int, _outputs: int, stride: int) -> nn.Module:
    """3x3 max-pooling."""
    return nn.MaxPool2d(3, stride, padding=1)


def avg_pool(_inputs: int, _outputs: int, stride: int) -> nn.Module:
    """3x3 average-pooling that leaves the padding out of the mean."""
    return nn.AvgPool2d(3, stride, padding=1, count_include_pad=False)


def max_pool_norm(_inputs: int, outputs: int, stride: int) -> nn.Module:
    """3x3 max-pooling, batch-norm."""
    return nn.Sequential(nn.MaxPool2d(3, stride, padding=1), nn.BatchNorm2d(outputs))


def avg_pool_norm(_inputs: int, outputs: int, stride: int) -> nn.Module:
    """3x3 average-pooling that leaves the padding out of the mean, batch-norm."""
    pool = nn.AvgPool2d(3, stride, padding=1, count_include_pad=False)
    return nn.Sequential(pool, nn.BatchNorm2d(outputs))


class Zero(nn.Module):
    """The absent edge: zeros of the shape that the edge would have."""

    def __init__(self, _inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.outputs, self.stride = outputs, stride

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x[:, :1, :: self.stride, :: self.stride]).expand(-1, self.outputs, -1, -1)


class ReLUConvNorm(nn.Module):
    """ReLU, convolution, batch-norm."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, *, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(F.relu(x)))


class ConvNormReLU(nn.Module):
    """Convolution, batch-norm, ReLU."""

    def __init__(self, inputs: int, outputs: int, stride: int, *, kernel: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


class FactorizedConv(nn.Module):
    """ReLU, a 1 x k and a k x 1 convolution, batch-norm."""

    def __init__(self, inputs: int, outputs: int, stride: int, *, kernel: int) -> None:
        super().__init__()
        half = kernel // 2
        self.rows = nn.Conv2d(inputs, outputs, (1, kernel), (1, stride), (0, half), bias=False)
        self.columns = nn.Conv2d(outputs, outputs, (kernel, 1), (stride, 1), (half, 0), bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.columns(self.rows(F.relu(x))))


class FactorizedReduce(nn.Module):
    """ReLU, two 1x1 convolutions with stride 2 that read different pixels, batch-norm."""

    def __init__(self, inputs: int, outputs: int, _stride: int = 2) -> None:
        super().__init__()
        self.even = nn.Conv2d(inputs, outputs // 2, 1, 2, bias=False)
        self.odd = nn.Conv2d(inputs, outputs // 2, 1, 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(x)
        # Without its first row and column the image has its odd pixels where a stride of 2 reads.
        shifted = F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2))[:, :, 1:, 1:]
        return self.norm(torch.cat([self.even(x), self.odd(shifted)], dim=1))


class SeparableLayer(nn.Module):
    """A depthwise and a pointwise convolution."""

    def __init__(self, inputs: int, outputs: int, stride: int, kernel: int, dilation: int) -> None:
        super().__init__()
        padding = dilation * (kernel // 2)
        self.depthwise = nn.Conv2d(
            inputs, inputs, kernel, stride, padding, dilation, groups=inputs, bias=False
        )
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.pointwise(self.depthwise(x))


class Dilated(nn.Module):
    """ReLU, separable convolution, batch-norm."""

    def __init__(self, inputs: int, outputs: int, stride: int, *, kernel: int, dilation: int) -> None:
        super().__init__()
        self.first = SeparableLayer(inputs, outputs, stride, kernel, dilation)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.first(F.relu(x)))


class Separable(nn.Module):
    """ReLU, separable convolution, batch-norm, all of it twice."""

    def __init__(self, inputs: int, outputs: int, stride: int, *, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.first = SeparableLayer(inputs, inputs, stride, kernel, dilation)
        self.inner = nn.BatchNorm2d(inputs)
        self.second = SeparableLayer(inputs, outputs, 1, kernel, dilation)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.inner(self.first(F.relu(x)))
        return self.norm(self.second(F.relu(x)))
