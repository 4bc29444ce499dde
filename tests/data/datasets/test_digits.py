import hashlib

import torch

from dartboard.data import BRIGHTEST, load_digits


def test_there_are_1797_small_gray_images() -> None:
    digits = load_digits()
    assert len(digits) == 1797
    assert digits.images.shape == (1797, 1, 8, 8)
    assert digits.images.dtype == torch.uint8
    assert digits.labels.shape == (1797,)
    assert digits.labels.dtype == torch.int64


def test_classes_are_balanced() -> None:
    counts = load_digits().labels.bincount().tolist()
    assert counts == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_pixels_use_the_whole_range() -> None:
    images = load_digits().images
    assert (images.min(), images.max()) == (0, BRIGHTEST)


def test_content_is_that_of_the_source() -> None:
    digits = load_digits()
    content = digits.images.numpy().tobytes() + digits.labels.numpy().astype("<i8").tobytes()
    expected = "65e5b4619795efb40c1082f4c350c049e4ad552200d369b6ae99e21eef5e72c5"
    assert hashlib.sha256(content).hexdigest() == expected


def test_callers_do_not_share_memory() -> None:
    first = load_digits()
    first.images.zero_()
    assert load_digits().images.any()
