from pathlib import Path

import pytest

from dartboard.data import Dataset, ImageFiles, LoadOptions, load_dataset
from dartboard.errors import DataError
from imagefiles import freiburg, save, tiny_imagenet

STREAM = LoadOptions(memory=0)


def shown(data: Dataset) -> list[tuple[str, str]]:
    """File and class of every image, in training and in test."""
    found = []
    for part in (data.train, data.test):
        assert isinstance(part, ImageFiles)
        names = [data.classes[label] for label in part.labels.tolist()]
        found += list(zip([Path(file).name for file in part.files], names, strict=True))
    return found


@pytest.mark.parametrize("inside", [".", "tiny-imagenet-200"])
def test_tiny_imagenet_is_tested_on_its_validation_images(tmp_path: Path, inside: str) -> None:
    tiny_imagenet(tmp_path / inside)
    data = load_dataset(str(tmp_path), STREAM)
    assert data.name == "tiny-imagenet"
    assert data.classes == ("crane n01", "crane n02", "sock")
    assert data.valid is None
    assert shown(data) == [
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
    assert ("val_0.JPEG", "sock") in shown(load_dataset(str(tmp_path), STREAM))


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
    save(tmp_path / "x" / "0.JPEG")
    numbers = tiny_imagenet(tmp_path / "tiny") / "wnids.txt"
    numbers.write_text(f"n01 n02 n03 {number}")
    with pytest.raises(
        DataError, match=rf"^{numbers}: has '{number}', which is the name of no folder in train"
    ):
        load_dataset(str(tmp_path / "tiny"))


@pytest.mark.parametrize("inside", [".", "freiburg_groceries_dataset"])
def test_freiburg_has_the_first_division_of_its_authors_and_their_numbers(
    tmp_path: Path, inside: str
) -> None:
    freiburg(tmp_path / inside)
    data = load_dataset(str(tmp_path), STREAM)
    assert (data.name, data.classes, data.shape) == ("freiburg", ("CANDY", "BEANS"), (3, 16, 16))
    assert shown(data) == [
        ("BEANS0.png", "BEANS"),
        ("BEANS1.png", "BEANS"),
        ("CANDY0.png", "CANDY"),
        ("BEANS2.png", "BEANS"),
        ("CANDY1.png", "CANDY"),
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("BEANS/BEANS0.png\n", "splits/train0.txt: has the line 'BEANS/BEANS0.png'; expected one like"),
        ("BEANS/BEANS0.png one\n", "splits/train0.txt: has the line"),
        ("/etc/x.png 1\n", "splits/train0.txt: has the line"),
        ("../BEANS/x.png 1\n", "splits/train0.txt: has the line"),
        ("BEANS/BEANS0.png 0\n", "a class has several numbers, or a number several classes"),
        (
            "BEANS/BEANS0.png 1\nCANDY/CANDY0.png 0\nOIL/O.png 7\n",
            "its 3 classes are not numbered from 0 to 2",
        ),
        ("BEANS/BEANS0.png 1\n", "class 'CANDY' of train is empty: it has no images"),
        (
            "BEANS/BEANS0.png 1\nCANDY/gone.png 0\n",
            "'CANDY' of train is empty: none of its 1 files can be read",
        ),
    ],
)
def test_divisions_that_make_no_sense(tmp_path: Path, lines: str, message: str) -> None:
    freiburg(tmp_path)
    (tmp_path / "splits" / "train0.txt").write_text(lines)
    with pytest.raises(DataError, match=message):
        load_dataset(str(tmp_path))


def test_a_listed_file_that_is_gone_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    freiburg(tmp_path)
    (tmp_path / "images" / "BEANS" / "BEANS1.png").unlink()
    broken: list[tuple[str, str]] = []
    data = load_dataset(str(tmp_path), LoadOptions(broken=lambda *args: broken.append(args)))
    assert len(data.train) == 2
    assert broken == [(f"{tmp_path}/images/BEANS/BEANS1.png", "there is no such file")]
    assert "broken files that are left out, 1: images/BEANS/BEANS1.png (there is no such file)" in caplog.text


def test_cinic_has_all_three_parts(tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        for name in ("airplane", "truck"):
            save(tmp_path / part / name / "0.png", (32, 32))
    data = load_dataset(str(tmp_path))
    assert data.name == "cinic10"
    assert data.valid is not None
    assert data.test is not None
    assert (len(data.train), len(data.valid), len(data.test)) == (2, 2, 2)
