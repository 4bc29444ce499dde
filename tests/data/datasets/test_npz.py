import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dartboard.data import Dataset, load_dataset
from dartboard.errors import DataError

Arrays = dict[str, Any]
Write = Callable[..., Dataset]

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(256, size=(6, 3, 4, 5), dtype=np.uint8)  # NCHW
GRAY = IMAGES[:, :1]
LABELS = np.array([0, 1, 2, 0, 1, 2], dtype=np.uint8)
GOOD: Arrays = {"x_train": IMAGES, "y_train": LABELS}


@pytest.fixture
def load(tmp_path: Path) -> Write:
    """Writes arrays to a file and reads that as a data set."""

    def write(**arrays: Any) -> Dataset:
        np.savez(tmp_path / "flowers.npz", **arrays)
        return load_dataset(str(tmp_path / "flowers.npz"))

    return write


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (IMAGES, IMAGES),
        (IMAGES.transpose(0, 2, 3, 1), IMAGES),
        (np.asfortranarray(IMAGES), IMAGES),
        (GRAY, GRAY),
        (GRAY.transpose(0, 2, 3, 1), GRAY),
        (GRAY[:, 0], GRAY),
    ],
    ids=["NCHW", "NHWC", "NCHW in Fortran order", "N1HW", "NHW1", "NHW"],
)
def test_every_layout_gives_the_same_images(load: Write, stored: Any, expected: Any) -> None:
    data = load(x_train=stored, y_train=LABELS)
    assert torch.equal(data.train.images, torch.tensor(expected))
    assert data.train.images.is_contiguous()
    assert data.train.labels.tolist() == LABELS.tolist()


def test_a_last_axis_of_three_means_channels(load: Write) -> None:
    assert load(x_train=np.zeros((6, 3, 5, 3), np.uint8), y_train=LABELS).shape == (3, 3, 5)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ((6, 8, 9, 4), (4, 8, 9)),  # RGBA
        ((6, 8, 9, 2), (2, 8, 9)),  # gray with transparency
        ((6, 4, 8, 9), (4, 8, 9)),
        ((6, 3, 8, 4), (3, 8, 4)),  # three channels are believed first
        ((6, 1, 4, 4), (1, 4, 4)),
        ((6, 4, 4, 4), (4, 4, 4)),
        ((6, 5, 8, 9), (5, 8, 9)),
    ],
)
def test_which_axis_is_that_of_the_channels(load: Write, stored: Any, expected: Any) -> None:
    assert load(x_train=np.zeros(stored, np.uint8), y_train=LABELS).shape == expected


@pytest.mark.parametrize("kind", ["u1", "i2", "<i8", ">i4", "u8"])
def test_labels_of_every_whole_kind_are_read(load: Write, kind: str) -> None:
    data = load(x_train=IMAGES, y_train=LABELS.astype(kind))
    assert data.train.labels.dtype == torch.int64
    assert data.train.labels.tolist() == LABELS.tolist()


def test_names_and_test_images_are_read_where_there_are_any(load: Write) -> None:
    names = np.array(["rose", "tulip", "lily", "daisy"])
    data = load(**GOOD, x_test=IMAGES[:2], y_test=LABELS[:2], class_names=names, notes=np.arange(3))
    assert data.name == "flowers"
    assert data.classes == ("rose", "tulip", "lily", "daisy")
    assert data.test is not None
    assert torch.equal(data.test.images, torch.tensor(IMAGES[:2]))


def test_without_names_the_classes_are_numbers_up_to_the_largest_label_of_both_parts(load: Write) -> None:
    assert load(**GOOD).classes == ("0", "1", "2")
    assert load(**GOOD).test is None
    assert load(**GOOD, x_test=IMAGES[:1], y_test=np.array([4])).classes == ("0", "1", "2", "3", "4")


