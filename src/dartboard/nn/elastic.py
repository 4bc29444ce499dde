"""Choices of values that share weights: widths and kernel sizes of layers made for it.

A layer holds the weight of its largest size; a smaller one is a slice of it. With several sizes in a mixture,
what a layer gives is the sum over sizes of their weight times what the slice of that size gives, padded with
zeros to the largest that takes part. For widths that is one pass and a mask over channels, for kernels one
pass with the blended kernel, so that a mixture costs about what its largest size costs. Layers that read
such channels take as many as there are.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.choice import Decision
from dartboard.nn.mixture import Blend, Live
from dartboard.space.spec import Cell, Edge


class ValueChoice(Decision):
    """One of several whole numbers, for layers that have a size for each.

    In a model, `int(choice)` is the largest value that takes part in the pass that is computed; in the
    network that a search gives, the attribute is the number itself.

    Args:
        values: At least two different positive numbers; they are put in order.
        share: Name of a decision that several places share. The same object in several layers is one
            decision without it.

    Raises:
        NetworkError: If there are fewer than two values, or one is not positive.
    """

    def __init__(self, values: Sequence[int], *, share: str | None = None) -> None:
        super().__init__(share)
        self.values = tuple(sorted(set(values)))
        if len(self.values) < 2 or self.values[0] < 1:
            raise NetworkError(f"a choice is between two positive numbers or more, not {list(values)}")

    @property
    def largest(self) -> int:
        """The largest of all values."""
        return self.values[-1]

    def cell(self) -> Cell:
        return Cell(1, 2, (Edge(0, 1, tuple(map(str, self.values))),), (1,))

    def prune(self, live: Live) -> None:
        """Nothing is removed: sizes share their weights."""

    def decided(self, chosen: Cell) -> nn.Module:
        """Raises: a value is no module; `ChoiceNet.network` puts the number in its place."""
        raise NetworkError(f"a choice of values, {chosen.edges[0].ops[0]} here, cannot be a layer by itself")

    def __int__(self) -> int:
        return self.values[max(self.blend().live[0])]

    __index__ = __int__

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.values))


class WidthChoice(ValueChoice):
    """The number of channels or features: `WidthChoice([16, 32, 64])`.

    Examples:
        >>> import torch
        >>> from dartboard.nn import WidthChoice, elastic
        >>> width = WidthChoice([2, 4])
        >>> net = torch.nn.Sequential(elastic.Linear(3, width), torch.nn.ReLU(), elastic.Linear(width, 1))
        >>> net(torch.rand(5, 3)).shape
        torch.Size([5, 1])
    """


class KernelChoice(ValueChoice):
    """The size of a kernel, odd and the same along every side: `KernelChoice([3, 5, 7])`."""

    def __init__(self, values: Sequence[int], *, share: str | None = None) -> None:
        super().__init__(values, share=share)
        if any(value % 2 == 0 for value in self.values):
            raise NetworkError(f"kernels have a middle, so their sizes are odd; got {list(values)}")


class ElasticLayer(nn.Module):
    """A layer with sizes that may be choices."""

    @abstractmethod
    def decided(self, value: Callable[[ValueChoice], int]) -> nn.Module:
        """The layer of torch with the weights of the sizes that were chosen."""


Width = int | WidthChoice


def largest(size: int | ValueChoice) -> int:
    """The largest value of a size."""
    return size.largest if isinstance(size, ValueChoice) else size


def current(size: int | ValueChoice) -> int:
    """The largest value of a size that takes part in the pass that is computed."""
    return int(size)


def _value(size: int | ValueChoice, value: Callable[[ValueChoice], int]) -> int:
    return value(size) if isinstance(size, ValueChoice) else size


def blend_channels(y: Tensor, width: Width, axis: int) -> Tensor:
    """What a layer gives for its largest width, with the slices of all widths blended.

    Args:
        y: The output of the largest width that takes part.
        width: The width of the layer.
        axis: The axis of the channels.
    """
    if isinstance(width, int):
        return y
    blend = width.blend()
    (live,) = blend.live
    if len(live) == 1:
        weight = None if blend.ops is None else blend.ops[..., 0, live[0]]
        return y if weight is None else y * _like(weight, y, axis, channels=False)
    masks = _masks(width, live, y.shape[axis]).to(y)
    shape = [1] * y.dim()
    shape[axis] = y.shape[axis]
    if blend.attend is not None:
        weights = blend.attend(0, [y * mask.view(shape) for mask in masks])
    elif blend.ops is None:
        weights = y.new_ones(len(live))
    else:
        weights = blend.ops[..., 0, list(live)].to(y)
    return y * _like(weights @ masks, y, axis, channels=True)


def _masks(width: WidthChoice, live: Sequence[int], channels: int) -> Tensor:
    """For each live width a row of ones for the channels that it has [live, channels]."""
    sizes = torch.tensor([[width.values[place]] for place in live])
    return (torch.arange(channels) < sizes).float()


def _like(weight: Tensor, y: Tensor, axis: int, *, channels: bool) -> Tensor:
    """Weights [], [B], [C] or [B, C] in the shape that multiplies `y`."""
    shape = [1] * y.dim()
    if channels:
        shape[axis] = y.shape[axis]
    if weight.dim() > channels:
        shape[0] = len(weight)
    return weight.to(y).reshape(shape)


class Linear(ElasticLayer):
    """`torch.nn.Linear` whose features may be a `WidthChoice`."""

    def __init__(self, in_features: Width, out_features: Width, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        full = nn.Linear(largest(in_features), largest(out_features), bias)
        self.weight, self.bias = full.weight, full.bias

    def forward(self, x: Tensor) -> Tensor:
        outputs, inputs = current(self.out_features), x.shape[-1]
        y = F.linear(x, self.weight[:outputs, :inputs], _sliced(self.bias, outputs))
        return blend_channels(y, self.out_features, y.dim() - 1)

    def decided(self, value: Callable[[ValueChoice], int]) -> nn.Module:
        inputs, outputs = _value(self.in_features, value), _value(self.out_features, value)
        layer = nn.Linear(inputs, outputs, self.bias is not None)
        return _filled(layer, {"weight": self.weight[:outputs, :inputs], "bias": _sliced(self.bias, outputs)})


class Embedding(ElasticLayer):
    """`torch.nn.Embedding` whose dimension may be a `WidthChoice`."""

    def __init__(self, num_embeddings: int, embedding_dim: Width) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = nn.Embedding(num_embeddings, largest(embedding_dim)).weight

    def forward(self, x: Tensor) -> Tensor:
        y = F.embedding(x, self.weight[:, : current(self.embedding_dim)])
        return blend_channels(y, self.embedding_dim, y.dim() - 1)

    def decided(self, value: Callable[[ValueChoice], int]) -> nn.Module:
        width = _value(self.embedding_dim, value)
        return _filled(nn.Embedding(self.num_embeddings, width), {"weight": self.weight[:, :width]})


class _Conv(ElasticLayer):
    """A convolution whose channels may be a `WidthChoice` and whose kernel a `KernelChoice`.

    Args:
        in_channels: The channels that enter.
        out_channels: The channels that leave.
        kernel_size: The size of the kernel along every side.
        stride: As in torch.
        padding: As in torch, for the largest kernel; smaller ones have as much less as they are smaller, so
            that all give the same size. None for as much as keeps the size with stride 1.
        dilation: As in torch.
        groups: 1, or `depthwise` for a group for each channel, where both widths are the same.
        bias: Whether there is one.
    """

    layer: type[nn.Conv1d | nn.Conv2d | nn.Conv3d]
    sides: int

    def __init__(
        self,
        in_channels: Width,
        out_channels: Width,
        kernel_size: int | KernelChoice,
        stride: int = 1,
        padding: int | None = None,
        dilation: int = 1,
        groups: int | str = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if groups not in (1, "depthwise"):
            raise NetworkError(f"groups are 1 or 'depthwise' where widths can be chosen, not {groups!r}")
        self.depthwise = groups == "depthwise"
        if self.depthwise and in_channels is not out_channels and in_channels != out_channels:
            raise NetworkError("a depthwise convolution gives the channels it gets: give one width twice")
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.dilation = stride, dilation
        size = largest(kernel_size)
        self.padding = dilation * (size - 1) // 2 if padding is None else padding
        smallest = kernel_size.values[0] if isinstance(kernel_size, KernelChoice) else size
        if self.padding < dilation * (size - smallest) // 2:
            raise NetworkError(
                f"a padding of {self.padding} is too small for kernels of {smallest} to {size} to give the "
                f"same size; set at least {dilation * (size - smallest) // 2}"
            )
        inputs, outputs = largest(in_channels), largest(out_channels)
        full = self.layer(inputs, outputs, size, groups=inputs if self.depthwise else 1, bias=bias)
        self.weight, self.bias = full.weight, full.bias

    def forward(self, x: Tensor) -> Tensor:
        outputs = current(self.out_channels)
        weight = self.weight[:outputs] if self.depthwise else self.weight[:outputs, : x.shape[1]]
        y = self._convolve(x, weight, _sliced(self.bias, outputs))
        return blend_channels(y, self.out_channels, 1)

    def _convolve(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        size = self.kernel_size
        if isinstance(size, int):
            return self._pass(x, weight, bias, size)
        blend = size.blend()
        (live,) = blend.live
        sizes = [size.values[place] for place in live]
        if len(live) == 1:
            y = self._pass(x, self._cropped(weight, sizes[0]), bias, sizes[0])
            ops = None if blend.ops is None else blend.ops[..., 0, live[0]]
            return y if ops is None else y * _like(ops, y, 1, channels=False)
        if blend.attend is None and (blend.ops is None or blend.ops.dim() == 2):
            return self._blended(x, weight, bias, blend, size)
        outputs = [self._pass(x, self._cropped(weight, each), bias, each) for each in sizes]
        if blend.attend is not None:
            weights = blend.attend(0, outputs).unbind(-1)
        else:
            weights = blend.ops[..., 0, list(live)].unbind(-1)  # type: ignore[index]
        terms = [y * _like(each, y, 1, channels=False) for y, each in zip(outputs, weights, strict=True)]
        return sum(terms[1:], terms[0])

    def _blended(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, blend: Blend, size: KernelChoice
    ) -> Tensor:
        """One pass with the blended kernel: a convolution is linear in it."""
        (live,) = blend.live
        most = size.values[max(live)]
        total, mass = torch.zeros_like(self._cropped(weight, most)), x.new_zeros(())
        for place in live:
            each = size.values[place]
            scale = x.new_ones(()) if blend.ops is None else blend.ops[0, place].to(x)
            padded = F.pad(self._cropped(weight, each), [(most - each) // 2] * 2 * self.sides)
            total, mass = total + scale * padded, mass + scale
        return self._pass(x, total, None if bias is None else mass * bias, most)

    def _cropped(self, weight: Tensor, size: int) -> Tensor:
        """The middle of a kernel."""
        start = (weight.shape[-1] - size) // 2
        for side in range(weight.dim() - self.sides, weight.dim()):
            weight = weight.narrow(side, start, size)
        return weight

    def _padding(self, size: int) -> int:
        return self.padding - self.dilation * (largest(self.kernel_size) - size) // 2

    def _pass(self, x: Tensor, weight: Tensor, bias: Tensor | None, size: int) -> Tensor:
        groups = len(weight) if self.depthwise else 1
        convolve: Callable[..., Tensor] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[self.sides]
        return convolve(x, weight, bias, self.stride, self._padding(size), self.dilation, groups)

    def decided(self, value: Callable[[ValueChoice], int]) -> nn.Module:
        inputs, outputs = _value(self.in_channels, value), _value(self.out_channels, value)
        size = _value(self.kernel_size, value)
        weight = self.weight[:outputs] if self.depthwise else self.weight[:outputs, :inputs]
        layer = self.layer(
            inputs,
            outputs,
            size,
            self.stride,
            self._padding(size),
            self.dilation,
            groups=inputs if self.depthwise else 1,
            bias=self.bias is not None,
        )
        return _filled(layer, {"weight": self._cropped(weight, size), "bias": _sliced(self.bias, outputs)})


class Conv1d(_Conv):
    """`torch.nn.Conv1d` whose channels may be a `WidthChoice` and whose kernel a `KernelChoice`."""

    layer, sides = nn.Conv1d, 1


class Conv2d(_Conv):
    """`torch.nn.Conv2d` whose channels may be a `WidthChoice` and whose kernel a `KernelChoice`."""

    layer, sides = nn.Conv2d, 2


class Conv3d(_Conv):
    """`torch.nn.Conv3d` whose channels may be a `WidthChoice` and whose kernel a `KernelChoice`."""

    layer, sides = nn.Conv3d, 3


class _BatchNorm(ElasticLayer):
    """A batch-norm whose channels may be a `WidthChoice`; each width has statistics of its own.

    Args:
        num_features: The channels.
        eps: As in torch.
        momentum: As in torch, but not None.
        affine: Whether there is a scale and a shift.
    """

    layer: type[nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d]
    running_mean: Tensor
    """For each width [W, C]."""
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(
        self, num_features: Width, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        widths = num_features.values if isinstance(num_features, WidthChoice) else (num_features,)
        self.widths, channels = widths, widths[-1]
        self.weight: nn.Parameter | None
        self.bias: nn.Parameter | None
        self.register_parameter("weight", nn.Parameter(torch.ones(channels)) if affine else None)
        self.register_parameter("bias", nn.Parameter(torch.zeros(channels)) if affine else None)
        self.register_buffer("running_mean", torch.zeros(len(widths), channels))
        self.register_buffer("running_var", torch.ones(len(widths), channels))
        self.register_buffer("num_batches_tracked", torch.zeros(len(widths), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        places: tuple[int, ...] = (0,)
        if isinstance(self.num_features, WidthChoice):
            (places,) = self.num_features.blend().live
        channels = x.shape[1]
        if channels != self.widths[max(places)]:
            raise NetworkError(f"a batch-norm of {self.widths[max(places)]} channels was given {channels}")
        if len(places) == 1 or not self.training:
            by_width = [self._normalize(x[:, : self.widths[place]], place) for place in places]
            if len(places) == 1:
                return blend_channels(by_width[0], self.num_features, 1)
            return blend_padded(by_width, self.num_features, places, 1)
        axes = [axis for axis in range(x.dim()) if axis != 1]
        with torch.no_grad():
            var, mean = torch.var_mean(x.float(), axes, correction=0)
            count = x.numel() // channels
            unbiased = var * (count / max(count - 1, 1))
            for place in places:
                width = self.widths[place]
                self.running_mean[place, :width].lerp_(mean[:width].to(self.running_mean), self.momentum)
                self.running_var[place, :width].lerp_(unbiased[:width].to(self.running_var), self.momentum)
                self.num_batches_tracked[place] += 1
        scale, shift = _sliced(self.weight, channels), _sliced(self.bias, channels)
        y = F.batch_norm(x, None, None, scale, shift, True, 0.0, self.eps)
        return blend_channels(y, self.num_features, 1)

    def _normalize(self, x: Tensor, place: int) -> Tensor:
        """A batch-norm of one width with its own statistics, which move in training mode."""
        width = self.widths[place]
        if self.training:
            self.num_batches_tracked[place] += 1
        return F.batch_norm(
            x,
            self.running_mean[place, :width],
            self.running_var[place, :width],
            _sliced(self.weight, width),
            _sliced(self.bias, width),
            self.training,
            self.momentum,
            self.eps,
        )

    def decided(self, value: Callable[[ValueChoice], int]) -> nn.Module:
        width = _value(self.num_features, value)
        place = self.widths.index(width)
        layer = self.layer(width, self.eps, self.momentum, self.weight is not None)
        return _filled(
            layer,
            {
                "weight": _sliced(self.weight, width),
                "bias": _sliced(self.bias, width),
                "running_mean": self.running_mean[place, :width],
                "running_var": self.running_var[place, :width],
                "num_batches_tracked": self.num_batches_tracked[place],
            },
        )


class BatchNorm1d(_BatchNorm):
    """`torch.nn.BatchNorm1d` whose channels may be a `WidthChoice`, with statistics for each width."""

    layer = nn.BatchNorm1d


class BatchNorm2d(_BatchNorm):
    """`torch.nn.BatchNorm2d` whose channels may be a `WidthChoice`, with statistics for each width."""

    layer = nn.BatchNorm2d


class BatchNorm3d(_BatchNorm):
    """`torch.nn.BatchNorm3d` whose channels may be a `WidthChoice`, with statistics for each width."""

    layer = nn.BatchNorm3d


class LayerNorm(ElasticLayer):
    """`torch.nn.LayerNorm` over a last axis whose size may be a `WidthChoice`."""

    def __init__(self, width: Width, eps: float = 1e-5) -> None:
        super().__init__()
        self.width, self.eps = width, eps
        self.weight = nn.Parameter(torch.ones(largest(width)))
        self.bias = nn.Parameter(torch.zeros(largest(width)))

    def forward(self, x: Tensor) -> Tensor:
        if isinstance(self.width, int):
            return self._normalize(x, self.width)
        (places,) = self.width.blend().live
        outputs = [self._normalize(x, self.width.values[place]) for place in places]
        if len(places) == 1:
            return blend_channels(outputs[0], self.width, x.dim() - 1)
        return blend_padded(outputs, self.width, places, x.dim() - 1)

    def _normalize(self, x: Tensor, width: int) -> Tensor:
        return F.layer_norm(x[..., :width], (width,), self.weight[:width], self.bias[:width], self.eps)

    def decided(self, value: Callable[[ValueChoice], int]) -> nn.Module:
        width = _value(self.width, value)
        layer = nn.LayerNorm(width, self.eps)
        return _filled(layer, {"weight": self.weight[:width], "bias": self.bias[:width]})


def blend_padded(outputs: Sequence[Tensor], width: Width, places: Sequence[int], axis: int) -> Tensor:
    """The outputs of several widths, padded with zeros to the largest and blended.

    Args:
        outputs: One for each width that takes part.
        width: The width of the layer, a choice.
        places: The positions of those widths.
        axis: The axis of the channels.
    """
    if isinstance(width, int):
        return outputs[0]
    most = max(output.shape[axis] for output in outputs)
    after = [0, 0] * (outputs[0].dim() - 1 - axis)  # axes after that of the channels come first in a padding
    padded = [F.pad(output, [*after, 0, most - output.shape[axis]]) for output in outputs]
    blend = width.blend()
    if blend.attend is not None:
        weights: Sequence[Tensor | None] = blend.attend(0, padded).unbind(-1)
    else:
        weights = [None if blend.ops is None else blend.ops[..., 0, place] for place in places]
    terms = [
        y if weight is None else y * _like(weight, y, axis, channels=False)
        for y, weight in zip(padded, weights, strict=True)
    ]
    return sum(terms[1:], terms[0])


def _sliced(values: Tensor | None, size: int) -> Any:
    return None if values is None else values[:size]


@torch.no_grad()
def _filled(layer: nn.Module, values: dict[str, Tensor | None]) -> nn.Module:
    """A layer of torch with these values, on their device and of their type."""
    first = next(value for value in values.values() if value is not None)
    layer.to(device=first.device, dtype=first.dtype if first.is_floating_point() else None)
    for name, value in values.items():
        if value is not None:
            getattr(layer, name).copy_(value)
    return layer
