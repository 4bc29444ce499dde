from pathlib import Path

import pytest

from dartboard.data import LoadOptions, load_dataset
from dartboard.errors import DataError
from helpers.image_folders import files_and_classes, tiny_imagenet, write_image

IN_FILES = LoadOptions(memory=0)


@pytest.mark.parametrize("inside", [".", "tiny-imagenet-200"])
def test_tiny_imagenet_is_tested_on_its_validation_images(tmp_path: Path, inside: str) -> None:
    tiny_imagenet(tmp_path / inside)
    data = load_dataset(str(tmp_path), IN_FILES)
    assert data.name == "tiny-imagenet"
    assert data.classes == ("crane n01", "crane n02", "sock")
    assert data.valid is None
    assert files_and_classes(data) == [
        ("n01_0.JPEG", "crane n01"),
        ("n02_0.JPEG", "crane n02"),
        ("n03_0.JPEG", "sock"),
        ("val_0.JPEG", "sock"),
        ("val_1.JPEG", "crane n01"),
        ("val_2.JPEG", "crane n02"),
    ]
    assert load_dataset(str(tmp_path)).shape == (3, 64, 64)


def test_tiny_imagenet_without_words_has_numbers_for_names(tmp_path: Path) -> None:
    (tiny_imagenet(tmp_path) / "words.txt").unlink()
    assert load_dataset(str(tmp_path)).classes == ("n01", "n02", "n03")


def test_tiny_imagenet_with_its_validation_images_in_folders(tmp_path: Path) -> None:
    tiny_imagenet(tmp_path)
    (tmp_path / "val" / "val_annotations.txt").unlink()
    for place, number in enumerate(("n03", "n01", "n02")):
        file = tmp_path / "val" / "images" / f"val_{place}.JPEG"
        (tmp_path / "val" / number).mkdir()
        file.rename(tmp_path / "val" / number / file.name)
    (tmp_path / "val" / "images").rmdir()
    (tmp_path / "test" / "images" / "test_0.JPEG").rename(tmp_path / "test" / "test_0.JPEG")
    (tmp_path / "test" / "images").rmdir()
    assert ("val_0.JPEG", "sock") in files_and_classes(load_dataset(str(tmp_path), IN_FILES))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("val_9.JPEG\tn77\t0\n", "has 'val_9.JPEG' of class 'n77', which is not in wnids.txt"),
        ("val_9.JPEG\n", "has 'val_9.JPEG' of class ''"),
        ("../../x.JPEG\tn01\n", r"has '\.\./\.\./x\.JPEG'"),
    ],
)
def test_annotations_that_make_no_sense(tmp_path: Path, line: str, message: str) -> None:
    notes = tiny_imagenet(tmp_path) / "val" / "val_annotations.txt"
    notes.write_text(notes.read_text() + line)
    with pytest.raises(DataError, match=rf"^{notes}: {message}"):
        load_dataset(str(tmp_path))


def test_tiny_imagenet_without_a_class_is_named(tmp_path: Path) -> None:
    (tiny_imagenet(tmp_path) / "wnids.txt").write_text("n01 n02 n03 n04")
    with pytest.raises(DataError, match=r"train/n04: cannot be listed \(No such file"):
        load_dataset(str(tmp_path))


@pytest.mark.parametrize("number", ["../x", "/etc", "n01/images", "..", "."])
def test_numbers_that_lead_elsewhere_are_refused(tmp_path: Path, number: str) -> None:
    write_image(tmp_path / "x" / "0.JPEG")
    numbers = tiny_imagenet(tmp_path / "tiny") / "wnids.txt"
    numbers.write_text(f"n01 n02 n03 {number}")
    with pytest.raises(
        DataError, match=rf"^{numbers}: has '{number}', which is the name of no folder in train"
    ):
        load_dataset(str(tmp_path / "tiny"))
