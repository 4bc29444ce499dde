"""Augmentation against loops over single images and pixels."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dartboard.data import Augment
from dartboard.data.transforms import crop_and_resize, crop_padded, cutout_, normalize, random_boxes
from dartboard.errors import DataError

MEAN, STD = torch.tensor([120.5, 90.25, 60.1]), torch.tensor([50.0, 61.3, 0.7])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pixels(count: int, height: int = 6, width: int = 5) -> Tensor:
    """Images without a black pixel, so that padding can be told apart."""
    return torch.randint(1, 256, (count, 3, height, width), dtype=torch.uint8, generator=generator(99))


def crop_one(image: Tensor, down: int, right: int) -> Tensor:
    """The image seen through a window that is moved by so many pixels; zero outside."""
    _, height, width = image.shape
    out = torch.zeros_like(image)
    for row in range(height):
        for column in range(width):
            if 0 <= row + down < height and 0 <= column + right < width:
                out[:, row, column] = image[:, row + down, column + right]
    return out


def flip_one(image: Tensor) -> Tensor:
    return torch.stack([image[:, :, -1 - column] for column in range(image.shape[2])], 2)


def normalize_one(image: Tensor) -> Tensor:
    return torch.stack([(image[c].float() - MEAN[c]) / STD[c] for c in range(3)])


def cut_one(image: Tensor, side: int, row: int, column: int) -> Tensor:
    """As in the code that DARTS shares, for even sides."""
    _, height, width = image.shape
    mask = torch.ones(height, width)
    top, bottom = max(row - side // 2, 0), min(row - side // 2 + side, height)
    left, right = max(column - side // 2, 0), min(column - side // 2 + side, width)
    for y in range(top, bottom):
        for x in range(left, right):
            mask[y, x] = 0
    return image * mask


def draws(x: Tensor, augment: Augment, seed: int) -> list[list[int]]:
    """Row and column of the window, whether to flip, row and column of the cut: what each image is dealt."""
    window = 2 * augment.pad + 1
    ranges = [window, window, 2, x.shape[2], x.shape[3]]
    dealt = torch.rand(len(x), 5, generator=generator(seed)).tolist()
    return [[int(share * size) for share, size in zip(row, ranges, strict=True)] for row in dealt]


def augment_one(image: Tensor, augment: Augment, dealt: list[int]) -> Tensor:
    down, right, mirrored, row, column = dealt
    image = crop_one(image, down - augment.pad, right - augment.pad)
    image = flip_one(image) if mirrored and augment.flip else image
    return cut_one(normalize_one(image), augment.cutout, row, column)


@given(st.integers(0, 7), st.booleans(), st.integers(0, 13), st.integers(0, 2**32))
def test_a_batch_is_the_images_one_by_one(pad: int, flip: bool, cutout: int, seed: int) -> None:
    x, augment = pixels(4), Augment(pad, flip, cutout)
    batch = augment(x, MEAN, STD, generator(seed))
    dealt = draws(x, augment, seed)
    expected = [augment_one(image, augment, own) for image, own in zip(x, dealt, strict=True)]
    assert torch.equal(batch, torch.stack(expected))
    assert batch.dtype == torch.float32
    assert batch.is_contiguous()


def test_without_options_images_are_only_normalized() -> None:
    x = pixels(3)
    expected = torch.stack([normalize_one(image) for image in x])
    assert torch.equal(Augment()(x, MEAN, STD, generator()), expected)
    assert torch.equal(normalize(x, MEAN, STD), expected)


@pytest.mark.parametrize("augment", [Augment(), Augment(2, True, 4)])
def test_what_is_given_stays_as_it_was(augment: Augment) -> None:
    x = pixels(3)
    before = x.clone(), MEAN.clone(), STD.clone()
    augment(x, MEAN, STD, generator())
    assert all(torch.equal(now, then) for now, then in zip((x, MEAN, STD), before, strict=True))


def test_every_window_is_as_likely_as_any_other() -> None:
    image, count = pixels(1, 4, 4)[0], 9000
    x = image.expand(count, -1, -1, -1)
    out = Augment(pad=1)(x, torch.zeros(3), torch.ones(3), generator()).to(torch.uint8)
    seen = Counter(bytes(one.flatten().tolist()) for one in out)
    windows = {
        bytes(crop_one(image, down, right).flatten().tolist()) for down in (-1, 0, 1) for right in (-1, 0, 1)
    }
    assert seen.keys() == windows
    assert all(abs(times - count / 9) < 150 for times in seen.values())  # 5 deviations


def test_half_of_the_images_are_mirrored() -> None:
    image, count = pixels(1)[0], 4000
    out = Augment(flip=True)(image.expand(count, -1, -1, -1), MEAN, STD, generator())
    mirrored = sum(torch.equal(one, normalize_one(flip_one(image))) for one in out)
    straight = sum(torch.equal(one, normalize_one(image)) for one in out)
    assert mirrored + straight == count
    assert abs(mirrored - count / 2) < 160  # 5 deviations


def test_every_pixel_is_as_likely_the_center_of_the_cut() -> None:
    count = 9000
    out = Augment(cutout=1)(pixels(1, 3, 3).expand(count, -1, -1, -1), MEAN, STD, generator())
    holes = (out == 0).all(1)
    assert (holes.sum((1, 2)) == 1).all()
    assert (holes.sum(0) - count / 9).abs().max() < 150  # 5 deviations


@pytest.mark.parametrize("side", [1, 2, 3, 8, 16, 40])
def test_cuts_are_clipped_at_the_border(side: int) -> None:
    height, width = 6, 5
    places = torch.cartesian_prod(torch.arange(height), torch.arange(width))
    x = torch.rand(len(places), 3, height, width, generator=generator()) + 1
    expected = [cut_one(image, side, *place) for image, place in zip(x, places.tolist(), strict=True)]
    assert torch.equal(cutout_(x.clone(), side, *places.unbind(1)), torch.stack(expected))


def test_a_cut_of_16_around_a_corner_is_8_wide() -> None:
    out = cutout_(torch.ones(1, 1, 32, 32), 16, torch.tensor([0]), torch.tensor([31]))
    assert (out[0, 0] == 0).sum() == 8 * 9
    assert (out[0, 0, :8, 23:] == 0).all()


def test_padding_is_black_before_normalization() -> None:
    out = crop_padded(pixels(1), 6, torch.tensor([0]), torch.tensor([0]))
    assert (out == 0).all()
    black = Augment(pad=50)(pixels(64), MEAN, STD, generator()).amin((0, 2, 3))
    assert torch.equal(black, -MEAN / STD)


def test_one_change_does_not_alter_another() -> None:
    x = pixels(8)
    cut = Augment(cutout=3)(x, MEAN, STD, generator()) == 0
    both = Augment(pad=2, flip=True, cutout=3)(x, MEAN, STD, generator()) == 0
    assert torch.equal(cut.all(1), both.all(1))


def test_all_randomness_comes_from_the_generator() -> None:
    x, augment = pixels(8), Augment(2, True, 3)
    before = torch.get_rng_state()
    first = augment(x, MEAN, STD, generator(1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(augment(x, MEAN, STD, generator(1)), first)
    assert not torch.equal(augment(x, MEAN, STD, generator(2)), first)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pad": -1}, "pad must be a whole number >= 0, got -1"),
        ({"pad": 1.5}, "pad must be a whole number >= 0, got 1.5"),
        ({"cutout": -2}, "cutout must be a whole number >= 0, got -2"),
        ({"flip": 0.5}, "flip must be True or False, got 0.5"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Augment(**options)


def test_parts_come_first_and_change_no_other_draw() -> None:
    x, plain = pixels(6), Augment(2, True, 3)
    draws = plain.draw(6, (6, 5), generator(4))
    seen = crop_and_resize(x, random_boxes(draws.boxes, 0.2, 6, 5).float())
    expected = plain(seen, MEAN, STD, generator(4))
    assert torch.equal(replace(plain, area=0.2)(x, MEAN, STD, generator(4)), expected)
    assert not torch.equal(plain(x, MEAN, STD, generator(4)), expected)


@pytest.mark.parametrize("area", [-0.1, 1.1, float("nan")])
def test_an_area_is_a_share(area: float) -> None:
    with pytest.raises(DataError, match="area must be a share from 0 to 1"):
        Augment(area=area)


def test_the_three_steps_are_the_whole() -> None:
    augment, x = Augment(2, True, 3, 0.4), pixels(5)
    draws = augment.draw(5, (6, 5), generator(1))
    pieces = augment.normalize_and_cutout(
        augment.transform_pixels(augment.random_resized_crop(x, draws), draws), MEAN, STD, draws
    )
    assert torch.equal(augment(x, MEAN, STD, generator(1)), pieces)


def test_every_image_has_a_seed_of_its_own() -> None:
    seeds = Augment().draw(1000, (6, 5), generator()).seeds
    assert len(seeds.unique()) == 1000
    assert not torch.equal(Augment().draw(1000, (6, 5), generator(1)).seeds, seeds)
