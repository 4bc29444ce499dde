"""AutoAugment (Cubuk et al. 2019): learned sequences of changes to an image, as torchvision has them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Literal, get_args

import torch
from PIL import Image
from torch import Tensor

from dartboard.data.image_files import MODES, to_tensor
from dartboard.errors import DataError

Policy = Literal["none", "cifar10", "svhn", "imagenet"]
"""The data set that a sequence was learned on."""
POLICIES: tuple[Policy, ...] = get_args(Policy)

INSTALL = "pip install 'dartboard[vision]'"


def autoaugment(x: Tensor, policy: Policy, seeds: Tensor) -> Tensor:
    """Images changed as a policy has it, each by chance from its own seed.

    Args:
        x: Pixels, uint8 [N, C, H, W], on the CPU, of 1 or 3 channels.
        policy: Not "none".
        seeds: int64 [N].
    """
    change, changed = load_policy(policy), torch.empty_like(x)
    chance = torch.default_generator  # what torchvision draws from
    with _kept(chance):
        for place, seed in enumerate(seeds.tolist()):
            chance.manual_seed(seed)
            changed[place] = to_tensor(change(_to_image(x[place])))
    return changed


def check_policy(policy: str, channels: int | None = None) -> None:
    """Raises unless the policy exists and can be applied, to images of so many channels if that is known.

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
    """What changes an image, drawing from torch's global generator.

    Raises:
        DataError: If torchvision is not installed, or does not fit the torch that is.
    """
    try:
        v2 = import_module("torchvision.transforms.v2")
    except ImportError:
        raise DataError(f"autoaugment={policy} needs torchvision: {INSTALL}") from None
    except RuntimeError as error:  # operators that are not there
        raise DataError(
            f"autoaugment={policy} needs torchvision, and the one installed does not fit torch "
            f"{torch.__version__} ({error}): {INSTALL}"
        ) from None
    change: Callable[[Image.Image], Image.Image] = v2.AutoAugment(v2.AutoAugmentPolicy(policy))
    return change


def _to_image(x: Tensor) -> Image.Image:
    pixels = x[0] if len(x) == 1 else x.permute(1, 2, 0)
    return Image.fromarray(pixels.contiguous().numpy())


@contextmanager
def _kept(chance: torch.Generator) -> Iterator[None]:
    """Whatever is drawn inside, the generator is as before afterwards."""
    before = chance.get_state()
    try:
        yield
    finally:
        chance.set_state(before)
