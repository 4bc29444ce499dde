import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from dartboard.data import BRIGHTEST, DATASETS, ImageSet, LoadOptions, load_dataset, load_digits
from dartboard.errors import DataError, UnknownNameError
from helpers.image_folders import (
    change_published,
    cifar10_binary,
    cifar100_python,
    freiburg,
    idx_files,
    imagenet16,
    svhn,
    tiny_imagenet,
    write_image,
    write_images,
)


@pytest.mark.parametrize("name", DATASETS)
def test_every_registered_set_says_what_it_is_in_a_line(name: str) -> None:
    line = DATASETS[name].__doc__
    assert line
    assert "\n" not in line


WRITERS: dict[str, Callable[[Path], object]] = {
    "digits": lambda _: None,
    "cluttered-digits": lambda _: None,
    "cifar10": lambda folder: cifar10_binary(folder / "cifar-10-batches-bin"),
    "cifar100": cifar100_python,
    "mnist": idx_files,
    "fashion-mnist": idx_files,
    "kmnist": idx_files,
    "svhn": svhn,
    "imagenet16-120": imagenet16,
    "tiny-imagenet": lambda folder: tiny_imagenet(folder / "tiny-imagenet-200"),
    "freiburg": freiburg,
    "cinic10": lambda folder: [
        write_images(folder / part, ["airplane", "cat"]) for part in ("train", "valid", "test")
    ],
    "imagenet": lambda folder: [write_images(folder / part, ["n01", "n02"]) for part in ("train", "val")],
}
CLASSES = {
    "cifar100": 100,
    "imagenet16-120": 120,
    "tiny-imagenet": 3,
    "freiburg": 2,
    "cinic10": 2,
    "imagenet": 2,
}  # of what is written here; 10 elsewhere


@pytest.mark.parametrize("name", DATASETS)
def test_every_registered_set_is_read_from_its_folder(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    data = load_dataset(name, LoadOptions(root=tmp_path))
    assert data.name == name
    assert len(data.classes) == CLASSES.get(name, 10)
    assert data.test is not None
    assert len(data.train) > 0 < len(data.test)


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("size", [8, 20])
def test_every_set_is_brought_to_the_size_asked_for(name: str, size: int, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name)
    data = load_dataset(name, LoadOptions(root=tmp_path, size=size))
    assert data.shape[1:] == (size, size)
    assert data.test is not None
    assert data.test.shape == data.shape


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"DARTBOARD_DATASETS": "{}/own", "XDG_DATA_HOME": "{}/xdg"}, "own"),
        ({"XDG_DATA_HOME": "{}/xdg"}, "xdg/dartboard"),
        ({"HOME": "{}", "XDG_DATA_HOME": "relative"}, ".local/share/dartboard"),
        ({"HOME": "{}"}, ".local/share/dartboard"),
    ],
)
def test_variables_say_where_data_sets_are(
    variables: dict[str, str], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value.format(tmp_path))
    svhn(tmp_path / place / "svhn")
    assert load_dataset("svhn").name == "svhn"
    with pytest.raises(DataError, match=f"'mnist' is not in {tmp_path}/{place}/mnist; "):
        load_dataset("mnist")


def test_a_set_that_is_not_there_says_which_files_go_where(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset("svhn", LoadOptions(root=tmp_path))
    assert str(caught.value) == (
        f"data set 'svhn' is not in {tmp_path}/svhn; get it with `dartboard data get svhn`, or put there "
        "train_32x32.mat and test_32x32.mat, which come from http://ufldl.stanford.edu/housenumbers/"
    )


def test_imagenet_as_it_is_published_says_how_to_sort_it(tmp_path: Path) -> None:
    write_images(tmp_path / "imagenet" / "train", ["n01", "n02"])
    write_image(tmp_path / "imagenet" / "val" / "ILSVRC2012_val_00000001.JPEG")
    with pytest.raises(DataError, match=r"imagenet/val: its images are not in folders; move each into"):
        load_dataset("imagenet", LoadOptions(root=tmp_path))


def test_debians_folder_is_searched_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_published(monkeypatch, "fashion-mnist", extra_folders=(tmp_path / "debian",))
    with pytest.raises(DataError, match=rf"is not in .*/fashion-mnist \(nor in {tmp_path}/debian\)"):
        load_dataset("fashion-mnist", LoadOptions(root=tmp_path))
    idx_files(tmp_path / "debian")
    assert load_dataset("fashion-mnist", LoadOptions(root=tmp_path)).classes[9] == "Ankle boot"


def test_an_npz_is_brought_to_the_size_asked_for(tmp_path: Path) -> None:
    images = np.zeros((3, 4, 8, 3), np.uint8)
    images[:, :, 2:6] = 200  # what is left when the sides are cut off
    np.savez(tmp_path / "wide.npz", x_train=images, y_train=np.arange(3))
    data = load_dataset(str(tmp_path / "wide.npz"), LoadOptions(size=4))
    assert isinstance(data.train, ImageSet)
    assert data.train.images.unique().tolist() == [200]
    assert load_dataset(str(tmp_path / "wide.npz"), LoadOptions(size=8)).shape == (3, 8, 8)


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
    with pytest.raises(
        UnknownNameError, match="no data set, file or folder called 'digit'; did you mean 'digits'"
    ):
        load_dataset("digit")


def test_no_name_is_not_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_images(tmp_path))
    assert load_dataset(".").name == tmp_path.name
    with pytest.raises(UnknownNameError, match="no data set, file or folder called ''"):
        load_dataset("")


@pytest.mark.parametrize("name", ["", "x" * 5000, "nothing\0here"])
def test_names_that_no_file_can_have_are_unknown(name: str) -> None:
    with pytest.raises((UnknownNameError, DataError)):
        load_dataset(name)


def test_a_wrong_path_is_met_with_the_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "flowers.npz").touch()
    with pytest.raises(
        DataError, match=r"there is no file or folder '.*flower.npz' .*; did you mean '.*/flowers.npz'\?"
    ):
        load_dataset(str(tmp_path / "flower.npz"))


@pytest.mark.parametrize("name", ["no/such/folder", "zebra.npz", "ZEBRA.NPZ"])
def test_a_path_that_is_like_no_other_is_named(name: str) -> None:
    words = (
        f"there is no file or folder '{name}' to read a data set from; files and folders are looked for in "
    )
    with pytest.raises(DataError) as told:
        load_dataset(name)
    assert str(told.value) == f"{words}{Path.cwd()}"


def test_a_name_says_where_it_was_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UnknownNameError, match=f"there are cifar10, .*; files and .* looked for in {tmp_path}$"
    ):
        load_dataset("photos")
    with pytest.raises(DataError, match=r"to read a data set from$"):
        load_dataset("/no/such/folder")


def test_a_wrong_path_is_met_with_the_folder_beside_it(tmp_path: Path) -> None:
    (tmp_path / "flowers").mkdir()
    with pytest.raises(DataError, match=r"did you mean '.*/flowers'\?"):
        load_dataset(str(tmp_path / "flowes"))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cat.png").touch()
    with pytest.raises(
        DataError, match=r"cat\.png is a file of kind '\.png'; .* folders and .* kind .*\.npz"
    ):
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
    assert [d / 255 for d in data.std] == pytest.approx([0.2470, 0.2435, 0.2616], abs=5e-3)
