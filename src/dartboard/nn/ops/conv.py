"""Convolutions with a batch-norm and a ReLU, in the orders of DARTS and of NAS-Bench-101."""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.nn.fast.norm import normalize
from dartboard.nn.ops._base import Op, PythonSource, Site, SourceNode, convolve, register_kernels


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


register_kernels("nor_conv_{k}x{k}", ReLUConvNorm, (1, 3), "ReLU, {k}x{k} convolution, batch-norm.")
register_kernels("conv_bn_relu_{k}x{k}", ConvNormReLU, (1, 3), "{k}x{k} convolution, batch-norm, ReLU.")
register_kernels(
    "conv_{k}x1_1x{k}", FactorizedConv, (7,), "1x{k} convolution, then {k}x1, in place of one of {k}x{k}."
)
