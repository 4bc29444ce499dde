"""Batches of any data set of torch: the same bits whenever, wherever and by whomever they are taken."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset

from dartboard.data.examples import ExampleLoader, example_batches
from dartboard.errors import DataError


class Noisy(Dataset):
    """Examples with noise from all three generators."""

    def __init__(self, count: int = 10) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index):
        noise = torch.rand(3) + np.random.rand() + random.random()  # noqa: NPY002
        return index + noise, torch.tensor(float(index))


class Named(Noisy):
    """The same as dictionaries."""

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return {"x": x, "scale": torch.tensor(2.0), "target": y}


class Shares:
    """A group of processes as a loader sees it."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def local_rows(self, batch: int) -> slice:
        return slice(self.rank * batch // self.size, (self.rank + 1) * batch // self.size)


def loader(dataset=None, **options) -> ExampleLoader:
    given = {"batch": 4, "seed": 1, "name": "train"} | options
    return ExampleLoader(Noisy() if dataset is None else dataset, **given)


def test_a_batch_depends_on_seed_name_and_step_alone():
    first, again = loader(), loader()
    batches = [first.batch(step) for step in range(5)]
    for step in (4, 0, 3):
        assert torch.equal(again.batch(step).x, batches[step].x)
        assert torch.equal(again.batch(step).y, batches[step].y)
    assert not torch.equal(loader(seed=2).batch(0).x, batches[0].x)
    assert not torch.equal(loader(name="arch").batch(0).x, batches[0].x)
    assert first.steps == 2


def test_an_epoch_has_each_example_once_and_noise_of_its_own():
    taken = loader(batch=5)
    epochs = [torch.cat([taken.batch(step).y for step in steps]) for steps in ((0, 1), (2, 3))]
    for order in epochs:
        assert sorted(order.tolist()) == list(range(10))
    assert not torch.equal(*epochs)
    noise = []
    for steps in ((0, 1), (2, 3)):
        parts = [taken.batch(step) for step in steps]
        noise.append({float(y): x - y for part in parts for x, y in zip(part.x, part.y, strict=True)})
    assert not any(torch.equal(noise[0][index], noise[1][index]) for index in noise[0])


def test_the_generators_of_the_program_are_left_alone():
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    loader().batch(3)
    list(example_batches(Noisy(), batch=4))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert random.getstate() == before[2]


def test_workers_change_nothing():
    alone, helped = loader(), loader(workers=2)
    try:
        for step in (0, 1, 2, 7):
            assert torch.equal(alone.batch(step).x, helped.batch(step).x)
    finally:
        helped.close()


def test_processes_share_a_batch():
    whole = loader().batch(1)
    parts = [loader(group=Shares(rank, 2)).batch(1) for rank in range(2)]
    assert torch.equal(torch.cat([part.x for part in parts]), whole.x)
    orders = [
        [batch.y.tolist() for batch in example_batches(Noisy(), batch=4, group=Shares(r, 2))] for r in (0, 1)
    ]
    assert orders == [[[0, 1, 2, 3], [8, 9]], [[4, 5, 6, 7]]]


def test_batches_may_be_dictionaries():
    batch = loader(Named()).batch(0)
    assert set(batch.x) == {"x", "scale"}
    assert batch.size == 4
    assert torch.equal(batch.x["x"], loader().batch(0).x)


def test_a_pass_in_order_may_be_limited():
    assert [batch.y.tolist() for batch in example_batches(Noisy(), batch=4)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    (batch,) = example_batches(Noisy(), batch=8, limit=4)
    assert batch.y.tolist() == [0, 2, 5, 7]


def test_an_own_collate_function_makes_the_batch():
    def collate(examples):
        return torch.nn.utils.rnn.pad_sequence([x for x, _ in examples]), [y for _, y in examples]

    batch = loader(collate=collate).batch(0)
    assert batch.x.shape == (3, 4)
    assert len(batch.y) == 4


class Stream(IterableDataset):
    def __iter__(self):
        return iter(())


class Bare(Noisy):
    def __getitem__(self, index):
        return torch.tensor(float(index))


class Untold(Noisy):
    def __getitem__(self, index):
        return {"x": torch.tensor(float(index))}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: loader(batch=11), "a batch of 11 needs more than the 10 examples of 'train'"),
        (lambda: loader(Stream()), "Stream has no length"),
        (lambda: loader(Noisy(0)), "Noisy has no examples"),
        (lambda: loader(Bare()).batch(0), "a batch of these is Tensor of 4"),
        (lambda: loader(Untold()).batch(0), "under one of target, targets, .*; it has x"),
    ],
)
def test_what_is_no_data_set_is_refused(act, message):
    with pytest.raises(DataError, match=message):
        act()
