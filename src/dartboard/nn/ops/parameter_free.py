"""The parameter-free ops: none, poolings, and the skip connection in all its forms."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.ops._base import OPS, Op, PythonSource, Site, SourceNode, build_op, convolve
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
    return Identity() if site.inputs == site.outputs else build_op("nor_conv_1x1", site)
