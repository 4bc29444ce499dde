"""What the tests of landscapes share: a small network with its images, and the plain way to move it."""

from copy import deepcopy
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.analysis.measures import draw_direction, weights_of
from dartboard.data import ImageSet
from dartboard.nn import Model
from dartboard.nn.model_file import LAST, load_model, pack_model
from dartboard.nn.network import CellNet
from dartboard.space import SearchSpace
from dartboard.utils.checksums import write_file
from helpers.networks import build
from helpers.train_cases import cells

MEAN, DEVIATION = (100.0, 120.0, 130.0), (60.0, 50.0, 70.0)


def random_model(
    *, dtype: torch.dtype = torch.float64, space: str | SearchSpace = "nano", **options: object
) -> Model:
    """A network with weights and statistics by chance."""
    own = cells(space) if isinstance(space, str) else space
    net = build(own, dtype=dtype, **({"search": False} | options)).eval()
    return Model(net, tuple("abcde"), MEAN, DEVIATION)


def images(count: int = 24, seed: int = 0) -> ImageSet:
    """Images of 8x8 pixels by chance."""
    chance = torch.Generator().manual_seed(seed)
    pixels = torch.randint(256, (count, 3, 8, 8), dtype=torch.uint8, generator=chance)
    return ImageSet(pixels, torch.arange(count) % 5)


def normalized(own: ImageSet, dtype: torch.dtype = torch.float64) -> Tensor:
    """The images as networks take them."""
    mean, std = (torch.tensor(v, dtype=torch.float32)[:, None, None] for v in (MEAN, DEVIATION))
    return ((own.images.float() - mean) / std).to(dtype)


def displaced(net: CellNet, a: float, b: float, **kind: object) -> CellNet:
    """A copy of a network at a point, each weight added up by itself."""
    own = deepcopy(net)
    weights = list(weights_of(own).values())
    pairs = [draw_direction(weights, number, **kind) for number in (1, 2)]  # type: ignore[arg-type]
    with torch.no_grad():
        for weight, first, second in zip(weights, *pairs, strict=True):
            weight.copy_(weight + a * first + b * second)
    return own


def gradients(net: CellNet, x: Tensor, y: Tensor) -> Tensor:
    """The gradient of the mean loss in all weights, as one vector."""
    loss = F.cross_entropy(net(x), y)
    return torch.cat([own.flatten() for own in torch.autograd.grad(loss, list(weights_of(net).values()))])


def differ_at_the_end(run: str | Path) -> None:
    """Makes the last network of a training another one than its best."""
    last = Path(run) / LAST
    own = load_model(last)
    with torch.no_grad():
        for weight in own.net.parameters():
            weight.mul_(1.5)
    write_file(last, pack_model(own))
