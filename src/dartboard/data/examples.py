"""Batches of any map-style data set of torch: which examples, and how they are varied, follow from a key.

Batch number t of a loader depends on nothing but (seed, name, t), with any number of workers and processes.
An example is taken with generators of its own, those of torch, numpy and Python, seeded by (seed, name,
epoch, index): a data set that varies its examples at random gives the same ones again when a search resumes.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only
from torch.utils.data import Dataset, default_collate

from dartboard.data.dataset import check_count
from dartboard.data.loader import Batch
from dartboard.data.prefetch import PREFETCH_FACTOR, Prefetcher
from dartboard.data.sampler import EpochSampler, generator, send
from dartboard.distributed.group import SINGLE, Group
from dartboard.errors import DataError

Collate = Callable[[list[Any]], Any]
TARGETS = ("target", "targets", "label", "labels", "y")
"""Keys under which a dictionary of an example has its target."""


class ExampleLoader:
    """Endless shuffled batches of a data set.

    An epoch uses every example at most once, in an order of its own; the examples that do not fill a batch
    are left out of that epoch. There is no state to save: to resume at step t, request batch t.

    Args:
        dataset: Has a length, and an example `(inputs, target)` or a dictionary with a key of `TARGETS` for
            every index.
        batch: Examples in a batch, over all processes.
        seed: Random seed, together with `name`.
        name: What the batches are for, such as "train"; loaders with different names are independent.
        collate: Makes a batch from a list of examples; torch's by default.
        device: Device of the batches.
        workers: Number of worker processes; 0 for none. Results do not depend on it. The data set is pickled
            for them.
        group: The processes that share the batches; each makes its rows of every batch.

    Raises:
        DataError: If there are too few examples for a batch.

    Attributes:
        steps: Batches in one epoch.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        *,
        batch: int,
        seed: int,
        name: str,
        collate: Collate = default_collate,
        device: torch.device | str = "cpu",
        workers: int = 0,
        group: Group = SINGLE,
    ) -> None:
        check_count("batch", batch)
        count = count_examples(dataset)
        if batch > count:
            raise DataError(f"a batch of {batch:,} needs more than the {count:,} examples of {name!r}")
        self.steps, self._device = count // batch, torch.device(device)
        rows, prefetch = group.local_rows(batch), PREFETCH_FACTOR * workers
        sampler = EpochSampler(count, batch, (seed, name), torch.device("cpu"), rows=rows, prefetch=prefetch)

        def task(step: int) -> ExampleTask:
            return ExampleTask(step // self.steps, tuple(sampler(step).tolist()))

        take = partial(take_examples, dataset, collate, (seed, name))
        pinned = self._device.type == "cuda"
        self._prefetcher = Prefetcher(take, task, workers=workers, pinned=pinned)

    def batch(self, step: int) -> Batch:
        """Batch number `step`, from 0; the same bits whenever it is requested.

        Raises:
            DataError: If an example or a batch is not of a form that can be used.
        """
        x, y = self._prefetcher.get(step)
        return Batch(to_device(x, self._device), to_device(y, self._device))

    def close(self) -> None:
        """Stop the worker processes, if there are any; the next batch starts new ones."""
        self._prefetcher.close()


def example_batches(
    dataset: Dataset[Any],
    *,
    batch: int,
    collate: Collate = default_collate,
    device: torch.device | str = "cpu",
    limit: int | None = None,
    workers: int = 0,
    group: Group = SINGLE,
) -> Iterator[Batch]:
    """One pass over a data set in its order; the last batch can be smaller.

    Args:
        dataset: See `ExampleLoader`.
        batch: Examples in a batch.
        collate: Makes a batch from a list of examples; torch's by default.
        device: Device of the batches.
        limit: Largest number of examples, evenly spaced over the set; None for all.
        workers: Number of worker processes; 0 for none.
        group: The processes that share the batches; of n processes each gets every n-th.
    """
    check_count("batch", batch)
    count = count_examples(dataset)
    indices = torch.arange(count)
    if limit is not None and limit < count:
        check_count("limit", limit)
        indices = torch.arange(limit) * count // limit
    local = indices.split(batch)[group.rank :: group.size]
    tasks = [ExampleTask(0, tuple(part.tolist())) for part in local]
    take = partial(take_examples, dataset, collate, (0, "evaluate"))
    prefetcher = Prefetcher(take, tasks.__getitem__, count=len(tasks), workers=workers)
    try:
        for step in range(len(tasks)):
            x, y = prefetcher.get(step)
            yield Batch(to_device(x, torch.device(device)), to_device(y, torch.device(device)))
    finally:
        prefetcher.close()


class ExampleTask(NamedTuple):
    """The examples of a batch as they are sent to a worker."""

    epoch: int
    indices: tuple[int, ...]


def take_examples(
    dataset: Dataset[Any], collate: Collate, key: tuple[int, str], task: ExampleTask
) -> tuple[Any, Any]:
    """Inputs and targets of a batch; the same whenever and wherever it is taken."""
    examples = []
    for index in task.indices:
        with seeded(generator(*key, "example", task.epoch, index)):
            examples.append(dataset[index])
    with seeded(generator(*key, "collate", task.epoch, task.indices[0])):
        collated = collate(examples)
    return split_batch(collated)


def split_batch(collated: Any) -> tuple[Any, Any]:
    """Inputs and targets of a batch as a collate function gives it.

    Raises:
        DataError: If it is neither a pair nor a dictionary with targets.
    """
    if isinstance(collated, Mapping):
        keys = [key for key in TARGETS if key in collated]
        if len(keys) != 1:
            found = ", ".join(map(str, collated))
            raise DataError(
                f"a dictionary of an example has its target under one of {', '.join(TARGETS)}; it has {found}"
            )
        return {key: value for key, value in collated.items() if key != keys[0]}, collated[keys[0]]
    if isinstance(collated, Sequence) and not isinstance(collated, str) and len(collated) == 2:
        return collated[0], collated[1]
    kind = f"{type(collated).__name__} of {len(collated)}" if hasattr(collated, "__len__") else "one value"
    raise DataError(f"an example is a pair of inputs and target, or a dictionary; a batch of these is {kind}")


@contextmanager
def seeded(rng: torch.Generator) -> Iterator[None]:
    """Inside, the global generators of torch (on the CPU), numpy and Python draw what `rng` makes of them."""
    seed = int(torch.randint(2**32, (), generator=rng, dtype=torch.int64))
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    torch.default_generator.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - data sets draw from the global one
    random.seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        random.setstate(states[2])


def count_examples(dataset: Dataset[Any]) -> int:
    """The length of a data set; raises if it has none, or no examples."""
    try:
        count = len(dataset)  # type: ignore[arg-type]
    except TypeError:
        name = type(dataset).__name__
        raise DataError(
            f"{name} has no length; a data set has examples by index, 0 to len(...) - 1"
        ) from None
    if not count:
        raise DataError(f"{type(dataset).__name__} has no examples")
    return count


def to_device(tree: Any, device: torch.device) -> Any:
    """Tensors, or tuples, lists and dictionaries of them, on a device."""
    return tree_map_only(Tensor, lambda values: send(values, device), tree)
