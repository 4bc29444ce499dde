from collections import Counter

import pytest
import torch
from scipy.stats import chisquare

from dartboard.errors import CompositionError
from dartboard.nn import one_hot
from dartboard.relax import RandomArchitecture
from dartboard.space import enumerate_genotypes, restrict


def test_every_architecture_is_as_likely_as_any_other(ragged, generator):
    relaxation = RandomArchitecture(ragged, generator=generator)
    known = list(enumerate_genotypes(ragged))
    counts = Counter(relaxation.draw() for _ in range(20 * len(known)))
    assert set(counts) <= set(known)
    assert chisquare([counts[genotype] for genotype in known]).pvalue > 0.01


def test_an_architecture_runs_alone_and_contests_are_respected(ragged):
    relaxation = RandomArchitecture(ragged, generator=torch.Generator().manual_seed(5))
    same = RandomArchitecture(ragged, generator=torch.Generator().manual_seed(5))
    for _ in range(10):
        genotype, blend = same.draw(), relaxation().blend(0)
        assert blend.live == one_hot(ragged, genotype).blend(0).live
        restrict(ragged, genotype)
        assert sum(bool(places) for places in blend.live[3:]) == 2


def test_random_architectures_have_the_type_of_the_relaxation(ragged, generator):
    relaxation = RandomArchitecture(ragged, generator=generator).double()
    assert relaxation().blend(0).ops.dtype == torch.float64
    assert relaxation.strengths()["cell"].ops.dtype == torch.float64


def test_random_architectures_lose_no_candidate(ragged, generator):
    with pytest.raises(CompositionError, match="leave the op out of the space"):
        RandomArchitecture(ragged, generator=generator).kill("cell", 0, 0)
