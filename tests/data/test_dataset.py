import pytest
import torch
from torch import Tensor

from dartboard.data import Dataset, ImageSet
from dartboard.errors import DataError


def pixels(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


def some(count: int = 6, *shape: int) -> ImageSet:
    return ImageSet(pixels(count, *(shape or (3, 4, 5))), torch.arange(count) % 3)


def test_a_set_counts_and_takes_examples_in_the_order_asked_for() -> None:
    images = some(6)
    taken = images.take(torch.tensor([4, 0, 4]))
    assert (len(images), len(taken)) == (6, 3)
    assert taken.labels.tolist() == [1, 0, 1]
    assert torch.equal(taken.images, torch.stack([images.images[4], images.images[0], images.images[4]]))


def test_nothing_can_be_taken() -> None:
    assert some().take(torch.empty(0, dtype=torch.int64)).images.shape == (0, 3, 4, 5)


def test_a_taken_set_is_a_copy() -> None:
    images = some()
    before = images.images.clone()
    images.take(torch.arange(6)).images.zero_()
    assert torch.equal(images.images, before)


def test_moving_to_the_same_device_shares_memory() -> None:
    images = some()
    assert images.to("cpu").images.data_ptr() == images.images.data_ptr()
    assert images.to("meta").device == torch.device("meta")


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (
            pixels(2, 3, 4, 5).float(),
            torch.zeros(2).long(),
            r"images must be torch.uint8 \[N, C, H, W\], got tor",
        ),
        (pixels(2, 4, 5), torch.zeros(2).long(), r"got torch.uint8 of shape \[2, 4, 5\]"),
        (pixels(2, 3, 4, 5), torch.zeros(2).int(), r"labels must be torch.int64 \[N\], got torch.int32"),
        (pixels(2, 3, 4, 5), torch.zeros(2, 1).long(), r"got torch.int64 of shape \[2, 1\]"),
        (pixels(2, 3, 4, 5), torch.zeros(3).long(), "2 images but 3 labels; give each image one label"),
        (pixels(2, 3, 0, 5), torch.zeros(2).long(), r"must have pixels, got the shape \[2, 3, 0, 5\]"),
        (pixels(2, 3, 4, 5), torch.zeros(2, device="meta").long(), "on cpu but labels on meta; move one"),
    ],
)
def test_what_is_no_set_of_images_is_refused(images: Tensor, labels: Tensor, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ImageSet(images, labels)


def test_moments_are_those_of_every_pixel_of_the_training_images() -> None:
    train, test = some(7), some(2)
    data = Dataset("some", ("a", "b", "c"), train, test)
    for channel in range(3):
        values = [float(v) for v in train.images[:, channel].flatten()]
        mean = sum(values) / len(values)
        variance = sum((v - mean) ** 2 for v in values) / len(values)
        assert data.mean[channel] == pytest.approx(mean, rel=1e-12)
        assert data.std[channel] == pytest.approx(variance**0.5, rel=1e-12)
    assert data.shape == (3, 4, 5)


def test_a_constant_channel_has_deviation_1() -> None:
    images = pixels(5, 3, 4, 4)
    images[:, 1] = 77
    data = Dataset("flat", ("a",), ImageSet(images, torch.zeros(5).long()))
    assert (data.mean[1], data.std[1]) == (77, 1)
    assert data.std[0] > 1


def test_moments_are_computed_once() -> None:
    data = Dataset("some", ("a", "b", "c"), some())
    before = data.mean
    data.train.images.zero_()
    assert data.mean == before


def test_a_data_set_needs_something_to_train_on() -> None:
    with pytest.raises(DataError, match="'none' has no training images"):
        Dataset("none", ("a",), some().take(torch.empty(0, dtype=torch.int64)))


@pytest.mark.parametrize("label", [-1, 3])
@pytest.mark.parametrize("kind", ["training", "test"])
def test_labels_without_a_class_are_refused(label: int, kind: str) -> None:
    good = some()
    bad = ImageSet(good.images, good.labels.index_fill(0, torch.tensor([2]), label))
    sets = (bad, good) if kind == "training" else (good, bad)
    with pytest.raises(
        DataError, match=f"{kind} label {label} is out of range: 3 classes are numbered 0 to 2"
    ):
        Dataset("some", ("a", "b", "c"), *sets)


def test_test_images_have_the_size_of_the_training_images() -> None:
    with pytest.raises(DataError, match="training images are 3x4x5 but test images 3x5x4"):
        Dataset("some", ("a", "b", "c"), some(6, 3, 4, 5), some(6, 3, 5, 4))
