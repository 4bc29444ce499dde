import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dartboard.data import ImageSet, load_dataset, published_datasets
from dartboard.data.datasets.mnist import DEBIAN, FIRST_LABELS
from dartboard.errors import DataError
from helpers.image_folders import change_published, idx, idx_files, pixels

LABELS = np.arange(5, dtype=np.uint8)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("inside", [".", "raw", "MNIST/raw"])
def test_images_and_labels_are_those_of_the_files(tmp_path: Path, packed: bool, inside: str) -> None:
    written = idx_files(tmp_path / inside, packed=packed)
    data = load_dataset(str(tmp_path))
    assert isinstance(data.train, ImageSet)
    assert isinstance(data.test, ImageSet)
    assert torch.equal(data.train.images, torch.from_numpy(written["train"])[:, None])
    assert torch.equal(data.test.images, torch.from_numpy(written["t10k"])[:, None])
    assert data.train.labels.tolist() == [0, 1, 2, 3, 4]
    assert data.classes == tuple("0123456789")


def test_names_with_a_dot_are_known(tmp_path: Path) -> None:
    idx_files(tmp_path, packed=False)
    for file in list(tmp_path.iterdir()):
        file.rename(tmp_path / file.name.replace("-idx", ".idx"))
    assert len(load_dataset(str(tmp_path)).train) == 5


@pytest.mark.parametrize(
    ("folder", "name", "first"),
    [
        ("MNIST", "mnist", "0"),
        ("data/FashionMNIST/raw", "fashion-mnist", "T-shirt/top"),
        ("Fashion_MNIST", "fashion-mnist", "T-shirt/top"),
        ("KMNIST", "kmnist", "o"),
        ("kuzushiji", "kmnist", "o"),
    ],
)
def test_words_in_the_path_tell_the_sets_apart(tmp_path: Path, folder: str, name: str, first: str) -> None:
    idx_files(tmp_path / folder)
    data = load_dataset(str(tmp_path / folder.partition("/")[0]))
    assert (data.name, data.classes[0]) == (name, first)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(("name", "first"), [("mnist", "0"), ("fashion-mnist", "T-shirt/top")])
def test_labels_tell_the_sets_apart_whatever_the_folder_is_called(
    tmp_path: Path, name: str, first: str, packed: bool
) -> None:
    folder = tmp_path / ("mnist" if name == "fashion-mnist" else "fashion")
    idx_files(folder, 20, packed=packed, labels=FIRST_LABELS[name])
    data = load_dataset(str(folder))
    assert (data.name, data.classes[0]) == (name, first)


def test_a_file_as_it_is_published_tells_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idx_files(tmp_path / "foo")
    md5 = hashlib.md5(
        (tmp_path / "foo" / "train-labels-idx1-ubyte.gz").read_bytes(), usedforsecurity=False
    ).hexdigest()
    images, labels, *test = published_datasets()["kmnist"].downloads
    change_published(monkeypatch, "kmnist", downloads=(images, replace(labels, md5=md5), *test))
    assert load_dataset(str(tmp_path / "foo")).name == "kmnist"


def test_a_set_that_nobody_knows_has_numbers_for_classes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    idx_files(tmp_path / "foo")
    data = load_dataset(str(tmp_path / "foo"))
    assert (data.name, data.classes) == ("foo", tuple("0123456789"))
    assert f"{tmp_path}/foo: has files in the form of MNIST, but of which set is not known" in caplog.text


IMAGES = idx(pixels(5, 28, 28), 0x803)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train-images-idx3-ubyte", IMAGES[:-1], "has 3,919 bytes of the 3,920 that its header says"),
        ("train-images-idx3-ubyte", IMAGES + b"x", "has 3,921 bytes of the 3,920"),
        ("train-images-idx3-ubyte", IMAGES[:10], "begins with 00000803, not 00000803|is not an idx file"),
        ("train-images-idx3-ubyte", b"", "is not an idx file of bytes in 3 axes: it begins with nothing"),
        ("train-images-idx3-ubyte", idx(LABELS, 0x801) * 9, "begins with 00000801, not 00000803"),
        ("t10k-images-idx3-ubyte", b"\xff" * 99, "begins with ffffffff, not 00000803"),
        ("t10k-labels-idx1-ubyte", idx(LABELS[:4], 0x801), "5 images but 4 labels"),
        ("t10k-labels-idx1-ubyte", idx(LABELS + 9, 0x801), "a label 10; 10 classes are numbered 0 to 9"),
        ("t10k-labels-idx1-ubyte", IMAGES, "begins with 00000803, not 00000801"),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_what_is_wrong_is_said_with_the_file(
    tmp_path: Path, name: str, content: bytes, message: str, packed: bool
) -> None:
    idx_files(tmp_path, packed=packed)
    file = tmp_path / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(DataError, match=rf"^{file}: .*({message})"):
        load_dataset(str(tmp_path))


@pytest.mark.parametrize("cut", [0, 5, 100, -9])
def test_a_cut_packed_file_is_named(tmp_path: Path, cut: int) -> None:
    idx_files(tmp_path)
    file = tmp_path / "t10k-images-idx3-ubyte.gz"
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(DataError, match=rf"^{file}: "):
        load_dataset(str(tmp_path))


def test_what_is_not_packed_is_named(tmp_path: Path) -> None:
    idx_files(tmp_path)
    file = tmp_path / "train-labels-idx1-ubyte.gz"
    file.write_bytes(b"no archive")
    with pytest.raises(DataError, match=rf"^{file}: cannot be read \(Not a gzipped file"):
        load_dataset(str(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    idx_files(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match=r"has no t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte\.gz"):
        load_dataset(str(tmp_path))


def test_fashion_mnist_as_debian_has_it() -> None:
    if not (DEBIAN / "fashion-mnist").is_dir():
        pytest.skip("Debian's package dataset-fashion-mnist is not installed")
    data = load_dataset("fashion-mnist")
    assert data.test is not None
    assert (len(data.train), len(data.test), data.shape) == (60_000, 10_000, (1, 28, 28))
    assert data.train.labels.bincount().tolist() == [6000] * 10
    assert data.test.labels[:5].tolist() == [9, 2, 1, 1, 6]
    assert tuple(data.train.labels[:20].tolist()) == FIRST_LABELS["fashion-mnist"]
    assert [m / 255 for m in (*data.mean, *data.std)] == pytest.approx([0.2860, 0.3530], abs=1e-4)
