"""AutoAugment against torchvision's own, image by image."""

import sys
from importlib import import_module

import pytest
import torch
from PIL import Image
from torch import Tensor

from dartboard.data import Augment, BatchLoader, ImageSet
from dartboard.data import transforms as module
from dartboard.data.image_files import to_tensor
from dartboard.data.transforms import POLICIES, autoaugment, load_policy
from dartboard.errors import DataError
from helpers import torchvision_shim

needs_torchvision = pytest.mark.skipif(
    not torchvision_shim.torchvision_available(), reason="needs torchvision"
)
USED = [policy for policy in POLICIES if policy != "none"]


@pytest.fixture
def forgetful():
    """What has been imported is looked for again."""
    load_policy.cache_clear()
    yield
    load_policy.cache_clear()


def pixels(count: int, channels: int = 3) -> Tensor:
    rng = torch.Generator().manual_seed(5)
    return torch.randint(256, (count, channels, 12, 10), dtype=torch.uint8, generator=rng)


def change_one(image: Tensor, policy: str, seed: int) -> Tensor:
    """With torch's global state, as somebody who has one image does it."""
    v2 = import_module("torchvision.transforms.v2")
    picture = Image.fromarray((image[0] if len(image) == 1 else image.permute(1, 2, 0)).contiguous().numpy())
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return to_tensor(v2.AutoAugment(v2.AutoAugmentPolicy(policy))(picture))


@needs_torchvision
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("policy", USED)
def test_a_batch_is_the_images_one_by_one(policy: str, channels: int) -> None:
    x, seeds = pixels(40, channels), torch.arange(40) * 12345
    found = autoaugment(x, policy, seeds)
    expected = [change_one(image, policy, seed) for image, seed in zip(x, seeds.tolist(), strict=True)]
    assert torch.equal(found, torch.stack(expected))
    assert sum(not torch.equal(one, other) for one, other in zip(found, x, strict=True)) > 20


@needs_torchvision
def test_policies_differ() -> None:
    found = [autoaugment(pixels(20), policy, torch.arange(20)) for policy in USED]
    assert not any(torch.equal(found[a], found[b]) for a, b in ((0, 1), (0, 2), (1, 2)))


@needs_torchvision
def test_the_global_state_is_neither_read_nor_changed() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = autoaugment(pixels(5), "cifar10", torch.arange(5))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(autoaugment(pixels(5), "cifar10", torch.arange(5)), first)


@needs_torchvision
def test_it_comes_after_the_flip_and_before_the_cut() -> None:
    x, mean, std = pixels(16), torch.full((3,), 100.0), torch.full((3,), 50.0)
    own = Augment(pad=2, flip=True, cutout=4, autoaugment="svhn")
    raw = Augment(pad=2, flip=True)(x, torch.zeros(3), torch.ones(3), torch.Generator().manual_seed(3))
    draws = own.draw(16, (12, 10), torch.Generator().manual_seed(3))
    changed = [
        change_one(image, "svhn", seed) for image, seed in zip(raw.byte(), draws.seeds.tolist(), strict=True)
    ]
    expected = (torch.stack(changed) - 100.0) / 50.0
    for image, (row, column) in zip(expected, draws.positions[:, 3:].tolist(), strict=True):
        image[:, max(row - 2, 0) : row + 2, max(column - 2, 0) : column + 2] = 0
    assert torch.equal(own(x, mean, std, torch.Generator().manual_seed(3)), expected)


@needs_torchvision
def test_images_of_other_channels_are_refused_at_once() -> None:
    images = ImageSet(pixels(4, 2), torch.zeros(4).long())
    given = {"batch": 2, "seed": 0, "name": "x", "mean": [0, 0], "std": [1, 1]}
    with pytest.raises(DataError, match="autoaugment changes images of 1 or 3 channels, and these have 2"):
        BatchLoader(images, **given, augment=Augment(autoaugment="cifar10"))


@pytest.mark.usefixtures("forgetful")
def test_without_torchvision_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.delitem(sys.modules, "torchvision.transforms.v2", raising=False)
    with pytest.raises(DataError) as raised:
        Augment(autoaugment="cifar10")
    assert str(raised.value) == "autoaugment=cifar10 needs torchvision: pip install 'dartboard[vision]'"


@pytest.mark.usefixtures("forgetful")
def test_a_torchvision_that_does_not_fit_is_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr(module, "import_module", fail)
    with pytest.raises(
        DataError, match=r"does not fit torch .* \(operator torchvision::nms does not exist\)"
    ):
        Augment(autoaugment="imagenet")


def test_an_unknown_policy() -> None:
    with pytest.raises(
        DataError, match="autoaugment must be one of none, cifar10, svhn, imagenet, got 'cifar'"
    ):
        Augment(autoaugment="cifar")  # type: ignore[arg-type]
