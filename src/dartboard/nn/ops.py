"""The ops: what may sit on an edge, each a registered builder.

An op computes `norm(body(x))`, or `body(x)` where it has no norm. The split is what lets the network fold
the last batch-norm of a candidate into its weight, and `fan_out` lets all copies of an op that leave one
node run as one (see `dartboard.nn.fast.fanout`). A plain `nn.Module` is a valid op too: it is wrapped and
simply called.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.fast.depthwise import depthwise
from dartboard.nn.fast.norm import normalise, normalise_relu_depthwise
from dartboard.nn.node_source import Source
from dartboard.registry import Registry
from dartboard.space.spec import NONE


@dataclass(frozen=True)
class Site:
    """Where an op is put.

    Args:
        inputs: Channels that enter.
        outputs: Channels that leave.
        stride: 2 where the op halves the resolution (rounding up), else 1.
        affine: Whether batch-norms have a scale and a shift to learn.
        pool_norm: Whether a pooling ends in a batch-norm.
    """

    inputs: int
    outputs: int
    stride: int = 1
    affine: bool = True
    pool_norm: bool = False

    def norm(self) -> nn.BatchNorm2d:
        """A batch-norm for what leaves."""
        return nn.BatchNorm2d(self.outputs, affine=self.affine)


OPS: Registry[Callable[[Site], nn.Module]] = Registry("op", "dartboard.ops")


def build_op(name: str, site: Site) -> "Op":
    """The op registered under `name`, built for `site`."""
    module = OPS[name](site)
    return module if isinstance(module, Op) else Wrapped(module)


class Op(nn.Module):
    """Base of the ops that take part in shared and fused computation."""

    norm: nn.BatchNorm2d | None
    bank: Hashable
    """Copies with equal banks can run as one in `fan_out`; None stands alone."""
    shared: ClassVar[bool] = False
    """Whether all copies that leave a node have the same body: no weights, nothing but the input."""
    passthrough: ClassVar[bool] = False
    """Whether the op hands its input on unchanged; drop-path leaves such an op alone."""

    def __init__(self, bank: Hashable = None) -> None:
        super().__init__()
        self.norm = None
        self.bank = None if bank is None else (type(self), bank)

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        return y if self.norm is None else self.norm(y)

    def body(self, x: Tensor) -> Tensor:
        """Everything before the norm."""
        raise NotImplementedError

    @classmethod
    def fan_out(cls, ops: Sequence[Any], source: Source) -> Tensor:
        """The bodies of `ops`, all reading `source`, their channels one after the other; one if shared."""
        if len(ops) > 1 and not cls.shared:
            raise NotImplementedError(f"{cls.__name__} has a bank, but no fan_out for {len(ops)} copies")
        result: Tensor = ops[0].body(source.x)
        return result


class Wrapped(Op):
    """Any module as an op."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def body(self, x: Tensor) -> Tensor:
        result: Tensor = self.module(x)
        return result