def test_compressed_files_are_read(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "small.NPZ.npz", **GOOD)
    assert len(load_dataset(str(tmp_path / "small.NPZ.npz")).train) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x_train": None}, "has no x_train; it has y_train"),
        ({"x_train": None, "y_train": None}, "has no x_train and no y_train; it has no arrays"),
        ({"y_train": None, "labels": LABELS}, "has no y_train; it has labels, x_train"),
        ({"x_test": IMAGES}, "has no y_test; it has x_test, x_train, y_train"),
        ({"y_test": LABELS}, "has no x_test; it has x_train, y_test, y_train"),
        (
            {"x_train": IMAGES / 255},
            r"x_train is float64; .* save \(255 \* x\).round\(\).*if they go from 0 to 1$",
        ),
        ({"x_train": IMAGES.astype(int)}, r"x_train is int64; .* save x.astype\('uint8'\)$"),
        ({"x_train": IMAGES[0, 0]}, r"x_train has the shape \[4, 5\]; images are NHWC, NCHW or NHW"),
        ({"x_train": IMAGES[:, None]}, r"x_train has the shape \[6, 1, 3, 4, 5\]"),
        ({"x_train": IMAGES[:0], "y_train": LABELS[:0]}, "'flowers' has no training images"),
        ({"y_train": LABELS[:5]}, "6 images but 5 labels"),
        ({"y_train": LABELS[:, None]}, r"y_train is uint8 of shape \[6, 1\]; labels must be whole numbers"),
        ({"y_train": LABELS / 2}, "y_train is float64"),
        ({"y_train": LABELS.astype(int) - 1}, "training label -1 is out of range"),
        ({"y_train": LABELS.astype(int) + 10**9}, "a label 1000000002; number the classes from 0, or add"),
        ({"class_names": np.array(["a", "b"])}, "label 2 is out of range: 2 classes are numbered 0 to 1"),
        ({"class_names": np.array([b"a", b"b"])}, r"class_names is \|S1 of shape \[2\]; it must be texts"),
        (
            {"class_names": np.array(["a", "b", "a"])},
            "class_names has 'a' 2 times; give each class a name of its own",
        ),
        ({"class_names": np.array(["", "b", ""])}, "class_names has '' 2 times"),
        ({"class_names": np.array("abc")}, r"class_names is <U3 of shape \[\]"),
        (
            {"class_names": np.array(["a", 2], object)},
            "class_names cannot be read .*save it as plain numbers or",
        ),
        ({"x_test": IMAGES[:, :, :3], "y_test": LABELS}, "images are 3x4x5 but test images 3x3x5"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(load: Write, change: Arrays, message: str) -> None:
    arrays = {name: array for name, array in (GOOD | change).items() if array is not None}
    with pytest.raises(DataError, match=rf"^/.*flowers\.npz: .*{message}"):
        load(**arrays)


def test_other_contents_are_no_npz(tmp_path: Path) -> None:
    path = tmp_path / "text.npz"
    path.write_text("no images")
    with pytest.raises(DataError, match=r"text\.npz: not an \.npz file; write one with numpy\.savez"):
        load_dataset(str(path))


def test_damaged_arrays_are_named(tmp_path: Path) -> None:
    path = tmp_path / "damaged.npz"
    np.savez(path, **GOOD)
    content = bytearray(path.read_bytes())
    place = content.index(IMAGES.tobytes()[:50])
    content[place : place + 50] = bytes(50)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"damaged\.npz: x_train cannot be read \(Bad CRC"):
        load_dataset(str(path))


@pytest.mark.parametrize("size", [2**40, 2**62, 10**19, 10**24])
def test_a_shape_beyond_all_numbers_is_named(tmp_path: Path, size: int) -> None:
    written, changed = b"(6, 3, 4, 5), }".ljust(40), f"(6, {size}, 4, 5), }}".encode().ljust(40)
    array = io.BytesIO()
    np.save(array, IMAGES)
    assert array.getvalue().count(written) == 1
    path = tmp_path / "large.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x_train.npy", array.getvalue().replace(written, changed))
    with pytest.raises(DataError, match=r"large\.npz: x_train cannot be read \("):
        load_dataset(str(path))


@pytest.mark.parametrize("packing", [0, 8, 12, 14])
def test_every_changed_byte_gives_images_or_one_line(tmp_path: Path, packing: int) -> None:
    path = tmp_path / "damaged.npz"
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, array in GOOD.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(500):
        data = bytearray(whole)
        data[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(data)
        try:
            load_dataset(str(path))
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "closed.npz"
    np.savez(path, **GOOD)
    path.chmod(0)
    with pytest.raises(DataError, match=r"closed\.npz: cannot be read \(Permission denied\)"):
        load_dataset(str(path))
