"""Whether shared weights order architectures as an oracle does (the rank disorder of Li et al. 2021)."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from scipy.stats import kendalltau, spearmanr

from dartboard.relax.base import Relaxation
from dartboard.scoreboard.records import Correlation
from dartboard.search import Searcher
from dartboard.search.evaluate import discrete_accuracy
from dartboard.space import Genotype, SearchSpace, sample
from dartboard.tables import Table

SEED = 0
"""Where the chance starts that architectures are drawn by."""
PATIENCE = 20
"""So many times as many are drawn as are wanted, at the most: a small space has no more."""


def correlate(searcher: Searcher, oracle: Table, samples: int) -> Correlation | None:
    """Rank correlations of the accuracy with shared weights and the oracle's test accuracy.

    The former is that of held-out images, with the ops of an architecture alone; the latter that on the first
    data set. None where fewer than two architectures are left to compare.

    Args:
        searcher: A trained search; nothing of it is changed.
        oracle: Knows the cells of its space.
        samples: How many different architectures are compared, as far as there are.
    """
    drawn = draw(living(searcher.space, searcher.relaxation), samples)
    if len(drawn) < 2:
        return None
    shared = [discrete_accuracy(searcher.objective, own, searcher.valid_batches()) for own in drawn]
    true = [oracle.query(own, oracle.datasets[0]).test for own in drawn]
    return rank_correlation(shared, true)


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> Correlation:
    """Kendall's and Spearman's, both 0 where one side is all the same: it orders nothing."""
    if len(set(one)) == 1 or len(set(other)) == 1:
        return Correlation(0.0, 0.0, len(one))
    kendall, spearman = kendalltau(one, other).statistic, spearmanr(one, other).statistic
    return Correlation(float(kendall), float(spearman), len(one))


def living(space: SearchSpace, relaxation: Relaxation) -> SearchSpace:
    """The space without the candidates that a search has removed for good, whose weights are gone."""
    archs = []
    for name, cell in space.archs:
        kept = zip(cell.edges, relaxation.live(name), strict=True)
        edges = tuple(replace(edge, ops=tuple(edge.ops[place] for place in own)) for edge, own in kept)
        archs.append((name, replace(cell, edges=edges)))
    return replace(space, archs=tuple(archs))


def draw(space: SearchSpace, samples: int) -> list[Genotype]:
    """Different architectures of the space, always the same ones; fewer where it has no more."""
    rng, found = Random(SEED), dict[Genotype, None]()
    for _ in range(PATIENCE * samples):
        found.setdefault(sample(space, rng))
        if len(found) == samples:
            break
    return list(found)
