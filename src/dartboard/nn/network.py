"""The network of a space: one class for supernets and for discrete networks.

The space says which network it is. A search space gives the supernet; for the network of a genotype pass
`restrict(space, genotype)`, or `adopt(space, genotype)` if its cells come from another space
(`dartboard.space.genotype`). `dartboard.nn.inherit.inherit` then copies the supernet's weights into it.

Its parts other than cells follow it: stems, the block between stages, the classifier and the auxiliary head.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.cell import BatchRows, CellModule, CellOptions, FeatureInfo
from dartboard.nn.fast.depthwise import channels_last
from dartboard.nn.mixture import Live, Mixture, uniform
from dartboard.nn.ops import ReLUConvNorm, Site
from dartboard.registry import Registry
from dartboard.space.spec import SearchSpace, Slot

IMAGENET_SIZE = 128
"""From this many pixels on, the automatic stem is the one for ImageNet."""


@dataclass(frozen=True)
class NetConfig:
    """Everything about a network that is not its architecture.

    Args:
        channels: The first stage's channels.
        classes: How many classes there are.
        input: Channels, height and width of the images.
        stem: A registered stem; `auto` chooses by the size of the images.
        auxiliary: Whether there is an auxiliary classifier after the last reduction.
        drop_path: The probability with which an edge is dropped for an example, in training.
        partial: Only one in this many channels passes the candidates (PC-DARTS' K).
        search: Build the network as in a search: batch-norms without scale and shift, and one after each
            pooling where the space says so. Built so, the restriction of a supernet equals the supernet
            under a one-hot mixture.
        mix: `fused` is the default and fast; `plain` is the formula as papers write it.

    Examples:
        >>> from dartboard import NetConfig
        >>> NetConfig(channels=36, classes=100, input=(3, 224, 224)).stem_name
        'imagenet'
    """

    channels: int = 16
    classes: int = 10
    input: tuple[int, int, int] = (3, 32, 32)
    stem: str = "auto"
    auxiliary: bool = False
    drop_path: float = 0.0
    partial: int = 1
    search: bool = False
    mix: Literal["fused", "plain"] = "fused"

    def __post_init__(self) -> None:
        for name in ("channels", "classes", "partial"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise NetworkError(f"{name} must be a whole number, not {value!r}")
            if value < 1:
                raise NetworkError(f"{name} must be at least 1, not {value}")
        if len(tuple(self.input)) != 3 or min(self.input) < 1:
            raise NetworkError(f"input is channels, height and width, all positive, not {self.input}")
        _check_probability(self.drop_path)
        if self.mix not in ("fused", "plain"):
            raise NetworkError(f"mix must be 'fused' or 'plain', not {self.mix!r}")

    @property
    def stem_name(self) -> str:
        """The stem, `auto` resolved."""
        if self.stem != "auto":
            return self.stem
        return "imagenet" if min(self.input[1:]) >= IMAGENET_SIZE else "small"


def _check_probability(drop_path: float) -> None:
    if not 0 <= drop_path < 1:
        raise NetworkError(f"drop_path must be in [0, 1), not {drop_path}")


class CellNet(nn.Module):
    """The network of a space: every candidate in a supernet, one op per edge where nothing is left to choose.

    Args:
        space: Specification of the cells and their stack.
        config: Everything else: channels, classes, size of the images.

    Attributes:
        drop_path: The probability with which an edge is dropped for an example, in training; starts as
            the configuration's, and a schedule may set it.
        auxiliary_slot: The slot whose output the auxiliary head reads: the last that halves the resolution.

    Examples:
        >>> import torch
        >>> from dartboard import CellNet, NetConfig, get_space
        >>> net = CellNet(get_space("nano"), NetConfig(channels=4, input=(1, 8, 8), search=True))
        >>> net(torch.rand(2, 1, 8, 8)).shape
        torch.Size([2, 10])
    """

    def __init__(self, space: SearchSpace, config: NetConfig) -> None:
        super().__init__()
        self.space, self.config = space, config
        self._drop_path = config.drop_path
        image, stack = config.input[0], space.stack
        self.stem = STEMS[config.stem_name](image, config.channels, stack.stem)
        features = [FeatureInfo(self.stem.channels, scale) for scale in self.stem.scales]
        strided = [index for index, slot in enumerate(space.slots) if slot.stride == 2]
        # pixels a side, so that each reduction has two to halve
        least = features[-1].scale * 2 ** len(strided)
        if min(config.input[1:]) < least:
            height, width = config.input[1:]
            raise NetworkError(
                f"images of {height}x{width} are too small for the stem {config.stem_name!r} and the "
                f"{len(strided)} reductions of space {space.name!r}; use at least {least}x{least}"
            )
        self.slots = nn.ModuleList()
        for slot in space.slots:
            module, feature = self._build(slot, features[-2:])
            self.slots.append(module)
            features.append(feature)
        self.auxiliary_slot = strided[-1] if strided else len(space.slots) - 1
        channels = features[len(self.stem.scales) + self.auxiliary_slot].channels
        self.auxiliary = AuxiliaryHead(channels, config.classes) if config.auxiliary else None
        self.head = Classifier(features[-1].channels, config.classes, norm=stack.head_norm)

    @property
    def drop_path(self) -> float:
        return self._drop_path

    @drop_path.setter
    def drop_path(self, probability: float) -> None:
        _check_probability(probability)
        self._drop_path = probability

    def _build(self, slot: Slot, features: list[FeatureInfo]) -> tuple[nn.Module, FeatureInfo]:
        """The module of a slot that reads `features`, and what leaves it."""
        config, stack = self.config, self.space.stack
        width, last = config.channels * slot.width, features[-1]
        if not slot.group:
            if stack.reduce == "residual":
                return ResidualReduction(last.channels, width), FeatureInfo(width, 2 * last.scale)
            # NAS-Bench-101's step between stages
            return nn.MaxPool2d(2, ceil_mode=True), FeatureInfo(last.channels, 2 * last.scale)
        cell = self.space.cells[slot.group]
        pool_norm = stack.pool_norm and config.search
        plain = config.mix == "plain"
        options = CellOptions(width, slot.stride, not config.search, pool_norm, config.partial, plain)
        module = CellModule(cell, features[-cell.inputs :], options)
        return module, module.feature_info

    def forward(
        self,
        x: Tensor,
        mixture: Mixture | None = None,
        *,
        auxiliary: bool = False,
        rows: BatchRows | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Logits [B, classes], or with `auxiliary` those and the auxiliary classifier's.

        Args:
            x: Images [B, C, H, W].
            mixture: How candidates are blended; None for equal weights, which in a discrete network is
                no choice at all.
            auxiliary: Whether to compute the auxiliary classifier too; the network must have one.
            rows: Where the images lie in a larger batch, for which random draws are made; None for a batch
                by itself.
        """
        if mixture is None:
            mixture = uniform(self.space, like=x)
        if self.config.mix == "fused":
            x = channels_last(x)
        states, auxiliary_input = self.stem(x), None
        if self.space.stack.stem_relu:
            states = [F.relu(state) for state in states]
        for index, module in enumerate(self.slots):
            if isinstance(module, CellModule):
                entering = states[-module.cell.inputs :]
                y = module(entering, mixture.blend(index), self._drop_path, rows)
            else:
                y = module(states[-1])
            states = [states[-1], y]
            auxiliary_input = y if index == self.auxiliary_slot else auxiliary_input
        logits: Tensor = self.head(states[-1])
        if not auxiliary:
            return logits
        if self.auxiliary is None:
            raise NetworkError("this network has no auxiliary head; build it with NetConfig(auxiliary=True)")
        return logits, self.auxiliary(auxiliary_input)

    def prune(self, live: Mapping[str, Live]) -> list[nn.Parameter]:
        """Removes for good all candidates but those in `live`, by group; mixtures must not name them again.

        Returns:
            The parameters of the removed candidates, to be taken out of their optimizer.
        """
        removed: list[nn.Parameter] = []
        for slot, module in zip(self.space.slots, self.slots, strict=True):
            if isinstance(module, CellModule):
                removed += module.prune(live[slot.group])
        return removed


STEMS: Registry[Callable[[int, int, int], "Stem"]] = Registry("stem")
"""Builders of stems from the image's channels, the network's first, and the multiple the stack asks for."""


class Stem(nn.Module):
    """The first layers of a network: from an image to the inputs of the first cell.

    Args:
        stages: Applied one after the other; the outputs of the last two enter the first cell.
        scales: How many times smaller than the image each of these outputs is.
        channels: Channels of the outputs.
    """

    def __init__(self, stages: list[nn.Module], scales: tuple[int, int], channels: int) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)
        self.scales, self.channels = scales, channels

    def forward(self, x: Tensor) -> list[Tensor]:
        outputs = []
        for stage in self.stages:
            x = stage(x)
            outputs.append(x)
        return [outputs[-2] if len(outputs) > 1 else x, x]


