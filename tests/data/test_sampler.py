from pathlib import Path

import numpy as np
import pytest
import torch

from dartboard.data import BatchLoader, ImageFiles, ImageSet
from dartboard.data import sampler as sampler_module
from dartboard.data.loader import batch_task
from dartboard.data.sampler import EpochSampler, generator
from helpers import worker_functions

CPU = torch.device("cpu")
KEY = (0, "train")


def passes(sampler: EpochSampler, steps: int, count: int) -> list[list[int]]:
    """The numbers of the examples in some passes, one after the other."""
    return [
        torch.cat([sampler(epoch * steps + step) for step in range(steps)]).tolist() for epoch in range(count)
    ]


def test_a_pass_takes_every_example_at_most_once_in_an_order_of_its_own() -> None:
    first, second = passes(EpochSampler(11, 3, KEY, CPU), 3, 2)
    assert len(first) == len(second) == 9
    assert all(len(set(own)) == 9 and set(own) <= set(range(11)) for own in (first, second))
    assert first != second


def test_a_batch_depends_on_its_number_and_the_key_alone() -> None:
    sampler = EpochSampler(11, 3, KEY, CPU)
    expected = {step: sampler(step).tolist() for step in range(12)}
    backwards = EpochSampler(11, 3, KEY, CPU, prefetch=4)
    assert {step: backwards(step).tolist() for step in reversed(range(12))} == dict(
        reversed(expected.items())
    )
    assert EpochSampler(11, 3, (1, "train"), CPU)(0).tolist() != expected[0]
    assert EpochSampler(11, 3, (0, "arch"), CPU)(0).tolist() != expected[0]


@pytest.fixture
def shuffled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Which passes have been shuffled."""
    found: list[int] = []

    def note(seed: int, name: str, use: str, epoch: int) -> torch.Generator:
        assert use == "order"
        found.append(epoch)
        return generator(seed, name, use, epoch)

    monkeypatch.setattr(sampler_module, "generator", note)
    return found


@pytest.mark.parametrize(("count", "prefetch"), [(8, 0), (8, 1), (8, 8), (16, 8), (48, 8), (40, 9)])
def test_a_pass_is_shuffle_once_however_far_ahead_batches_are_asked_for(
    shuffled: list[int], count: int, prefetch: int
) -> None:
    sampler, steps = EpochSampler(count, 8, KEY, CPU, prefetch=prefetch), count // 8
    for step in range(prefetch):
        sampler(step)
    for step in range(10 * steps):
        sampler(step), sampler(step + prefetch)
    assert sorted(shuffled) == list(range((10 * steps - 1 + prefetch) // steps + 1))
    assert len(sampler._permutations) <= 2 + prefetch // steps


def test_a_loader_shuffles_an_epoch_once_with_any_workers(tmp_path: Path, shuffled: list[int]) -> None:
    images = worker_functions.random_image_files(tmp_path, 6, lambda _: (8, 8))
    how = {"batch": 6, "seed": 0, "name": "train", "mean": (0.0,) * 3, "std": (1.0,) * 3}
    loader = BatchLoader(images, **how, workers=2)  # type: ignore[arg-type]
    for step in range(8):
        loader.batch(step)
    loader.close()
    assert len(shuffled) == len(set(shuffled))


def test_workers_are_given_pixels_or_full_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = torch.arange(4, dtype=torch.uint8).view(4, 1, 1, 1)
    chosen = torch.tensor([2, 0])
    part = batch_task(ImageSet(images, torch.zeros(4, dtype=torch.int64)), lambda _: chosen, 7)
    assert part.step == 7
    assert isinstance(part.examples, np.ndarray)
    assert part.examples.flatten().tolist() == [2, 0]
    monkeypatch.chdir(tmp_path)
    files = ImageFiles(("a.png", "b.png", "c.png"), torch.zeros(3, dtype=torch.int64), (3, 8, 8))
    assert batch_task(files, lambda _: chosen, 0).examples == (f"{tmp_path}/c.png", f"{tmp_path}/a.png")
