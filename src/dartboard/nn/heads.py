"""The network around the cells: stems, blocks between stages, the classifier and the auxiliary head."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from dartboard.errors import NetworkError
from dartboard.nn.ops import ReLUConvNorm, Site
from dartboard.registry import Registry

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


class PoolReduction(nn.Module):
    """NAS-Bench-101's step between stages: a 2x2 max-pooling."""

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool2d(x, 2, ceil_mode=True)


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
            x = F.adaptive_avg_pool2d(x, 2)
        else:
            x = F.avg_pool2d(x, 5, (height - 5, width - 5))
        x = F.relu(self.squeeze_norm(self.squeeze(x)))
        x = F.relu(self.expand_norm(self.expand(x)))
        logits: Tensor = self.linear(x.flatten(1))
        return logits
