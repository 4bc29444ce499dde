from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.io import savemat

from dartboard.data import ImageSet, load_dataset
from dartboard.errors import DataError
from helpers.image_folders import pixels, svhn


def test_images_are_upright_and_ten_stands_for_zero(tmp_path: Path) -> None:
    written = svhn(tmp_path)
    data = load_dataset(str(tmp_path))
    assert isinstance(data.train, ImageSet)
    assert isinstance(data.test, ImageSet)
    assert data.shape == (3, 32, 32)
    for part, images in (("train", data.train), ("test", data.test)):
        for number in range(10):
            for channel in range(3):
                expected = torch.from_numpy(written[part][:, :, channel, number].copy())
                assert torch.equal(images.images[number, channel], expected)
    assert data.train.labels.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]
    assert (data.name, data.classes) == ("svhn", tuple("0123456789"))


X = pixels(32, 32, 3, 2)
Y = np.array([[1], [2]], np.uint8)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "has no array y"),
        ({"y": Y}, "has no array X"),
        ({"X": X, "y": Y[:1]}, "2 images but 1 labels"),
        ({"X": X, "y": Y - 1}, "its labels go from 0 to 1, not from 1 to 10"),
        ({"X": X, "y": Y + 9}, "its labels go from 10 to 11"),
        ({"X": X, "y": Y / 2}, "labels are float64"),
        ({"X": X / 2, "y": Y}, "pixels are float64, not uint8"),
        ({"X": X[:, :, :2], "y": Y}, r"the shape \[32, 32, 2, 2\], not \[height, width, 3, N\]"),
        ({"X": X[..., 0], "y": Y}, r"the shape \[32, 32, 3\]"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    svhn(tmp_path)
    savemat(tmp_path / "test_32x32.mat", arrays)
    with pytest.raises(DataError, match=rf"^{tmp_path}/test_32x32.mat: .*{message}"):
        load_dataset(str(tmp_path))


@pytest.mark.parametrize("compressed", [True, False])
def test_every_cut_is_an_error(tmp_path: Path, compressed: bool) -> None:
    svhn(tmp_path)
    file = tmp_path / "test_32x32.mat"
    savemat(file, {"X": X, "y": Y}, do_compression=compressed)
    whole = file.read_bytes()
    for cut in [*range(0, 300, 7), *range(300, len(whole), 997), len(whole) - 1]:
        file.write_bytes(whole[:cut])
        with pytest.raises(DataError, match=rf"^{file}: "):
            load_dataset(str(tmp_path))


def test_a_changed_byte_on_which_others_crash(tmp_path: Path) -> None:
    svhn(tmp_path)
    file = tmp_path / "test_32x32.mat"
    savemat(file, {"X": X, "y": Y})
    data = bytearray(file.read_bytes())
    data[184] = 0
    file.write_bytes(data)
    with pytest.raises(DataError, match=rf"^{file}: "):
        load_dataset(str(tmp_path))


def test_other_contents_are_named(tmp_path: Path) -> None:
    svhn(tmp_path)
    (tmp_path / "train_32x32.mat").write_text("no images " * 100)
    with pytest.raises(DataError, match=r"train_32x32\.mat: is not a whole MATLAB 5 file"):
        load_dataset(str(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    svhn(tmp_path)
    (tmp_path / "test_32x32.mat").unlink()
    with pytest.raises(DataError, match=r"test_32x32\.mat: cannot be read \(No such file"):
        load_dataset(str(tmp_path))
