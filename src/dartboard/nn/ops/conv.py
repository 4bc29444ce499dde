"""Convolutions with a batch-norm and a ReLU: separable and dilated (DARTS), plain, factorized."""

from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.nn.fast.depthwise import depthwise
from dartboard.nn.fast.norm import normalize, normalize_relu_depthwise
from dartboard.nn.ops._base import Op, PythonSource, Site, SourceNode, convolve, register_kernels


class SeparableLayer(nn.Module):
    """A depthwise and a pointwise convolution."""

    def __init__(self, site: Site, kernel: int, dilation: int) -> None:
        super().__init__()
        channels, padding = site.inputs, dilation * (kernel // 2)
        self.depthwise = nn.Conv2d(
            channels, channels, kernel, site.stride, padding, dilation, groups=channels, bias=False
        )
        self.pointwise = nn.Conv2d(channels, site.outputs, 1, bias=False)
        self.stride, self.dilation = site.stride, dilation

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.pointwise(self.depthwise(x))
        return y


class Separable(Op):
    """ReLU, separable layer, batch-norm, once or twice: DARTS' separable and dilated convolutions."""

    def __init__(self, site: Site, kernel: int, *, dilation: int = 1, twice: bool = True) -> None:
        super().__init__(bank=(site, kernel, dilation, twice))
        first = replace(site, outputs=site.inputs) if twice else site
        self.first = SeparableLayer(first, kernel, dilation)
        self.inner = first.norm() if twice else None
        self.second = SeparableLayer(replace(site, stride=1), kernel, dilation) if twice else None
        self.norm = site.norm()

    def body(self, x: Tensor) -> Tensor:
        y: Tensor = self.first(F.relu(x))
        return y if self.second is None else self.second(F.relu(self.inner(y)))  # type: ignore[misc]

    @classmethod
    def fan_out(cls, ops: Sequence["Separable"], source: SourceNode) -> Tensor:
        layers, copies = [op.first for op in ops], len(ops)
        stride, dilation = layers[0].stride, layers[0].dilation
        kernels = torch.cat([layer.depthwise.weight for layer in layers])
        x = depthwise(source.relu, kernels, stride=stride, dilation=dilation, tiled=source.tiled_relu(copies))
        x = F.conv2d(x, torch.cat([layer.pointwise.weight for layer in layers]), groups=copies)
        layers = [op.second for op in ops if op.second is not None]
        if not layers:
            return x
        kernels = torch.cat([layer.depthwise.weight for layer in layers])
        norms = [op.inner for op in ops if op.inner is not None]
        x = normalize_relu_depthwise(x, norms, kernels, dilation=dilation)
        return F.conv2d(x, torch.cat([layer.pointwise.weight for layer in layers]), groups=copies)

    def python_source(self) -> PythonSource:
        kernel, dilation = self.first.depthwise.kernel_size[0], self.first.dilation
        if self.second is None:
            return PythonSource(f"partial(Dilated, kernel={kernel}, dilation={dilation})")
        dilated = f", dilation={dilation}" if dilation != 1 else ""
        return PythonSource(f"partial(Separable, kernel={kernel}{dilated})")


class ReLUConvNorm(Op):
    """ReLU, convolution, batch-norm."""

    def __init__(self, site: Site, kernel: int) -> None:
        super().__init__(bank=(site, kernel))
        self.conv = nn.Conv2d(site.inputs, site.outputs, kernel, site.stride, kernel // 2, bias=False)
        self.norm = site.norm()

    def body(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(F.relu(x))
        return y

    @classmethod
    def fan_out(cls, ops: Sequence["ReLUConvNorm"], source: SourceNode) -> Tensor:
        return convolve(source.relu, [op.conv for op in ops])

    def python_source(self) -> PythonSource:
        return PythonSource(f"partial(ReLUConvNorm, kernel={self.conv.kernel_size[0]})")


class ConvNormReLU(Op):
    """Convolution, batch-norm, ReLU: NAS-Bench-101's order."""

    def __init__(self, site: Site, kernel: int) -> None:
        super().__init__(bank=(site, kernel))
        self.conv = nn.Conv2d(site.inputs, site.outputs, kernel, site.stride, kernel // 2, bias=False)
        self.inner = site.norm()

    def body(self, x: Tensor) -> Tensor:
        return F.relu(self.inner(self.conv(x)))

    @classmethod
    def fan_out(cls, ops: Sequence["ConvNormReLU"], source: SourceNode) -> Tensor:
        y = convolve(source.x, [op.conv for op in ops])
        return F.relu_(normalize(y, [op.inner for op in ops]))

    def python_source(self) -> PythonSource:
        return PythonSource(f"partial(ConvNormReLU, kernel={self.conv.kernel_size[0]})", {"inner": "norm"})


class FactorizedConv(Op):
    """ReLU, a 1 x k and a k x 1 convolution, batch-norm."""

    def __init__(self, site: Site, kernel: int) -> None:
        super().__init__()
        half, stride = kernel // 2, site.stride
        self.rows = nn.Conv2d(site.inputs, site.outputs, (1, kernel), (1, stride), (0, half), bias=False)
        self.columns = nn.Conv2d(site.outputs, site.outputs, (kernel, 1), (stride, 1), (half, 0), bias=False)
        self.norm = site.norm()

    def body(self, x: Tensor) -> Tensor:
        y: Tensor = self.columns(self.rows(F.relu(x)))
        return y

    def python_source(self) -> PythonSource:
        return PythonSource(f"partial(FactorizedConv, kernel={self.rows.kernel_size[1]})")


register_kernels(
    "sep_conv_{k}x{k}", Separable, (3, 5, 7), "{k}x{k} depthwise separable convolution, applied twice."
)
register_kernels(
    "dil_conv_{k}x{k}",
    lambda site, kernel: Separable(site, kernel, dilation=2, twice=False),
    (3, 5),
    "{k}x{k} depthwise separable convolution of every other pixel.",
)
register_kernels("nor_conv_{k}x{k}", ReLUConvNorm, (1, 3), "ReLU, {k}x{k} convolution, batch-norm.")
register_kernels("conv_bn_relu_{k}x{k}", ConvNormReLU, (1, 3), "{k}x{k} convolution, batch-norm, ReLU.")
register_kernels(
    "conv_{k}x1_1x{k}", FactorizedConv, (7,), "1x{k} convolution, then {k}x1, in place of one of {k}x{k}."
)