class Zero(Op):
    """The absent edge: zeros. The network leaves it out instead of computing it."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site

    def body(self, x: Tensor) -> Tensor:
        stride = self.site.stride
        return torch.zeros_like(x[:, :1, ::stride, ::stride]).expand(-1, self.site.outputs, -1, -1)


class Identity(Op):
    """Hands its input on."""

    shared = True
    passthrough = True

    def __init__(self) -> None:
        super().__init__(bank=0)

    def body(self, x: Tensor) -> Tensor:
        return x


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


class AvgPool(MaxPool):
    """3x3 average-pooling that leaves the padding out of the mean."""

    def body(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(x, 3, self.stride, 1, count_include_pad=False)


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
    def fan_out(cls, ops: Sequence["ReLUConvNorm"], source: Source) -> Tensor:
        return _convolve(source.relu, [op.conv for op in ops])


class ConvNormReLU(Op):
    """Convolution, batch-norm, ReLU: NAS-Bench-101's order."""

    def __init__(self, site: Site, kernel: int) -> None:
        super().__init__(bank=(site, kernel))
        self.conv = nn.Conv2d(site.inputs, site.outputs, kernel, site.stride, kernel // 2, bias=False)
        self.inner = site.norm()

    def body(self, x: Tensor) -> Tensor:
        return F.relu(self.inner(self.conv(x)))

    @classmethod
    def fan_out(cls, ops: Sequence["ConvNormReLU"], source: Source) -> Tensor:
        y = _convolve(source.x, [op.conv for op in ops])
        return F.relu_(normalise(y, [op.inner for op in ops]))


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
        return torch.cat([self.even(x), self.odd(_shifted(x))], dim=1)

    @classmethod
    def fan_out(cls, ops: Sequence["FactorizedReduce"], source: Source) -> Tensor:
        even = _convolve(source.relu, [op.even for op in ops]).chunk(len(ops), dim=1)
        odd = _convolve(_shifted(source.relu), [op.odd for op in ops]).chunk(len(ops), dim=1)
        return torch.cat([half for pair in zip(even, odd, strict=True) for half in pair], dim=1)


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
    def fan_out(cls, ops: Sequence["Separable"], source: Source) -> Tensor:
        layers, copies = [op.first for op in ops], len(ops)
        stride, dilation = layers[0].stride, layers[0].dilation
        spread = torch.cat([layer.depthwise.weight for layer in layers])
        x = depthwise(source.relu, spread, stride=stride, dilation=dilation, tiled=source.tiled_relu(copies))
        x = F.conv2d(x, torch.cat([layer.pointwise.weight for layer in layers]), groups=copies)
        layers = [op.second for op in ops if op.second is not None]
        if not layers:
            return x
        spread = torch.cat([layer.depthwise.weight for layer in layers])
        norms = [op.inner for op in ops if op.inner is not None]
        x = normalise_relu_depthwise(x, norms, spread, dilation=dilation)
        return F.conv2d(x, torch.cat([layer.pointwise.weight for layer in layers]), groups=copies)


def _convolve(x: Tensor, convolutions: Sequence[nn.Conv2d]) -> Tensor:
    """Convolutions of one geometry that read the same input, their channels one after the other."""
    first = convolutions[0]
    weight = first.weight if len(convolutions) == 1 else torch.cat([conv.weight for conv in convolutions])
    return F.conv2d(x, weight, None, first.stride, first.padding)


def _shifted(x: Tensor) -> Tensor:
    """The image without its first row and column, so that a stride of 2 reads the odd pixels."""
    return F.pad(x, (0, x.shape[3] % 2, 0, x.shape[2] % 2))[:, :, 1:, 1:]  # odd sizes end in a zero


OPS.register(NONE)(Zero)
OPS.register("max_pool_3x3")(MaxPool)
OPS.register("avg_pool_3x3")(AvgPool)


@OPS.register("skip_connect")
def skip_connect(site: Site) -> Op:
    """The input itself, or a factorized reduction where size or channels change."""
    if site.stride == 2:
        return FactorizedReduce(site)
    return Identity() if site.inputs == site.outputs else ReLUConvNorm(site, 1)


def _register_kernels(
    name: str, build: Callable[[Site, int], Op], kernels: Sequence[int], about: str
) -> None:
    def builder(kernel: int) -> Callable[[Site], Op]:
        def make(site: Site) -> Op:
            return build(site, kernel)

        make.__doc__ = about.format(k=kernel)
        return make

    for kernel in kernels:
        OPS.register(name.format(k=kernel))(builder(kernel))


def _dilated(site: Site, kernel: int) -> Op:
    return Separable(site, kernel, dilation=2, twice=False)


_register_kernels(
    "sep_conv_{k}x{k}", Separable, (3, 5, 7), "{k}x{k} depthwise separable convolution, applied twice."
)
_register_kernels(
    "dil_conv_{k}x{k}", _dilated, (3, 5), "{k}x{k} depthwise separable convolution of every other pixel."
)
_register_kernels("nor_conv_{k}x{k}", ReLUConvNorm, (1, 3), "ReLU, {k}x{k} convolution, batch-norm.")
_register_kernels("conv_bn_relu_{k}x{k}", ConvNormReLU, (1, 3), "{k}x{k} convolution, batch-norm, ReLU.")
_register_kernels(
    "conv_{k}x1_1x{k}", FactorizedConv, (7,), "1x{k} convolution, then {k}x1, in place of one of {k}x{k}."
)
