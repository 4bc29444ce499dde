"""Random and fixed changes to images: each example by its own draw, all examples of a batch at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Literal, NamedTuple, get_args

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

from dartboard.data.dataset import Dataset, Images, ImageSet, check_count
from dartboard.data.image_files import MODES, ImageFiles, to_tensor
from dartboard.data.sampler import send
from dartboard.errors import DataError

Augmentation = Callable[[Tensor, Tensor, Tensor, torch.Generator], Tensor]
"""From images (uint8 [N, C, H, W]), mean and standard deviation (float32 [C]) and a CPU generator to network
inputs (float32 [N, C, H, W]); all randomness comes from the generator."""

Policy = Literal["none", "cifar10", "svhn", "imagenet"]
"""The data set that an AutoAugment policy was learned on."""
POLICIES: tuple[Policy, ...] = get_args(Policy)

INSTALL = "pip install 'dartboard[vision]'"
ASPECTS = (3 / 4, 4 / 3)
"""The narrowest and the widest random crop, width over height (Szegedy et al. 2015)."""
RESIZE_BATCH = 4096
"""Images that are resized at a time."""


def check_policy(policy: str, channels: int | None = None) -> None:
    """Raise unless the AutoAugment policy exists and applies to images of this number of channels, if given.

    Raises:
        DataError: If there is no such policy, no torchvision, or no way to apply it.
    """
    if policy not in POLICIES:
        raise DataError(f"autoaugment must be one of {', '.join(POLICIES)}, got {policy!r}")
    if policy == "none":
        return
    load_policy(policy)
    if channels is not None and channels not in MODES:
        raise DataError(
            f"autoaugment changes images of 1 or 3 channels, and these have {channels}; set autoaugment=none"
        )


@cache
def load_policy(policy: str) -> Callable[[Image.Image], Image.Image]:
    """The transform of torchvision for a policy, which draws from torch's global generator.

    Raises:
        DataError: If torchvision is not installed, or does not fit the installed torch.
    """
    try:
        v2 = import_module("torchvision.transforms.v2")
    except ImportError:
        raise DataError(f"autoaugment={policy} needs torchvision: {INSTALL}") from None
    except RuntimeError as error:  # missing operators
        raise DataError(
            f"autoaugment={policy} needs torchvision, and the one installed does not fit torch "
            f"{torch.__version__} ({error}): {INSTALL}"
        ) from None
    transform: Callable[[Image.Image], Image.Image] = v2.AutoAugment(v2.AutoAugmentPolicy(policy))
    return transform


class Draws(NamedTuple):
    """Random draws for N examples, on the CPU.

    Args:
        positions: Row and column of the window, whether to flip, row and column of the cutout, int64 [N, 5].
        boxes: Uniform in [0, 1), for the random resized crop, float32 [N, 4].
        seeds: For AutoAugment, int64 [N].
    """

    positions: Tensor
    boxes: Tensor
    seeds: Tensor


@dataclass(frozen=True)
class Augment:
    """Crop, flip, normalize and cutout, as DARTS trains on CIFAR-10 (Liu et al. 2019, appendix A.1), with
    random resized crops and AutoAugment.

    Args:
        pad: Zeros padded around the image, in pixels; a random window of the image's size is kept.
        flip: Whether half of the images are flipped left to right.
        cutout: Side of a square of zeros in the normalized image, centered on any of its pixels and clipped
            at the border (DeVries & Taylor 2017). A square of even side
            reaches one pixel further above and left of its center than below and right.
        area: Before all else, a random crop with at least this fraction of the image's area is resized to the
            image's size, as networks are trained on ImageNet with 0.08; 0 for none.
        autoaugment: AutoAugment policy that is applied after crop and flip; "none" for none.
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
        """Network inputs, float32 [N, C, H, W]; the arguments are those of an `Augmentation`."""
        draws = self.draw(len(x), x.shape[2:], generator)
        x = self.transform_pixels(self.random_resized_crop(x, draws), draws)
        return self.normalize_and_cutout(x, mean, std, draws)

    def draw(
        self, count: int, size: Sequence[int], generator: torch.Generator, rows: slice = slice(None)
    ) -> Draws:
        """Random draws for `count` examples of a height and width, of which those of `rows` are returned.

        Every example takes the same draws whatever is switched on, so that one option does not change
        another's draws.
        """
        window = 2 * self.pad + 1
        ranges = torch.tensor([window, window, 2, *size])
        positions = torch.rand(count, len(ranges), generator=generator) * ranges
        boxes = torch.rand(count, 4, generator=generator)
        seeds = torch.randint(2**62, (count,), generator=generator)
        return Draws(positions.long()[rows], boxes[rows], seeds[rows])

    def random_resized_crop(self, x: Tensor, draws: Draws) -> Tensor:
        """First step: a random crop of each image at the image's size, uint8 [N, C, H, W]."""
        if not self.area:
            return x
        boxes = random_boxes(draws.boxes, self.area, *x.shape[2:])
        return crop_and_resize(x, send(boxes.float(), x.device))

    def transform_pixels(self, x: Tensor, draws: Draws) -> Tensor:
        """Second step: padded crop, flip and AutoAugment, uint8 [N, C, H, W]."""
        if self.pad or self.flip:
            top, left, flipped = send(draws.positions[:, :3], x.device).unbind(1)
            x = crop_padded(x, self.pad, top, left) if self.pad else x
            if self.flip:  # where `flipped` is 1 rather than 0, left and right are exchanged
                both = torch.cat([x, x.flip(3)])
                x = both.index_select(0, torch.arange(len(x), device=x.device) + len(x) * flipped)
        if self.autoaugment == "none":
            return x
        return autoaugment(x.cpu(), self.autoaugment, draws.seeds).to(x.device)

    def normalize_and_cutout(self, x: Tensor, mean: Tensor, std: Tensor, draws: Draws) -> Tensor:
        """Last step: normalization and cutout, float32 [N, C, H, W]."""
        x = normalize(x, mean, std)
        if not self.cutout:
            return x
        return cutout_(x, self.cutout, *send(draws.positions[:, 3:], x.device).unbind(1))


