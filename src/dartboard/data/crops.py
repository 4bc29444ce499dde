"""Boxes in images, and what is seen through them at an image's size."""

import torch
import torch.nn.functional as F
from torch import Tensor

ASPECTS = (3 / 4, 4 / 3)
"""The narrowest and the widest random box, width over height (Szegedy et al. 2015)."""


def random_boxes(draws: Tensor, area: float, height: int, width: int) -> Tensor:
    """Boxes within an image, each a random part of it.

    A box has a share of the image's area that is even between `area` and 1, and an aspect whose logarithm is
    even between those of `ASPECTS` with which such a box fits, or the nearest that fits where none of them
    does; every place where it fits is as likely as any other.

    Args:
        draws: Even between 0 and 1, [N, 4].
        area: The smallest share.
        height: Of the image.
        width: Of the image.

    Returns:
        Top, left, height and width of each box in pixels, float64 [N, 4].
    """
    share, aspect, down, right = draws.double().unbind(1)
    share = area + (1 - area) * share
    narrowest, widest = share * (width / height), width / (share * height)  # of the boxes that fit
    first, last = (torch.full_like(share, own).clamp(narrowest, widest) for own in ASPECTS)
    aspect = first * (last / first) ** aspect
    high = (share * height * width / aspect).sqrt().clamp(max=height)
    wide = (high * aspect).clamp(max=width)
    return torch.stack([down * (height - high), right * (width - wide), high, wide], 1)


def central_box(side: float, height: int, width: int) -> Tensor:
    """The middle of an image: top, left, height and width of the box whose sides are this share of the
    image's; float64 [1, 4].
    """
    margin = (1 - side) / 2
    return torch.tensor([[margin * height, margin * width, side * height, side * width]], dtype=torch.float64)


def view(x: Tensor, boxes: Tensor) -> Tensor:
    """What is seen through a box in each image, at the image's size; bilinear, rounded.

    Args:
        x: Pixels, uint8 [N, C, H, W].
        boxes: Top, left, height and width in pixels, float32 [N, 4].
    """
    top, left, high, wide = boxes.unbind(1)
    rows, columns = _places(top, high, x.shape[2]), _places(left, wide, x.shape[3])
    size = (len(x), *x.shape[2:])
    grid = torch.stack([columns[:, None, :].expand(size), rows[:, :, None].expand(size)], 3)
    seen = F.grid_sample(x.float(), grid, padding_mode="border", align_corners=False)
    return seen.round_().to(torch.uint8)


def _places(first: Tensor, length: Tensor, size: int) -> Tensor:
    """Where in `size` pixels the middles of as many equal parts of a stretch lie, as `grid_sample` counts:
    from -1, the first pixel's edge, to 1, the last one's; float32 [N, size].
    """
    middles = (torch.arange(size, device=first.device) + 0.5) / size
    return (first[:, None] + middles * length[:, None]) * (2 / size) - 1
