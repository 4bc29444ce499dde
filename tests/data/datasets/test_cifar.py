import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dartboard.data import Dataset, ImageSet, load_dataset
from dartboard.errors import DataError
from helpers.image_folders import (
    cifar10_binary,
    cifar10_names,
    cifar10_python,
    cifar100_binary,
    cifar100_python,
    dump,
    pixels,
    write_image,
)


def pack(folder: Path, name: str) -> Path:
    """An archive of a folder, as the author makes them."""
    with tarfile.open(folder.parent / name, "w:gz") as archive:
        archive.add(folder, folder.name)
    return folder.parent / name


def check_ten(data: Dataset, written: dict[str, np.ndarray]) -> None:
    *train, test = (torch.from_numpy(own) for own in written.values())
    assert isinstance(data.train, ImageSet)
    assert isinstance(data.test, ImageSet)
    assert torch.equal(data.train.images, torch.cat(train))
    assert torch.equal(data.test.images, test)
    assert data.train.labels.tolist() == [n for n in range(5) for _ in range(len(test))]
    assert data.test.labels.unique().tolist() == [5]
    assert data.classes == tuple(cifar10_names())
    assert data.name == "cifar10"


def test_the_binary_version_of_ten_classes(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-bin"
    written = cifar10_binary(folder)
    check_ten(load_dataset(str(folder)), written)
    check_ten(load_dataset(str(tmp_path)), written)
    check_ten(load_dataset(str(pack(folder, "ten.tar.gz"))), written)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_the_pickled_version_of_ten_classes(tmp_path: Path, protocol: int) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    written = cifar10_python(folder, protocol=protocol)
    check_ten(load_dataset(str(folder)), written)
    check_ten(load_dataset(str(tmp_path)), written)
    check_ten(load_dataset(str(pack(folder, "ten.tgz"))), written)


@pytest.mark.parametrize("write", [cifar100_binary, cifar100_python])
def test_a_hundred_classes_have_the_fine_labels(tmp_path: Path, write: object) -> None:
    written = write(tmp_path / "cifar")  # type: ignore[operator]
    for path in (tmp_path / "cifar", pack(tmp_path / "cifar", "hundred.tar.gz")):
        data = load_dataset(str(path))
        train, test = (torch.from_numpy(own) for own in written.values())
        assert isinstance(data.train, ImageSet)
        assert isinstance(data.test, ImageSet)
        assert torch.equal(data.train.images, train)
        assert torch.equal(data.test.images, test)
        assert data.train.labels.tolist() == [99, 98, 97, 96]
        assert data.classes == tuple(f"fine{n}" for n in range(100))
        assert data.name == "cifar100"


def test_archives_are_found_in_the_folder_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = cifar10_binary(tmp_path / "cifar10" / "batches")
    pack(tmp_path / "cifar10" / "batches", "cifar-10-binary.tar.gz")
    monkeypatch.setenv("DARTBOARD_DATASETS", str(tmp_path))
    check_ten(load_dataset("cifar10"), written)


RECORD = 1 + 3072


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data_batch_3.bin", bytes(RECORD - 1), "3,072 bytes are not a whole number of records of 3,073"),
        ("data_batch_3.bin", bytes(2 * RECORD + 7), "not a whole number of records"),
        ("test_batch.bin", b"", "0 bytes are not a whole number"),
        ("data_batch_1.bin", b"\x0a" + bytes(3072), "a label 10; 10 classes are numbered 0 to 9"),
        ("batches.meta.txt", b"cat\ndog\n", "has the names of 2 classes, not of 10"),
        ("batches.meta.txt", b"\xff\xfe\n", "names of the classes are not texts"),
    ],
)
def test_damaged_binary_files_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    cifar10_binary(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"^{tmp_path}/{name}: .*{message}"):
        load_dataset(str(tmp_path))


FLAT = pixels(2, 3072)


