# mypy: disable-error-code="no-any-return"
"""An exported network around its cells, and how it is built and used.

The names in capital letters and `make_stem` are placeholders for those of an exported file.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from dartboard.export.blocks.cells import CellBlock

CLASSES: tuple[str, ...] = ()
INPUT = (3, 32, 32)
CENTRE = 1.0
MEAN = DEVIATION = (0.0, 0.0, 0.0)
KINDS: dict[str, Callable[[list[tuple[int, int]], int, int], CellBlock]] = {}
STACK: tuple[tuple[str, int, int], ...] = ()
HEAD_NORM = False
WEIGHTS = Path()


class Stem(nn.Module):
    """A 3x3 convolution, whose output is both inputs of the first cell."""

    def __init__(self, image: int, channels: int, *, stride: int, relu: bool) -> None:
        super().__init__()
        self.conv = nn.Conv2d(image, channels, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU() if relu else nn.Identity()
        self.features = [(channels, stride)] * 2

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.relu(self.norm(self.conv(x)))
        return x, x


class ImageNetStem(nn.Module):
    """Three 3x3 convolutions with stride 2; the outputs of the last two are the inputs of the first cell."""

    def __init__(self, image: int, channels: int, *, relu: bool) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(image, channels // 2, 3, 2, 1, bias=False),
            nn.BatchNorm2d(channels // 2),
            nn.ReLU(),
            nn.Conv2d(channels // 2, channels, 3, 2, 1, bias=False),
            nn.BatchNorm2d(channels),
        )
        self.second = nn.Sequential(
            nn.ReLU(), nn.Conv2d(channels, channels, 3, 2, 1, bias=False), nn.BatchNorm2d(channels)
        )
        self.relu = nn.ReLU() if relu else nn.Identity()
        self.features = [(channels, 4), (channels, 8)]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first = self.first(x)
        return self.relu(first), self.relu(self.second(first))


make_stem: Callable[[int], Stem] = partial(Stem, channels=16, stride=1, relu=False)


class Network(nn.Module):
    """The network: normalized images [N, C, H, W] to logits [N, classes].

    Args:
        classes: Number of classes.
        image: Channels of the images.
    """

    def __init__(self, classes: int = len(CLASSES), image: int = INPUT[0]) -> None:
        super().__init__()
        self.stem = make_stem(image)
        self.blocks, features = nn.ModuleList(), list(self.stem.features)
        for kind, width, stride in STACK:
            block = KINDS[kind](features[-2:], width, stride)
            self.blocks.append(block)
            features.append(block.features)
        self.num_features = features[-1][0]
        self.norm = (
            nn.Sequential(nn.BatchNorm2d(self.num_features), nn.ReLU()) if HEAD_NORM else nn.Identity()
        )
        self.head: nn.Module = nn.Linear(self.num_features, classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """Features before the global pooling [N, num_features, H, W]."""
        before, last = self.stem(x)
        for block in self.blocks:
            before, last = last, block(before, last)
        return self.norm(last)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.forward_features(x).mean(dim=(2, 3)))


def build(*, weights: bool = True) -> Network:
    """The network in evaluation mode, with the trained weights or with fresh ones."""
    net = Network()
    if weights:
        net.load_state_dict(read_weights(WEIGHTS))
    return net.eval()


def read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors in a file of safetensors: the length of a JSON header, the header, and the values."""
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    dtypes, weights = {"F32": torch.float32, "I64": torch.int64}, {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, end = entry["data_offsets"]
            dtype = dtypes[entry["dtype"]]
            values = torch.frombuffer(
                data, dtype=dtype, count=(end - first) // dtype.itemsize, offset=start + first
            )
            weights[name] = values.reshape(entry["shape"])
    return weights


def preprocess(images: Tensor) -> Tensor:
    """Normalized images, float32 [N, C, H, W], from pixels, uint8 [N, C, H, W]."""
    mean, std = (torch.tensor(value, device=images.device)[:, None, None] for value in (MEAN, DEVIATION))
    return (images - mean) / std


def read_image(path: str) -> Tensor:
    """The pixels of an image file in the size of the training images, uint8 [1, C, H, W]."""
    from PIL import Image, ImageOps

    channels, height, width = INPUT
    with Image.open(path) as image:
        upright = ImageOps.exif_transpose(image).convert({1: "L", 3: "RGB"}[channels])
    bleed = (1 - CENTRE) / 2
    pixels = ImageOps.fit(upright, (width, height), Image.Resampling.BILINEAR, bleed=bleed)
    values = torch.frombuffer(bytearray(pixels.tobytes()), dtype=torch.uint8)
    return values.view(1, height, width, channels).permute(0, 3, 1, 2)


def main(files: Sequence[str]) -> None:
    """Print the class of each image file, or of a random image if there is none."""
    net = build()
    for file in files or ["random image"]:
        pixels = read_image(file) if files else torch.randint(256, (1, *INPUT), dtype=torch.uint8)
        with torch.no_grad():
            probabilities = net(preprocess(pixels)).softmax(1)[0]
        best = int(probabilities.argmax())
        sys.stdout.write(f"{file}: {CLASSES[best]} ({probabilities[best]:.1%})\n")


class TimmNetwork(Network):
    """The network with the interface of timm models.

    Args:
        num_classes: Number of classes; 0 for none, it returns pooled features then.
        in_chans: Channels of the images.
    """

    def __init__(self, num_classes: int = len(CLASSES), in_chans: int = INPUT[0]) -> None:
        super().__init__(image=in_chans)
        self.head_hidden_size = self.num_features
        self.reset_classifier(num_classes)

    def get_classifier(self) -> nn.Module:
        """The last layer."""
        return self.head

    def reset_classifier(self, num_classes: int) -> None:
        """Replace the last layer by a new one for a number of classes; 0 for none."""
        self.num_classes = num_classes
        self.head = nn.Linear(self.num_features, num_classes) if num_classes else nn.Identity()

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Logits, or the input of the last layer, from features [N, num_features, H, W]."""
        pooled = x.mean(dim=(2, 3))
        return pooled if pre_logits else self.head(pooled)

    def forward(self, x: Tensor) -> Tensor:
        return self.forward_head(self.forward_features(x))
