"""Digits in disorder."""

import torch

from dartboard.data import load_dataset
from dartboard.data.dataset import ImageSet
from dartboard.data.datasets.digits import BRIGHTEST, DIGIT, SIDE, SPLITS, load_digits

FINGERPRINTS = {
    "train": "2c137ea522abe20494e28ed62ef5e16d82d444df8afa1519a15abac3207a8127",
    "valid": "c63e61d4778c33a5141c9142abd1b80ae51c46174bc379ba674e9c2c894e39c5",
    "test": "f7b34f250b6b41c3d0a79a9ea31a7ecb8d9ef2aa02f989afe48114c85bbfaa5f",
}
"""What the nano benchmark was made with."""


def parts() -> dict[str, ImageSet]:
    data = load_dataset("cluttered-digits")
    assert data.valid is not None
    assert data.test is not None
    return {"train": data.train.load(), "valid": data.valid.load(), "test": data.test.load()}


def test_the_images_are_the_same_everywhere_and_always() -> None:
    assert {name: part.fingerprint() for name, part in parts().items()} == FINGERPRINTS


def test_parts_have_the_sizes_that_they_should() -> None:
    for name, part in parts().items():
        assert len(part) == SPLITS[name][2]
        assert part.shape == (1, SIDE, SIDE)
        assert part.images.max() == BRIGHTEST


def test_every_image_shows_a_digit_of_its_own_part_and_of_its_label() -> None:
    digits = load_digits()
    for name, part in parts().items():
        first, last, _ = SPLITS[name]
        sources, labels = digits.images[first:last, 0], digits.labels[first:last]
        for image, label in zip(part.images[:40, 0], part.labels[:40], strict=True):
            windows = image.unfold(0, DIGIT, 1).unfold(1, DIGIT, 1).reshape(-1, 1, DIGIT, DIGIT)
            under = (windows >= sources[labels == label]).all(dim=-1).all(dim=-1)
            assert under.any()


def test_digits_lie_anywhere_and_over_pieces_of_others() -> None:
    images = parts()["train"].images[:, 0]
    often = (images > 0).float().mean(dim=0)
    assert often.min() > 0.01
    lit = (load_digits().images > 0).float().sum(dim=(1, 2, 3)).mean()
    assert (images > 0).float().sum(dim=(1, 2)).mean() > 1.1 * lit


def test_all_digits_are_there() -> None:
    for part in parts().values():
        assert torch.bincount(part.labels, minlength=10).min() > len(part) // 20