def _conv_norm(inputs: int, outputs: int, stride: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)]


@STEMS.register("small")
def small_stem(image: int, channels: int, multiple: int) -> Stem:
    """A 3x3 convolution, for images of up to about 64 pixels (CIFAR)."""
    width = multiple * channels
    return Stem([nn.Sequential(*_conv_norm(image, width, 1))], (1, 1), width)


@STEMS.register("half")
def half_stem(image: int, channels: int, multiple: int) -> Stem:
    """A 3x3 convolution with stride 2 (Tiny-ImageNet, understanding-cells appendix A)."""
    width = multiple * channels
    return Stem([nn.Sequential(*_conv_norm(image, width, 2))], (2, 2), width)


@STEMS.register("imagenet")
def imagenet_stem(image: int, channels: int, _multiple: int) -> Stem:
    """Three convolutions with stride 2: DARTS' ImageNet stem, 224 pixels to 56 and 28; never widened."""
    if channels < 2:
        raise NetworkError(f"the ImageNet stem needs at least 2 channels, not {channels}")
    first = nn.Sequential(
        *_conv_norm(image, channels // 2, 2), nn.ReLU(), *_conv_norm(channels // 2, channels, 2)
    )
    second = nn.Sequential(nn.ReLU(), *_conv_norm(channels, channels, 2))
    return Stem([first, second], (4, 8), channels)


class ResidualReduction(nn.Module):
    """NAS-Bench-201's block between stages: two 3x3 convolutions plus a pooled 1x1 shortcut."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = ReLUConvNorm(Site(inputs, outputs, stride=2), 3)
        self.second = ReLUConvNorm(Site(outputs, outputs), 3)
        self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        pooled = F.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False)
        result: Tensor = self.second(self.first(x)) + self.shortcut(pooled)
        return result


class Classifier(nn.Module):
    """Global average pooling and a linear layer, after a batch-norm and a ReLU with `norm`."""

    def __init__(self, channels: int, classes: int, *, norm: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels) if norm else None
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        if self.norm is not None:
            x = F.relu(self.norm(x))
        logits: Tensor = self.linear(x.mean(dim=(2, 3)))
        return logits


def quarter_means(x: Tensor) -> Tensor:
    """Adaptive average pooling of [B, C, H, W] to 2x2; torch's has no deterministic gradient on GPUs."""
    rows, columns = (
        (slice((size + 1) // 2), slice(size // 2, None))
        for size in x.shape[2:]  # odd sizes overlap
    )
    means = [[x[:, :, row, column].mean(dim=(2, 3)) for column in columns] for row in rows]
    return torch.stack([torch.stack(row, dim=-1) for row in means], dim=-2)


class AuxiliaryHead(nn.Module):
    """DARTS' auxiliary classifier, read two thirds up the stack, for any resolution.

    The stride of the 5x5 average-pooling is such that 2x2 values remain (3 on 8x8, 2 on 7x7, as in DARTS);
    maps under 6x6 are pooled adaptively.
    """

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, 128, 1, bias=False)
        self.squeeze_norm = nn.BatchNorm2d(128)
        self.expand = nn.Conv2d(128, 768, 2, bias=False)
        self.expand_norm = nn.BatchNorm2d(768)
        self.linear = nn.Linear(768, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(x)
        height, width = x.shape[2:]
        if min(height, width) < 6:
            x = quarter_means(x) if x.is_cuda else F.adaptive_avg_pool2d(x, 2)
        else:
            x = F.avg_pool2d(x, 5, (height - 5, width - 5))
        x = F.relu(self.squeeze_norm(self.squeeze(x)))
        x = F.relu(self.expand_norm(self.expand(x)))
        logits: Tensor = self.linear(x.flatten(1))
        return logits
