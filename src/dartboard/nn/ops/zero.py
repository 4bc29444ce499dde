"""The absent edge."""

import torch
from torch import Tensor

from dartboard.nn.ops._base import OPS, Op, PythonSource, Site
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
