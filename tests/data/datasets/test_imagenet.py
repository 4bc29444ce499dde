from pathlib import Path

import pytest
import torch

from dartboard.data import ImageSet, LoadOptions, load_dataset
from dartboard.errors import DataError
from helpers.image_folders import dump, imagenet16, pixels


def test_the_first_120_classes_are_kept(tmp_path: Path) -> None:
    written = imagenet16(tmp_path)
    told: list[tuple[str, int, int]] = []
    data = load_dataset(str(tmp_path), LoadOptions(progress=lambda *args: told.append(args)))
    assert isinstance(data.train, ImageSet)
    assert isinstance(data.test, ImageSet)
    assert (data.name, data.shape, len(data.train), len(data.test)) == ("imagenet16-120", (3, 16, 16), 20, 2)
    assert torch.equal(data.train.images[2:4], torch.from_numpy(written["train_data_batch_2"][:2]))
    assert torch.equal(data.test.images, torch.from_numpy(written["val_data"][:2]))
    assert data.train.labels.tolist() == [0, 119] * 10
    assert (data.classes[0], data.classes[-1]) == ("1", "120")
    assert told[-1] == ("reading batches", 11, 11)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"labels": [1]}, r"not an array of shape \[N, 768\]"),
        ({"data": pixels(1, 3072), "labels": [1]}, r"not an array of shape \[N, 768\]"),
        ({"data": pixels(2, 768), "labels": [1]}, "2 images but 1 labels"),
        ({"data": pixels(1, 768), "labels": [0]}, "a label -1; 1000 classes"),
        ({"data": pixels(1, 768), "labels": [1001]}, "a label 1000; 1000 classes"),
        ({"data": pixels(1, 768), "labels": "1"}, "labels are"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, batch: object, message: str) -> None:
    imagenet16(tmp_path)
    dump(tmp_path / "train_data_batch_7", batch)
    with pytest.raises(DataError, match=rf"^{tmp_path}/train_data_batch_7: .*{message}"):
        load_dataset(str(tmp_path))


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    imagenet16(tmp_path)
    (tmp_path / "train_data_batch_10").unlink()
    with pytest.raises(DataError, match=r"train_data_batch_10: cannot be read \(No such file"):
        load_dataset(str(tmp_path))
