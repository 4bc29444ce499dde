import hashlib
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from dartboard.data import Augment, Batch, BatchLoader, ImageSet, evaluation_batches, load_dataset
from dartboard.errors import DataError

ALL = Augment(pad=2, flip=True, cutout=3)


def numbered(count: int) -> ImageSet:
    """Images whose every pixel is their own number."""
    numbers = torch.arange(count)
    return ImageSet(numbers.to(torch.uint8)[:, None, None, None].repeat(1, 1, 2, 2), numbers % 3)


def make_loader(count: int = 10, **options: Any) -> BatchLoader:
    standard = {"batch": 3, "seed": 0, "name": "train", "mean": (0.0,), "std": (1.0,)}
    return BatchLoader(numbered(count), **(standard | options))


def digits(**options: Any) -> BatchLoader:
    data = load_dataset("digits")
    standard = {"batch": 32, "seed": 5, "name": "train", "augment": ALL}
    return BatchLoader(data.train, mean=data.mean, std=data.std, **(standard | options))


def equals(**options: Any) -> BatchLoader:
    """Images that differ by nothing but their augmentation."""
    images = ImageSet(torch.full((8, 1, 6, 6), 9, dtype=torch.uint8), torch.zeros(8).long())
    standard = {"batch": 8, "seed": 0, "name": "train", "mean": [0], "std": [1], "augment": ALL}
    return BatchLoader(images, **(standard | options))


def numbers(batch: Batch) -> list[int]:
    return [int(value) for value in batch.x[:, 0, 0, 0]]


def in_pass(source: BatchLoader, epoch: int) -> list[int]:
    steps = range(epoch * source.steps, (epoch + 1) * source.steps)
    return [number for step in steps for number in numbers(source.batch(step))]


def fingerprint(source: BatchLoader, steps: list[int]) -> str:
    batches = [source.batch(step) for step in steps]
    return hashlib.sha256(b"".join(part.numpy().tobytes() for batch in batches for part in batch)).hexdigest()


def same(one: Batch, other: Batch) -> bool:
    return torch.equal(one.x, other.x) and torch.equal(one.y, other.y)


def test_a_batch_has_a_size_and_two_parts() -> None:
    batch = make_loader().batch(0)
    x, y = batch
    assert (batch.size, len(batch)) == (3, 2)
    assert (x.dtype, x.shape) == (torch.float32, (3, 1, 2, 2))
    assert (y.dtype, y.shape) == (torch.int64, (3,))


@pytest.mark.parametrize(("count", "batch"), [(10, 3), (12, 4), (5, 5), (4, 1)])
def test_a_pass_has_every_example_at_most_once(count: int, batch: int) -> None:
    source = make_loader(count, batch=batch)
    assert source.steps == count // batch
    for epoch in range(3):
        found = in_pass(source, epoch)
        assert len(found) == len(set(found)) == count // batch * batch


def test_every_pass_has_its_own_order() -> None:
    source = make_loader(12)
    assert in_pass(source, 0) != in_pass(source, 1)
    assert sorted(in_pass(source, 0)) == sorted(in_pass(source, 1)) == list(range(12))


def test_labels_stay_with_their_images() -> None:
    source = make_loader()
    for step in range(9):
        batch = source.batch(step)
        assert [number % 3 for number in numbers(batch)] == batch.y.tolist()


def test_no_example_is_left_out_for_ever() -> None:
    source = make_loader()
    assert {number for epoch in range(20) for number in in_pass(source, epoch)} == set(range(10))


def test_a_batch_is_the_same_in_whatever_order_it_is_asked_for() -> None:
    source, steps = digits(), [0, 1, 45, 46, 47, 92, 500]
    first = {step: source.batch(step) for step in steps}
    again, fresh = digits(), digits()
    assert all(same(again.batch(step), first[step]) for step in reversed(steps))
    assert same(fresh.batch(46), first[46])
    assert same(source.batch(0), first[0])


