"""Images from files against Pillow, one by one."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from dartboard.data import CENTER_CROP, Augment, ImageFiles
from dartboard.data.image_files import read_image
from dartboard.data.loader import (
    BatchTask,
    read_augmented,
    read_center_crop,
    read_center_crops,
    read_random_crop,
)
from dartboard.data.sampler import generator
from dartboard.data.transforms import random_boxes
from dartboard.errors import DataError
from helpers.worker_functions import random_image_files

SHAPE = (3, 8, 8)
ALL_SIX = 6, slice(0, 6)


@pytest.fixture
def files(tmp_path: Path) -> ImageFiles:
    return random_image_files(tmp_path, 6, lambda number: (20 + number, 40 - 3 * number))


def by_pillow(file: str, box: tuple[float, float, float, float]) -> Tensor:
    """The box (left, top, right, bottom) of a file."""
    with Image.open(file) as image:
        seen = image.convert("RGB").resize((8, 8), Image.Resampling.BILINEAR, box)
    return torch.from_numpy(np.array(seen)).permute(2, 0, 1)


def near(found: Tensor, expected: Tensor) -> bool:
    """Equal, but for where a last digit of the box decides how a pixel is rounded."""
    return int((found.int() - expected.int()).abs().max()) <= 1


@pytest.mark.parametrize("area", [0.08, 0.6])
def test_a_part_is_cut_from_the_original(files: ImageFiles, area: float) -> None:
    draws = torch.rand(6, 4, generator=torch.Generator().manual_seed(1))
    for file, draw in zip(files.files, draws, strict=True):
        with Image.open(file) as image:
            width, height = image.size
        top, left, high, wide = random_boxes(draw[None], area, height, width)[0].tolist()
        expected = by_pillow(file, (left, top, left + wide, top + high))
        assert near(read_random_crop(file, SHAPE, area, draw), expected)


def test_the_center_is_seven_eighths_of_the_largest_square(files: ImageFiles) -> None:
    for file in files.files:
        with Image.open(file) as image:
            width, height = image.size
        half = CENTER_CROP * min(width, height) / 2
        box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
        assert near(read_center_crop(file, SHAPE, CENTER_CROP), by_pillow(file, box))
        assert torch.equal(read_center_crop(file, SHAPE, 1.0), read_image(file, SHAPE))


def test_an_augmented_batch_is_its_files_one_by_one(files: ImageFiles) -> None:
    augment = Augment(pad=1, flip=True, area=0.3)
    found = read_augmented(SHAPE, augment, (4, "mine"), *ALL_SIX, BatchTask(7, files.files))
    draws = augment.draw(6, (8, 8), generator(4, "mine", "augment", 7))
    pairs = zip(files.files, draws.boxes, strict=True)
    seen = torch.stack([read_random_crop(file, SHAPE, 0.3, draw) for file, draw in pairs])
    assert found.dtype == torch.uint8
    assert torch.equal(found, augment.transform_pixels(seen, draws))


def test_pixels_pass_as_files_do(files: ImageFiles) -> None:
    augment, held = Augment(pad=2, flip=True), files.load().images
    work = partial(read_augmented, SHAPE, augment, (4, "mine"), *ALL_SIX)
    assert torch.equal(work(BatchTask(3, held.numpy())), work(BatchTask(3, files.files)))
    framed = read_augmented(SHAPE, Augment(area=0.2), (4, "mine"), *ALL_SIX, BatchTask(3, held.numpy()))
    draws = augment.draw(6, (8, 8), generator(4, "mine", "augment", 3))
    assert torch.equal(framed, Augment(area=0.2).random_resized_crop(held, draws))


def test_a_part_of_a_batch_is_varied_as_in_the_whole(files: ImageFiles) -> None:
    augment = Augment(pad=2, flip=True, area=0.3)
    whole = read_augmented(SHAPE, augment, (4, "mine"), *ALL_SIX, BatchTask(3, files.files))
    part = read_augmented(SHAPE, augment, (4, "mine"), 6, slice(2, 5), BatchTask(3, files.files[2:5]))
    assert torch.equal(part, whole[2:5])


def test_files_to_measure_with_are_read_as_they_are(files: ImageFiles) -> None:
    expected = torch.stack([read_image(file, SHAPE) for file in files.files])
    assert torch.equal(read_center_crops(SHAPE, 1.0, BatchTask(0, files.files)), expected)
    assert not torch.equal(read_center_crops(SHAPE, CENTER_CROP, BatchTask(0, files.files)), expected)


@pytest.mark.parametrize("augment", [Augment(), Augment(area=0.5)])
def test_a_broken_file_is_named(augment: Augment, tmp_path: Path) -> None:
    file = tmp_path / "broken.png"
    file.write_bytes(b"no image")
    with pytest.raises(DataError, match=r"broken\.png: cannot be read as an image"):
        read_augmented(SHAPE, augment, (0, "x"), 1, slice(0, 1), BatchTask(0, (str(file),)))