PLAIN = Augment()
"""Nothing but normalization."""


def normalize(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Pixels minus the mean, divided by the standard deviation, of their channel; float32 [N, C, H, W]."""
    floats = x.to(torch.float32, copy=True)  # twice as fast as subtracting from integers
    return floats.sub_(mean[:, None, None]).div_(std[:, None, None])


def crop_padded(x: Tensor, pad: int, top: Tensor, left: Tensor) -> Tensor:
    """Windows of the images' own size from the images [N, C, H, W] with `pad` zeros on each side.

    The first row and column of a window in the padded image, `top` and `left`, are from 0 to 2 * pad, int64
    [N].
    """
    height, width = x.shape[2:]
    padded = F.pad(x, (pad,) * 4)
    count, channels, padded_height, padded_width = padded.shape
    rows = torch.arange(count * channels * padded_height, device=x.device).view(count, channels, -1)
    # Where in memory the rows from `top` on start, shifted by `left` [N, C, H].
    starts = ((rows + top[:, None, None]) * padded_width + left[:, None, None])[:, :, :height]
    # A view of every stretch of a row's length: whole rows are copied several times faster than pixels.
    stretches = padded.flatten().unfold(0, width, 1)
    return stretches.index_select(0, starts.flatten()).view(x.shape)


def cutout_(x: Tensor, side: int, row: Tensor, column: Tensor) -> Tensor:
    """Zeros, in place, a square of `side` pixels in each image [N, C, H, W], clipped at the border.

    `row` and `column` are its center, int64 [N].
    """
    rows, columns = _near(row, side, x.shape[2]), _near(column, side, x.shape[3])
    return x.mul_(1 - rows[:, None, :, None] * columns[:, None, None, :])


def _near(center: Tensor, side: int, size: int) -> Tensor:
    """1 for the positions below `size` within `side` around each center, else 0; float32 [N, size]."""
    offset = torch.arange(size, device=center.device) - (center - side // 2)[:, None]
    return ((offset >= 0) & (offset < side)).float()


def random_boxes(draws: Tensor, area: float, height: int, width: int) -> Tensor:
    """Random crops within an image.

    The area of a crop, as a fraction of the image's, is uniform between `area` and 1, and the logarithm of
    its aspect uniform between those of `ASPECTS` with which such a crop fits, or the nearest that fits where
    none does; every position where it fits is equally likely. `draws` are uniform in [0, 1), [N, 4].

    Returns:
        Top, left, height and width of each crop in pixels, float64 [N, 4].
    """
    fraction, aspect, down, right = draws.double().unbind(1)
    fraction = area + (1 - area) * fraction
    narrowest, widest = fraction * (width / height), width / (fraction * height)  # of the crops that fit
    low, high = (torch.full_like(fraction, limit).clamp(narrowest, widest) for limit in ASPECTS)
    aspect = low * (high / low) ** aspect
    box_height = (fraction * height * width / aspect).sqrt().clamp(max=height)
    box_width = (box_height * aspect).clamp(max=width)
    return torch.stack([down * (height - box_height), right * (width - box_width), box_height, box_width], 1)


def center_box(crop_pct: float, height: int, width: int) -> Tensor:
    """Top, left, height and width of the centered crop whose sides are `crop_pct` of the image's; float64
    [1, 4].
    """
    margin = (1 - crop_pct) / 2
    box = [margin * height, margin * width, crop_pct * height, crop_pct * width]
    return torch.tensor([box], dtype=torch.float64)


def crop_and_resize(x: Tensor, boxes: Tensor) -> Tensor:
    """A crop of each image, uint8 [N, C, H, W], at the image's size; bilinear, rounded.

    `boxes` are top, left, height and width in pixels, float32 [N, 4].
    """
    top, left, box_height, box_width = boxes.unbind(1)
    rows, columns = _grid(top, box_height, x.shape[2]), _grid(left, box_width, x.shape[3])
    size = (len(x), *x.shape[2:])
    grid = torch.stack([columns[:, None, :].expand(size), rows[:, :, None].expand(size)], 3)
    sampled = F.grid_sample(x.float(), grid, padding_mode="border", align_corners=False)
    return sampled.round_().to(torch.uint8)


def _grid(first: Tensor, length: Tensor, size: int) -> Tensor:
    """Centers of `size` equal parts of a stretch of `size` pixels, in the coordinates of `grid_sample`: from
    -1, the first pixel's edge, to 1, the last one's; float32 [N, size].
    """
    centers = (torch.arange(size, device=first.device) + 0.5) / size
    return (first[:, None] + centers * length[:, None]) * (2 / size) - 1


def autoaugment(x: Tensor, policy: Policy, seeds: Tensor) -> Tensor:
    """Images changed by an AutoAugment policy (Cubuk et al. 2019), each with its own random seed, int64 [N].

    They are uint8 [N, C, H, W] on the CPU, with 1 or 3 channels; the policy is not "none". The global
    generator, which torchvision draws from, is left as it was.
    """
    transform, augmented = load_policy(policy), torch.empty_like(x)
    rng = torch.default_generator
    state = rng.get_state()
    try:
        for index, seed in enumerate(seeds.tolist()):
            rng.manual_seed(seed)
            pixels = x[index, 0] if x.shape[1] == 1 else x[index].permute(1, 2, 0)
            image = Image.fromarray(pixels.contiguous().numpy())
            augmented[index] = to_tensor(transform(image))
    finally:
        rng.set_state(state)
    return augmented


def resize_dataset(data: Dataset, size: int | None) -> Dataset:
    """A data set with square images of a size; None leaves it unchanged."""
    if size is None or data.shape[1:] == (size, size):
        return data
    test = None if data.test is None else _resize_images(data.test, size)
    valid = None if data.valid is None else _resize_images(data.valid, size)
    return replace(data, train=_resize_images(data.train, size), test=test, valid=valid, known=None)


def _resize_images(images: Images, size: int) -> Images:
    if isinstance(images, ImageFiles):
        return ImageFiles(images.files, images.labels, (images.shape[0], size, size))
    resized = [resize(pixels, size) for pixels in images.load().images.split(RESIZE_BATCH)]
    return ImageSet(torch.cat(resized), images.labels)


def resize(x: Tensor, size: int) -> Tensor:
    """Images [N, C, H, W] scaled until they cover a square, and cropped around their center."""
    height, width = x.shape[2:]
    shorter = min(height, width)
    scaled = (max(height * size // shorter, size), max(width * size // shorter, size))
    x = F.interpolate(x, size=scaled, mode="bilinear", antialias=True)
    top, left = (scaled[0] - size) // 2, (scaled[1] - size) // 2
    return x[:, :, top : top + size, left : left + size].contiguous()