def test_the_same_bits_come_in_another_process() -> None:
    program = (
        "from dartboard.data import *; import hashlib, torch\n"
        "torch.manual_seed(8); data = load_dataset('digits')\n"
        "s = BatchLoader(data.train, batch=32, seed=5, name='train', mean=data.mean, std=data.std,\n"
        "           augment=Augment(pad=2, flip=True, cutout=3))\n"
        "parts = b''.join(p.numpy().tobytes() for t in (99, 0) for p in s.batch(t))\n"
        "raise SystemExit(hashlib.sha256(parts).hexdigest())"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert other.stderr.strip() == fingerprint(digits(), [99, 0])


def test_the_global_state_is_neither_read_nor_changed() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = digits().batch(50)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert same(digits().batch(50), first)


@pytest.mark.parametrize("options", [{"name": "valid"}, {"seed": 6}])
def test_names_and_seeds_give_other_orders_and_other_augmentation(options: dict[str, Any]) -> None:
    assert not torch.equal(digits(**options).batch(0).y, digits().batch(0).y)
    assert not torch.equal(equals(**options).batch(0).x, equals().batch(0).x)


def test_two_steps_are_not_augmented_alike() -> None:
    source = equals()
    assert not torch.equal(source.batch(0).x, source.batch(1).x)


def test_seeds_of_any_size_are_taken() -> None:
    assert not same(make_loader(seed=2**80).batch(0), make_loader(seed=-(2**80)).batch(0))


def test_images_are_normalized_by_channel() -> None:
    images = ImageSet(torch.randint(256, (4, 2, 3, 3), dtype=torch.uint8), torch.arange(4))
    mean, std = torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0])
    x, y = BatchLoader(images, batch=4, seed=0, name="train", mean=mean, std=std).batch(0)
    for image, label in zip(x, y, strict=True):
        for channel in range(2):
            raw = images.images[label, channel].float()
            assert torch.equal(image[channel], (raw - mean[channel]) / std[channel])


def test_another_augmentation_can_be_given() -> None:
    def halves(x: Tensor, mean: Tensor, std: Tensor, generator: torch.Generator) -> Tensor:
        assert generator.device.type == "cpu"
        return (x - mean[0]) / std[0] / 2

    assert sorted(numbers(make_loader(6, batch=6, augment=halves).batch(0))) == [0, 0, 1, 1, 2, 2]


def test_no_value_is_read_back_from_the_device() -> None:
    source = digits(device="meta")  # a device whose values cannot be read
    for step in (0, 46):
        batch = source.batch(step)
        assert batch.x.device.type == "meta"
        assert batch.x.shape == (32, 1, 8, 8)
    whole = evaluation_batches(numbered(5), batch=2, mean=[0], std=[1], device="meta")
    assert [batch.size for batch in whole] == [2, 2, 1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics card")
def test_a_graphics_card_sees_the_same_augmentation() -> None:
    here, there = digits().batch(50), digits(device="cuda").batch(50)
    assert there.x.device.type == "cuda"
    assert torch.equal(there.y.cpu(), here.y)
    torch.testing.assert_close(there.x.cpu(), here.x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 11}, "a batch of 11 needs more than the 10 examples of 'train'"),
        ({"batch": 0}, "batch must be a whole number >= 1, got 0"),
        ({"batch": 2.0}, "batch must be a whole number >= 1, got 2.0"),
        ({"mean": (1.0, 2.0)}, r"one number for each of 1 channels, got the shape \[2\]"),
        ({"std": ()}, r"one number for each of 1 channels, got the shape \[0\]"),
    ],
)
def test_loaders_that_cannot_run_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make_loader(**options)


def test_there_is_no_batch_before_the_first() -> None:
    with pytest.raises(DataError, match="step must be a whole number >= 0, got -1"):
        make_loader().batch(-1)


@pytest.mark.parametrize("batch", [1, 3, 5, 10, 64])
def test_an_evaluation_has_everything_once_and_in_order(batch: int) -> None:
    batches = list(evaluation_batches(numbered(10), batch=batch, mean=[0], std=[1]))
    assert [number for one in batches for number in numbers(one)] == list(range(10))
    assert [label for one in batches for label in one.y.tolist()] == [number % 3 for number in range(10)]
    assert all(one.size == batch for one in batches[:-1])


def test_an_evaluation_normalizes() -> None:
    (batch,) = evaluation_batches(numbered(4), batch=4, mean=[1], std=[2])
    assert batch.x[:, 0, 1, 1].tolist() == [-0.5, 0, 0.5, 1]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(1, [0]), (3, [0, 3, 6]), (5, [0, 2, 4, 6, 8]), (10, list(range(10))), (99, list(range(10)))],
)
def test_a_limited_evaluation_is_spread_over_the_set(limit: int, expected: list[int]) -> None:
    batches = evaluation_batches(numbered(10), batch=2, mean=[0], std=[1], limit=limit)
    assert [number for one in batches for number in numbers(one)] == expected


def test_an_evaluation_over_nothing_is_empty() -> None:
    nothing = numbered(3).take(torch.empty(0, dtype=torch.int64))
    assert list(evaluation_batches(nothing, batch=2, mean=[0], std=[1])) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 0}, "batch must be"),
        ({"limit": 0}, "limit must be .* >= 1, got 0"),
        ({"mean": []}, "one number"),
    ],
)
def test_evaluations_that_cannot_run_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        evaluation_batches(numbered(3), **({"batch": 2, "mean": [0], "std": [1]} | options))
