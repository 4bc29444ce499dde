from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

from dartboard.data import Dataset, ImageFiles, ImageSet
from dartboard.data.transforms import resize, resize_dataset
from helpers.image_folders import pixels, write_image


@pytest.mark.parametrize("shape", [(32, 32), (20, 33), (33, 20), (8, 8), (7, 5)])
@pytest.mark.parametrize("size", [16, 40])
def test_images_are_scaled_and_cut_much_as_pillow_does(shape: tuple[int, int], size: int) -> None:
    smooth = np.array(Image.fromarray(pixels(4, 4, 3)).resize(shape[::-1], Image.Resampling.BICUBIC))
    expected = np.array(ImageOps.fit(Image.fromarray(smooth), (size, size), Image.Resampling.BILINEAR))
    found = resize(torch.from_numpy(smooth).permute(2, 0, 1)[None], size)[0].permute(1, 2, 0).numpy()
    assert found.shape == expected.shape
    assert np.abs(found.astype(int) - expected.astype(int)).mean() < 5


def make(images: torch.Tensor) -> ImageSet:
    return ImageSet(images, torch.zeros(len(images), dtype=torch.int64))


def test_all_parts_are_brought_to_the_size_and_moments_found_anew() -> None:
    train, test, valid = (make(torch.from_numpy(pixels(3, 1, 8, 8))) for _ in range(3))
    data = Dataset("any", ("a",), train, test, valid, known=((1.0, 2.0),))
    small = resize_dataset(data, 4)
    assert small.shape == (1, 4, 4)
    assert small.test is not None
    assert small.valid is not None
    assert small.test.shape == small.valid.shape == (1, 4, 4)
    assert small.mean[0] == pytest.approx(train.images.float().mean().item(), abs=3)
    assert resize_dataset(data, 8) is data
    assert resize_dataset(data, None) is data


def test_files_are_brought_to_the_size_when_they_are_read(tmp_path: Path) -> None:
    files = ImageFiles(
        (str(write_image(tmp_path / "a.png", (6, 4))),), torch.zeros(1, dtype=torch.int64), (3, 4, 6)
    )
    small = resize_dataset(Dataset("any", ("a",), files), 2)
    assert isinstance(small.train, ImageFiles)
    assert small.train.load().images.shape == (1, 3, 2, 2)
