"""Boxes against formulas for one image, and what is seen through them against Pillow and single pixels."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from torch import Tensor

from dartboard.data.transforms import center_box, crop_and_resize, random_boxes

SIZES = [(8, 8), (32, 32), (6, 10), (10, 6), (7, 40), (40, 7), (1, 1), (1, 9)]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def box_one(draw: list[float], area: float, height: int, width: int) -> list[float]:
    """The box of one image, by cases."""
    share = area + (1 - area) * draw[0]
    fits = [share * width / height, width / (share * height)]
    first, last = max(3 / 4, fits[0]), min(4 / 3, fits[1])
    if first <= last:
        aspect = math.exp(math.log(first) + draw[1] * (math.log(last) - math.log(first)))
    else:
        aspect = fits[0] if fits[0] > 4 / 3 else fits[1]
    high = math.sqrt(share * height * width / aspect)
    wide = math.sqrt(share * height * width * aspect)
    return [draw[2] * (height - high), draw[3] * (width - wide), high, wide]


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("area", [0.08, 0.5, 1.0])
def test_boxes_are_those_of_the_images_one_by_one(height: int, width: int, area: float) -> None:
    draws = torch.rand(50, 4, generator=generator())
    expected = [box_one(draw, area, height, width) for draw in draws.tolist()]
    torch.testing.assert_close(
        random_boxes(draws, area, height, width), torch.tensor(expected, dtype=torch.float64)
    )


@given(st.integers(0, 2**32), st.floats(0.01, 1), st.integers(1, 500), st.integers(1, 500))
def test_boxes_lie_in_the_image_and_have_their_share(seed: int, area: float, height: int, width: int) -> None:
    boxes = random_boxes(torch.rand(20, 4, generator=generator(seed)), area, height, width)
    top, left, high, wide = boxes.unbind(1)
    assert (boxes >= 0).all()
    assert (top + high <= height + 1e-6).all()
    assert (left + wide <= width + 1e-6).all()
    share = high * wide / (height * width)
    assert (share >= area - 1e-6).all()
    usual = (wide / high > 0.7499) & (wide / high < 1.3334)
    fills = (high > height - 1e-6) | (wide > width - 1e-6)  # of long images the nearest that fits
    assert (usual | fills).all()


def test_shares_and_places_are_even() -> None:
    boxes = random_boxes(torch.rand(20_000, 4, generator=generator()), 0.08, 50, 50)
    top, _, high, wide = boxes.unbind(1)
    share = (high * wide / 2500).sort().values
    assert (share - torch.linspace(0.08, 1, len(share))).abs().max() < 0.02
    down = (top / (50 - high)).sort().values
    assert (down - torch.linspace(0, 1, len(down))).abs().max() < 0.02


def test_the_center_is_in_the_middle() -> None:
    assert center_box(0.875, 32, 64).tolist() == [[2, 4, 28, 56]]
    assert center_box(1.0, 32, 64).tolist() == [[0, 0, 32, 64]]


def pixels(count: int, height: int, width: int) -> Tensor:
    return torch.randint(256, (count, 3, height, width), dtype=torch.uint8, generator=generator(9))


def by_pillow(image: Tensor, box: list[float]) -> Tensor:
    top, left, high, wide = box
    picture = Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())
    seen = picture.resize(picture.size, Image.Resampling.BILINEAR, (left, top, left + wide, top + high))
    return torch.from_numpy(np.array(seen)).permute(2, 0, 1)


def by_pixel(image: Tensor, box: list[float]) -> Tensor:
    """Every pixel from its four neighbors, float64."""
    _, height, width = image.shape
    top, left, high, wide = box
    out, image = torch.zeros(image.shape, dtype=torch.float64), image.double()
    for row in range(height):
        for column in range(width):
            y = min(max(top + (row + 0.5) / height * high - 0.5, 0), height - 1)
            x = min(max(left + (column + 0.5) / width * wide - 0.5, 0), width - 1)
            up, down, near, far = int(y), min(int(y) + 1, height - 1), int(x), min(int(x) + 1, width - 1)
            above = image[:, up, near] * (1 - x + near) + image[:, up, far] * (x - near)
            below = image[:, down, near] * (1 - x + near) + image[:, down, far] * (x - near)
            out[:, row, column] = above * (1 - y + up) + below * (y - up)
    return out


@pytest.mark.parametrize(("height", "width"), [(8, 8), (6, 11)])
def test_a_view_is_what_pillow_shows_of_each_image(height: int, width: int) -> None:
    x = pixels(12, height, width)
    boxes = random_boxes(torch.rand(12, 4, generator=generator()), 0.08, height, width)
    seen = crop_and_resize(x, boxes.float())
    assert seen.dtype == torch.uint8
    for image, box, found in zip(x, boxes.tolist(), seen, strict=True):
        assert (found.int() - by_pillow(image, box).int()).abs().max() <= 1  # it rounds between the two axes
        assert (found.double() - by_pixel(image, box)).abs().max() < 0.501


def test_the_whole_image_is_seen_as_it_is() -> None:
    x = pixels(3, 9, 7)
    assert torch.equal(crop_and_resize(x, center_box(1.0, 9, 7).float().expand(3, -1)), x)
