"""Which examples are in which batch, and stratified splits of a set."""

import math
from fractions import Fraction

import torch
from torch import Tensor

from dartboard.data.rng import generator, send
from dartboard.errors import DataError


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
        epoch, index = divmod(step, self._steps)
        if epoch not in self._permutations:
            recent = {e: order for e, order in self._permutations.items() if 0 < epoch - e <= self._overlap}
            self._permutations = recent | {epoch: self._shuffle(epoch)}
        return self._permutations[epoch][index * self._batch : (index + 1) * self._batch][self._rows]

    def _shuffle(self, epoch: int) -> Tensor:
        """The order of the examples in an epoch, int64 [N]."""
        order = torch.randperm(self._count, generator=generator(*self._key, "order", epoch))
        return send(order, self._device)


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
    quotas = _class_quotas(counts.tolist(), share, torch.randperm(len(counts), generator=rng).tolist())
    order = torch.randperm(len(labels), generator=rng)
    order = order[classes[order].argsort(stable=True)]  # grouped by class, at random within each
    rank = torch.arange(len(labels)) - (counts.cumsum(0) - counts)[classes[order]]
    chosen = torch.empty(len(labels), dtype=torch.bool)
    chosen[order] = rank < torch.tensor(quotas, dtype=torch.int64)[classes[order]]
    return (~chosen).nonzero().flatten(), chosen.nonzero().flatten()


def _class_quotas(counts: list[int], share: float, tie_ranks: list[int]) -> list[int]:
    """How many examples of each class are chosen; equal remainders are served in order of `tie_ranks`."""
    fraction = Fraction(share).limit_denominator(10**9)  # 0.1 as written, not as stored
    exact = [fraction * count for count in counts]
    quotas = [int(quota) for quota in exact]
    left = round(sum(exact)) - sum(quotas)
    for c in sorted(range(len(counts)), key=lambda c: (quotas[c] - exact[c], tie_ranks[c]))[:left]:
        quotas[c] += 1
    return quotas
