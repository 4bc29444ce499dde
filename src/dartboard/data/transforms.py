"""Random changes to a batch of images, each example by its own draw, all examples at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.data._check import check_count
from dartboard.data.autoaugment import Policy, autoaugment, check_policy
from dartboard.data.crops import random_boxes, view
from dartboard.data.rng import send
from dartboard.errors import DataError

Augmentation = Callable[[Tensor, Tensor, Tensor, torch.Generator], Tensor]
"""From images (uint8 [N, C, H, W]), mean and deviation (float32 [C]) and a generator on the CPU to what a
network is given (float32 [N, C, H, W]); all chance comes from the generator."""


class Draws(NamedTuple):
    """All chance that N examples meet with, on the CPU.

    Args:
        places: Row and column of the window, whether to flip, row and column of the cut, int64 [N, 5].
        boxes: Even between 0 and 1, for the part of the image that is seen, float32 [N, 4].
        seeds: For AutoAugment, int64 [N].
    """

    places: Tensor
    boxes: Tensor
    seeds: Tensor

    def of(self, rows: slice) -> "Draws":
        """The chance of some of the examples."""
        return Draws(self.places[rows], self.boxes[rows], self.seeds[rows])


@dataclass(frozen=True)
class Augment:
    """Crop, flip, normalise and cut out, as DARTS trains on CIFAR-10 (Liu et al. 2019, appendix A.1), and
    what others add to it.

    Args:
        pad: Zeros put around the image, in pixel units, of which a random window of the image's size is
            kept.
        flip: Whether half of the images are mirrored left to right.
        cutout: Side of a square of zeros in the normalised image, centred on any of its pixels and clipped
            at the border (DeVries & Taylor 2017). A square of even side
            reaches one pixel further above and left of its centre than below and right.
        area: First of all, a random part of the image that has at least this share of its area is brought to
            the image's size, as networks are trained on ImageNet with 0.08; 0 for none.
        autoaugment: The policy of AutoAugment that is applied after crop and flip; "none" for none.
    """

    pad: int = 0
    flip: bool = False
    cutout: int = 0
    area: float = 0.0
    autoaugment: Policy = "none"

    def __post_init__(self) -> None:
        check_count("pad", self.pad, least=0)
        check_count("cutout", self.cutout, least=0)
        if not isinstance(self.flip, bool):
            raise DataError(f"flip must be True or False, got {self.flip!r}")
        if not 0 <= self.area <= 1:
            raise DataError(f"area must be a share from 0 to 1, got {self.area!r}")
        check_policy(self.autoaugment)

    def __call__(self, x: Tensor, mean: Tensor, std: Tensor, generator: torch.Generator) -> Tensor:
        """Images as a network is given them, float32 [N, C, H, W].

        Args:
            x: Pixels, uint8 [N, C, H, W].
            mean: Mean of each channel, in pixel units, float32 [C].
            std: Standard deviation of each channel, in pixel units, float32 [C].
            generator: Where all chance comes from; on the CPU, wherever the images are.
        """
        draws = self.draw(len(x), x.shape[2:], generator)
        return self.finish(self.vary(self.frame(x, draws), draws), mean, std, draws)

    def draw(self, count: int, size: Sequence[int], generator: torch.Generator) -> Draws:
        """The chance of so many examples of a height and width.

        Each of them takes the same draws whatever is switched on, so that one change does not alter another.
        """
        window = 2 * self.pad + 1
        ranges = torch.tensor([window, window, 2, *size])
        places = torch.rand(count, len(ranges), generator=generator) * ranges
        boxes = torch.rand(count, 4, generator=generator)
        return Draws(places.long(), boxes, torch.randint(2**62, (count,), generator=generator))

    def frame(self, x: Tensor, draws: Draws) -> Tensor:
        """The part of each image that is seen, uint8 [N, C, H, W]; the first of three steps."""
        if not self.area:
            return x
        boxes = random_boxes(draws.boxes, self.area, *x.shape[2:])
        return view(x, send(boxes.float(), x.device))

    def vary(self, x: Tensor, draws: Draws) -> Tensor:
        """Pixels cropped, flipped and changed by AutoAugment, uint8 [N, C, H, W]; the second step."""
        if self.pad or self.flip:
            top, left, mirrored = send(draws.places[:, :3], x.device).unbind(1)
            x = crop(x, self.pad, top, left) if self.pad else x
            x = mirror(x, mirrored) if self.flip else x
        if self.autoaugment == "none":
            return x
        return autoaugment(x.cpu(), self.autoaugment, draws.seeds).to(x.device)

    def finish(self, x: Tensor, mean: Tensor, std: Tensor, draws: Draws) -> Tensor:
        """Pixels normalised and cut out, float32 [N, C, H, W]; the last step."""
        x = normalise(x, mean, std)
        if not self.cutout:
            return x
        return cut_out_(x, self.cutout, *send(draws.places[:, 3:], x.device).unbind(1))


PLAIN = Augment()
"""Nothing but normalisation."""


def normalise(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Pixels less the mean, then divided by the deviation, of their channel; float32 [N, C, H, W]."""
    floats = x.to(torch.float32, copy=True)  # twice as fast as to subtract from whole numbers
    return floats.sub_(mean[:, None, None]).div_(std[:, None, None])


def crop(x: Tensor, pad: int, top: Tensor, left: Tensor) -> Tensor:
    """Windows of the images' own size from the images with `pad` zeros on each side.

    Args:
        x: Images [N, C, H, W].
        pad: Zeros on each side.
        top: The window's first row in the padded image, from 0 to 2 * pad, int64 [N].
        left: Its first column, likewise.
    """
    height, width = x.shape[2:]
    padded = F.pad(x, (pad,) * 4)
    firsts = _firsts(padded, top, left)[:, :, :height]
    # Every stretch of a row's length, as a view; whole rows are copied several times faster than pixels.
    stretches = padded.flatten().unfold(0, width, 1)
    return stretches.index_select(0, firsts.flatten()).view(x.shape)


def _firsts(x: Tensor, top: Tensor, left: Tensor) -> Tensor:
    """Where in the memory of `x` the rows from `top` on begin, shifted by `left`; int64 [N, C, H]."""
    count, channels, height, width = x.shape
    rows = torch.arange(count * channels * height, device=x.device).view(count, channels, height)
    return (rows + top[:, None, None]) * width + left[:, None, None]


def mirror(x: Tensor, mirrored: Tensor) -> Tensor:
    """Images [N, C, H, W], left and right exchanged where `mirrored`, int64 [N], is 1 rather than 0."""
    both = torch.cat([x, x.flip(3)])
    return both.index_select(0, torch.arange(len(x), device=x.device) + len(x) * mirrored)


def cut_out_(x: Tensor, side: int, row: Tensor, column: Tensor) -> Tensor:
    """Zeroes, in place, a square around a centre in each image; what is beyond the border is left out.

    Args:
        x: Images [N, C, H, W].
        side: Of the square, in pixels.
        row: Of the centre, int64 [N].
        column: Of the centre, int64 [N].
    """
    rows, columns = _near(row, side, x.shape[2]), _near(column, side, x.shape[3])
    return x.mul_(1 - rows[:, None, :, None] * columns[:, None, None, :])


def _near(centre: Tensor, side: int, size: int) -> Tensor:
    """1 for those of `size` places in the stretch of `side` around each centre, else 0; float32 [N, size]."""
    offset = torch.arange(size, device=centre.device) - (centre - side // 2)[:, None]
    return ((offset >= 0) & (offset < side)).float()
