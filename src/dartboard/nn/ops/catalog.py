"""The ops that ship with dartboard: none, poolings, the skip connection in all its forms, and convolutions.

Ops are listed in the order in which they are registered here.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.fast.depthwise import depthwise
from dartboard.nn.fast.norm import normalize, normalize_relu_depthwise
from dartboard.nn.ops._base import OPS, Op, PythonSource, Site, SourceNode
from dartboard.space.spec import NONE


@OPS.register(NONE)
class Zero(Op):
    """The absent edge: zeros. The network leaves it out instead of computing it."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site

    def body(self, x: Tensor) -> Tensor:
        stride = self.site.stride
        return torch.zeros_like(x[:, :1, ::stride, ::stride]).expand(-1, self.site.outputs, -1, -1)

    def python_source(self) -> PythonSource:
        return PythonSource("Zero")


@OPS.register("max_pool_3x3")
class MaxPool(Op):
    """3x3 max-pooling."""

    shared = True

    def __init__(self, site: Site) -> None:
        super().__init__(bank=site)
        if site.inputs != site.outputs:
            raise NetworkError(f"a pooling cannot turn {site.inputs} channels into {site.outputs}")
        self.stride = site.stride
        self.norm = site.norm() if site.pool_norm else None

    def body(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, 3, self.stride, 1)

    def python_source(self) -> PythonSource:
        return PythonSource("max_pool" if self.norm is None else "max_pool_norm", {"norm": "1"})


@OPS.register("avg_pool_3x3")
class AvgPool(MaxPool):
    """3x3 average-pooling that leaves the padding out of the mean."""

    def body(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 3, self.stride, 1, count_include_pad=False)

    def python_source(self) -> PythonSource:
        return PythonSource("avg_pool" if self.norm is None else "avg_pool_norm", {"norm": "1"})


class Identity(Op):
    """The input itself."""

    shared = True
    passthrough = True

    def __init__(self) -> None:
        super().__init__(bank=0)

    def body(self, x: Tensor) -> Tensor:
        return x

    def python_source(self) -> PythonSource:
        return PythonSource("identity")


class FactorizedReduce(Op):
    """ReLU, two strided 1x1 convolutions that read different pixels, batch-norm: the skip at stride 2."""

    def __init__(self, site: Site) -> None:
        super().__init__(bank=site)
        if site.outputs % 2:
            raise NetworkError(f"a skip at stride 2 needs an even number of channels, not {site.outputs}")
        self.even = nn.Conv2d(site.inputs, site.outputs // 2, 1, 2, bias=False)
        self.odd = nn.Conv2d(site.inputs, site.outputs // 2, 1, 2, bias=False)
        self.norm = site.norm()

    def body(self, x: Tensor) -> Tensor:
        x = F.relu(x)
        return torch.cat([self.even(x), self.odd(_odd_pixels(x))], dim=1)

    @classmethod
    def fan_out(cls, ops: Sequence["FactorizedReduce"], source: SourceNode) -> Tensor:
        even = convolve(source.relu, [op.even for op in ops]).chunk(len(ops), dim=1)
        odd = convolve(_odd_pixels(source.relu), [op.odd for op in ops]).chunk(len(ops), dim=1)
        return torch.cat([half for pair in zip(even, odd, strict=True) for half in pair], dim=1)

    def python_source(self) -> PythonSource:
        return PythonSource("FactorizedReduce")


def _odd_pixels(x: Tensor) -> Tensor:
    """The image without its first row and column, so that a stride of 2 reads the odd pixels."""
    return F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2))[:, :, 1:, 1:]  # odd sizes end in a zero


@OPS.register("skip_connect")
def skip_connect(site: Site) -> Op:
    """The input itself, or a factorized reduction where size or channels change."""
    if site.stride == 2:
        return FactorizedReduce(site)
    return Identity() if site.inputs == site.outputs else ReLUConvNorm(site, 1)


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


def convolve(x: Tensor, convolutions: Sequence[nn.Conv2d]) -> Tensor:
    """Convolutions of one geometry that read the same input, their channels one after the other."""
    first = convolutions[0]
    weight = first.weight if len(convolutions) == 1 else torch.cat([conv.weight for conv in convolutions])
    return F.conv2d(x, weight, None, first.stride, first.padding)


def register_kernels(
    name: str, build: Callable[[Site, int], Op], kernels: Sequence[int], description: str
) -> None:
    """Registers an op for several kernel sizes, which {k} stands for in its name and one-line description."""
    for kernel in kernels:

        def builder(site: Site, kernel: int = kernel) -> Op:
            return build(site, kernel)

        builder.__doc__ = description.format(k=kernel)
        OPS.register(name.format(k=kernel), stacklevel=2)(builder)


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
