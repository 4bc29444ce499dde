from pathlib import Path

import pytest

from dartboard.data import LoadOptions, load_dataset
from dartboard.errors import DataError
from helpers.image_folders import files_and_classes, freiburg

IN_FILES = LoadOptions(memory=0)


@pytest.mark.parametrize("inside", [".", "freiburg_groceries_dataset"])
def test_freiburg_has_the_first_split_of_its_authors_and_their_numbers(tmp_path: Path, inside: str) -> None:
    freiburg(tmp_path / inside)
    data = load_dataset(str(tmp_path), IN_FILES)
    assert (data.name, data.classes, data.shape) == ("freiburg", ("CANDY", "BEANS"), (3, 16, 16))
    assert files_and_classes(data) == [
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
def test_splits_that_make_no_sense(tmp_path: Path, lines: str, message: str) -> None:
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
