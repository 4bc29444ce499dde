import pytest
import torch

from dartboard.cli.models import choose_images, class_indices, load_images
from dartboard.data import Dataset, ImageFiles, ImageSet
from dartboard.errors import DataError
from dartboard.export import Metadata
from imagefiles import fill


def images(count):
    return ImageSet(torch.zeros(count, 1, 4, 4, dtype=torch.uint8), torch.zeros(count, dtype=torch.int64))


@pytest.mark.parametrize(
    ("sizes", "part"),
    [((3, 2, 1), "test"), ((3, 2, None), "valid"), ((3, None, None), "train"), ((3, None, 0), "train")],
)
def test_the_first_of_the_parts_that_there_are(sizes, part):
    train, valid, test = (None if size is None else images(size) for size in sizes)
    chosen = choose_images(Dataset("some", ("a", "b"), train, test, valid))
    assert chosen.part == part


def test_a_part_that_there_is_not_is_named():
    data = Dataset("some", ("a", "b"), images(3), images(2))
    assert str(choose_images(data, "train")) == "3 training images of some"
    with pytest.raises(DataError, match="no validation images; use --part test or --part train"):
        choose_images(data, "valid")


def test_places_of_classes():
    assert class_indices(("a", "b"), ("a", "b")).tolist() == [0, 1]
    assert class_indices(("c", "a", "b"), ("a", "b", "c")).tolist() == [2, 0, 1]
    assert class_indices(("a", "a"), ("a", "a")).tolist() == [0, 1]
    for classes in (("a", "b", "c"), ("a",), ("a", "d"), ("b", "b")):
        with pytest.raises(DataError, match="tells a, b apart"):
            class_indices(classes, ("a", "b"))


@pytest.mark.parametrize(("crop_pct", "kind"), [(1.0, ImageSet), (0.875, ImageFiles)])
def test_the_middle_of_images_is_that_of_their_files(tmp_path, crop_pct, kind):
    metadata = Metadata(("cat", "dog"), (3, 8, 8), (0.0,) * 3, (1.0,) * 3, crop_pct)
    assert isinstance(load_images(str(fill(tmp_path / "photos")), metadata).train, kind)
