import os
from pathlib import Path

import pytest
import torch

from dartboard.data import BRIGHTEST, DATASETS, Dataset, load_dataset, load_digits
from dartboard.errors import DataError, UnknownNameError


@pytest.mark.parametrize("name", DATASETS)
def test_every_registered_set_loads_and_says_what_it_is_in_a_line(name: str) -> None:
    data = load_dataset(name)
    assert isinstance(data, Dataset)
    assert data.name == name
    line = DATASETS[name].__doc__
    assert line
    assert "\n" not in line


def test_digits_are_held_out_at_the_end() -> None:
    data, every = load_dataset("digits"), load_digits()
    assert data.test is not None
    assert (len(data.train), len(data.test)) == (1500, 297)
    assert torch.equal(torch.cat([data.train.images, data.test.images]), every.images)
    assert torch.equal(torch.cat([data.train.labels, data.test.labels]), every.labels)
    assert data.classes == tuple("0123456789")
    assert data.shape == (1, 8, 8)
    assert 0 < data.mean[0] < BRIGHTEST


def test_a_wrong_name_is_met_with_the_right_one() -> None:
    with pytest.raises(UnknownNameError, match="no data set or file called 'digit'; did you mean 'digits'"):
        load_dataset("digit")


@pytest.mark.parametrize("name", ["", "x" * 5000, "nothing\0here"])
def test_names_that_no_file_can_have_are_unknown(name: str) -> None:
    with pytest.raises((UnknownNameError, DataError)):
        load_dataset(name)


def test_a_wrong_path_is_met_with_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "flowers.npz").touch()
    with pytest.raises(
        DataError, match=r"there is no file '.*flower.npz' .*; did you mean '.*/flowers.npz'\?"
    ):
        load_dataset(str(tmp_path / "flower.npz"))


@pytest.mark.parametrize("name", ["no/such/folder", "zebra.npz", "ZEBRA.NPZ"])
def test_a_path_that_is_like_no_other_is_named(name: str) -> None:
    with pytest.raises(DataError, match=f"there is no file '{name}' to read a data set from$"):
        load_dataset(name)


def test_folders_and_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cat.png").touch()
    with pytest.raises(DataError, match=r"is a folder; data sets are read from files of kind \.npz"):
        load_dataset(str(tmp_path))
    with pytest.raises(DataError, match=r"cat\.png is a file of kind '\.png'; .* of kind \.npz"):
        load_dataset(str(tmp_path / "cat.png"))


def test_cifar_10_as_it_is_shared() -> None:
    path = Path(os.environ.get("DARTBOARD_DATA", "/nowhere")) / "cifar10-10k.npz"
    if not path.is_file():
        pytest.skip("DARTBOARD_DATA does not name a folder with cifar10-10k.npz")
    data = load_dataset(str(path))
    assert data.test is not None
    assert (len(data.train), len(data.test), data.shape) == (10_000, 2_000, (3, 32, 32))
    assert data.classes[0] == "airplane"
    # the published moments of all 50,000 images
    assert [m / 255 for m in data.mean] == pytest.approx([0.4914, 0.4822, 0.4465], abs=5e-3)
    assert [d / 255 for d in data.deviation] == pytest.approx([0.2470, 0.2435, 0.2616], abs=5e-3)
