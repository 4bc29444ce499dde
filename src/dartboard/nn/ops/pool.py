"""Poolings."""

import torch.nn.functional as F
from torch import Tensor

from dartboard.errors import NetworkError
from dartboard.nn.ops._base import OPS, Op, PythonSource, Site


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
