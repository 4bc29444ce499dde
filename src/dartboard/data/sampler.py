"""Which examples are in which batch, stratified splits, and their random numbers.

Generators depend on nothing but a key: equal keys give equal draws in every process.
"""

import hashlib
import json
import math
import operator
from fractions import Fraction
from typing import SupportsIndex

import torch
from torch import Tensor

from dartboard.errors import DataError


def generator(*key: SupportsIndex | str) -> torch.Generator:
    """A new CPU generator seeded by `key`, which is made of whole numbers and texts."""
    parts = [part if isinstance(part, str) else operator.index(part) for part in key]
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little"))


def send(values: Tensor, device: torch.device) -> Tensor:
    """Values on `device`; the copy to a GPU does not block.

    Random values are drawn on the CPU first, so that a run sees the same ones on every device.
    """
    if device.type == "cuda" and values.device.type == "cpu":
        values = values.contiguous().pin_memory()  # copies from pageable memory can wait for the device
        return values.to(device, non_blocking=True)
    return values.to(device)


class EpochSampler:
    """Indices of the examples of each batch: every epoch is a new permutation of the set.

    Args:
        count: Number of examples.
        batch: Examples in a batch.
        key: Seed of the permutations.
        device: Device of the indices.
        rows: Which rows of a batch are returned; all by default.
        prefetch: How many steps before its use a batch may first be requested.
    """

    def __init__(
        self,
        count: int,
        batch: int,
        key: tuple[int, str],
        device: torch.device,
        *,
        rows: slice = slice(None),
        prefetch: int = 0,
    ) -> None:
        self._count, self._batch, self._key, self._device, self._rows = count, batch, key, device, rows
        self._steps = count // batch
        self._overlap = math.ceil(prefetch / self._steps)  # epochs not finished when a new one is requested
        self._permutations: dict[int, Tensor] = {}

    def __call__(self, step: int) -> Tensor:
        """Indices of the examples of batch `step`, int64 [B] on the device."""
        if type(step) is not int or step < 0:
            raise DataError(f"step must be a whole number >= 0, got {step!r}")
        epoch, index = divmod(step, self._steps)
        if epoch not in self._permutations:
            recent = {e: order for e, order in self._permutations.items() if 0 < epoch - e <= self._overlap}
            shuffled = torch.randperm(self._count, generator=generator(*self._key, "order", epoch))
            self._permutations = recent | {epoch: send(shuffled, self._device)}
        return self._permutations[epoch][index * self._batch : (index + 1) * self._batch][self._rows]


def split(labels: Tensor, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """A stratified split: indices of the remaining and of the chosen examples, both sorted.

    In all, `share` of the examples are chosen, rounded to the nearest whole number (halves to even). Of each
    class the same fraction is chosen, rounded up where the remainder is largest (Hamilton's method) and down
    elsewhere; equal remainders are ordered at random.

    Args:
        labels: Whole numbers [N].
        share: Fraction to choose, from 0 to 1.
        seed: Random seed; the global random state is neither read nor changed.

    Returns:
        Two tensors on the CPU, int64, that hold every index below N once between them.
    """
    if not 0 <= share <= 1:
        raise DataError(f"share must be a number from 0 to 1, got {share!r}")
    rng = generator("split", seed)
    _, classes, counts = labels.cpu().unique(return_inverse=True, return_counts=True)
    tie_ranks = torch.randperm(len(counts), generator=rng).tolist()
    fraction = Fraction(share).limit_denominator(10**9)  # 0.1 as written, not as stored
    exact = [fraction * count for count in counts.tolist()]
    quotas = [int(quota) for quota in exact]  # how many examples of each class are chosen
    left = round(sum(exact)) - sum(quotas)
    for c in sorted(range(len(quotas)), key=lambda c: (quotas[c] - exact[c], tie_ranks[c]))[:left]:
        quotas[c] += 1
    order = torch.randperm(len(labels), generator=rng)
    order = order[classes[order].argsort(stable=True)]  # grouped by class, at random within each
    rank = torch.arange(len(labels)) - (counts.cumsum(0) - counts)[classes[order]]
    chosen = torch.empty(len(labels), dtype=torch.bool)
    chosen[order] = rank < torch.tensor(quotas, dtype=torch.int64)[classes[order]]
    return (~chosen).nonzero().flatten(), chosen.nonzero().flatten()
