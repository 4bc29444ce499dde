from pathlib import Path

import pytest

from dartboard.data import ImageFiles, Images, ImageSet, LoadOptions
from dartboard.errors import DataError
from dartboard.space import get_space
from dartboard.train.config import TRAIN, build
from helpers.image_folders import write_images

CELL = "|nor_conv_3x3~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|none~1|nor_conv_3x3~2|"


def images(folder: Path, *words: str) -> Images:
    values = TRAIN.load(flags={"cell": CELL, "data": str(folder)}, words=words)
    return build(values, get_space("nb201")).data.train


def test_parts_of_images_are_taken_of_their_files(tmp_path: Path) -> None:
    """Images in memory have been brought to their size and cut already."""
    folder = write_images(tmp_path / "photos")
    assert isinstance(images(folder), ImageSet)
    assert isinstance(images(folder, "data.memory=0"), ImageFiles)
    assert isinstance(images(folder, "data.area=0.08"), ImageFiles)


def test_images_that_do_not_fit_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(_: str, __: LoadOptions) -> None:
        raise MemoryError

    monkeypatch.setattr("dartboard.search.config.load_dataset", load)
    with pytest.raises(DataError, match=r"do not fit in memory; set a smaller data.size"):
        images(tmp_path)
