"""Parts of a set in which every class has its share."""

from fractions import Fraction

import torch
from torch import Tensor

from dartboard.data.rng import generator
from dartboard.errors import DataError


def split(labels: Tensor, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """The numbers of the examples that are left and of those that are chosen, both sorted.

    In all, `share` of the examples are chosen, rounded to the nearest whole number (halves to even). Of each
    class the same share is chosen, rounded up where the remainder is largest (Hamilton's method) and down
    elsewhere; chance decides between equal remainders.

    Args:
        labels: Whole numbers [N].
        share: From 0, nothing is chosen, to 1, everything is.
        seed: Settles the draw; the global random state is neither read nor changed.

    Returns:
        Two tensors on the CPU, int64, that have every number below N once between them.
    """
    if not 0 <= share <= 1:
        raise DataError(f"share must be a number from 0 to 1, got {share!r}")
    chance = generator("split", seed)
    _, classes, counts = labels.cpu().unique(return_inverse=True, return_counts=True)
    quotas = _quotas(counts.tolist(), share, torch.randperm(len(counts), generator=chance).tolist())
    order = torch.randperm(len(labels), generator=chance)
    order = order[classes[order].argsort(stable=True)]  # class by class, by chance within each
    place = torch.arange(len(labels)) - (counts.cumsum(0) - counts)[classes[order]]
    chosen = torch.empty(len(labels), dtype=torch.bool)
    chosen[order] = place < torch.tensor(quotas, dtype=torch.int64)[classes[order]]
    return _numbers(~chosen), _numbers(chosen)


def _quotas(counts: list[int], share: float, ranks: list[int]) -> list[int]:
    """How many of each class are chosen; equal remainders are served by rank."""
    exact = Fraction(share).limit_denominator(10**9)  # a tenth as it is written, not as it is stored
    wanted = [exact * count for count in counts]
    quotas = [int(want) for want in wanted]
    over = round(sum(wanted)) - sum(quotas)
    served = sorted(range(len(counts)), key=lambda c: (quotas[c] - wanted[c], ranks[c]))
    for c in served[:over]:
        quotas[c] += 1
    return quotas


def _numbers(mask: Tensor) -> Tensor:
    return mask.nonzero().flatten()