def doubled(value: list[Any], times: int) -> list[Any]:
    """A list of a list and itself, and so on: as many values as no memory holds."""
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({b"labels": [1, 2]}, "has no 'data'; it has labels"),
        ({b"data": FLAT}, "has no 'labels'"),
        ({b"data": FLAT, b"labels": [1]}, "2 images but 1 labels"),
        ({b"data": FLAT, b"labels": [1, 10]}, "a label 10;"),
        ({b"data": FLAT, b"labels": [1, -1]}, "a label -1;"),
        ({b"data": FLAT, b"labels": [1, 0.5]}, "labels are a list of something else than whole numbers"),
        ({b"data": FLAT, b"labels": [1, [2]]}, "labels are a list of something else than whole numbers"),
        ({b"data": FLAT, b"labels": np.array([1, 0.5])}, "labels are float64"),
        ({b"data": FLAT, b"labels": (1, 2)}, "labels are a tuple"),
        ({b"data": FLAT, b"labels": doubled([1], 40)}, "labels are a list of something else"),
        ({b"data": FLAT[:, :5], b"labels": [1, 2]}, r"not an array of shape \[N, 3072\]"),
        ({b"data": FLAT.astype(float), b"labels": [1, 2]}, "pixels are float64, not uint8"),
        ({b"data": b"pixels", b"labels": [1, 2]}, "not an array of shape"),
        ([1], "holds a list, not a dictionary"),
    ],
)
def test_damaged_pickles_are_named(tmp_path: Path, batch: object, message: str) -> None:
    cifar10_python(tmp_path)
    dump(tmp_path / "data_batch_2", batch)
    with pytest.raises(DataError, match=rf"^{tmp_path}/data_batch_2: .*{message}"):
        load_dataset(str(tmp_path))


@pytest.mark.parametrize(
    "meta",
    [
        {b"label_names": [b"a"]},
        {b"label_names": 5},
        {b"label_names": {}},
        {},
        {b"label_names": doubled([b"a"], 40)},
    ],
)
def test_damaged_names_are_named(tmp_path: Path, meta: object) -> None:
    cifar10_python(tmp_path)
    dump(tmp_path / "batches.meta", meta)
    with pytest.raises(DataError, match=rf"^{tmp_path}/batches.meta: "):
        load_dataset(str(tmp_path))


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    cifar10_binary(tmp_path)
    (tmp_path / "data_batch_4.bin").unlink()
    with pytest.raises(DataError, match=rf"{tmp_path}/data_batch_4.bin: cannot be read \(No such file"):
        load_dataset(str(tmp_path))


def test_an_archive_without_a_batch_is_named(tmp_path: Path) -> None:
    cifar10_binary(tmp_path / "ten")
    (tmp_path / "ten" / "data_batch_4.bin").unlink()
    with pytest.raises(DataError, match=r"ten\.tar\.gz: has no data_batch_4\.bin"):
        load_dataset(str(pack(tmp_path / "ten", "ten.tar.gz")))


@pytest.mark.parametrize("cut", [10, 1000, -50])
def test_a_cut_archive_is_named(tmp_path: Path, cut: int) -> None:
    cifar10_binary(tmp_path / "ten")
    archive = pack(tmp_path / "ten", "ten.tar.gz")
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"ten\.tar\.gz: "):
        load_dataset(str(archive))


def test_other_archives_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(DataError, match=r"is not an archive of CIFAR-10 or CIFAR-100; unpack it"):
        load_dataset(str(pack(tmp_path / "other", "other.tar.gz")))
    (tmp_path / "plain.gz").touch()
    with pytest.raises(DataError, match=r"plain\.gz: is not an archive of CIFAR-10"):
        load_dataset(str(tmp_path / "plain.gz"))


def test_a_damaged_archive_of_another_packing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cifar.tar"
    with tarfile.open(file, "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("data_batch_1.bin"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x55
    file.write_bytes(data)
    with pytest.raises(DataError, match=rf"^{file}: is damaged or cut short"):
        load_dataset(str(file))


def test_cinic_has_all_three_splits(tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        for name in ("airplane", "truck"):
            write_image(tmp_path / part / name / "0.png", (32, 32))
    data = load_dataset(str(tmp_path))
    assert data.name == "cinic10"
    assert data.valid is not None
    assert data.test is not None
    assert (len(data.train), len(data.valid), len(data.test)) == (2, 2, 2)
