import math

import pytest
import torch
import torch.nn.functional as F

from dartboard.analysis.hessian import Spectrum, arch_spectrum, weight_spectrum
from dartboard.analysis.measures import weights_of
from dartboard.arch.curvature import largest_eigenvalue
from dartboard.errors import CompositionError
from helpers.landscape_cases import images, normalized, random_model
from helpers.search_cases import batch, random_objective

SMALL = {"channels": 1, "input": (3, 8, 8)}


def dense(net, x, y):
    """All eigenvalues, from the whole matrix in float64."""
    weights = list(weights_of(net).values())
    grads = torch.autograd.grad(F.cross_entropy(net(x), y), weights, create_graph=True)
    flat = torch.cat([grad.flatten() for grad in grads])
    rows = [torch.autograd.grad(entry, weights, retain_graph=True, materialize_grads=True) for entry in flat]
    return torch.linalg.eigvalsh(torch.stack([torch.cat([part.flatten() for part in row]) for row in rows]))


def test_both_ends_are_those_of_the_whole_matrix():
    own, given = random_model(mix="plain", **SMALL), images(6)
    expected = dense(own.net, normalized(given), given.labels)
    found = weight_spectrum(own, given, count=4, batch=4, tolerance=1e-10)
    assert found.largest == pytest.approx(expected.flip(0)[:4].tolist(), rel=1e-6)
    assert found.smallest == pytest.approx(expected[0].item(), rel=1e-6)
    assert found.size == len(expected)
    assert found.examples == 6


def test_batches_change_nothing_unless_their_statistics_count():
    own, given = random_model(**SMALL), images(8)

    def largest(**more):
        return weight_spectrum(own, given, count=1, tolerance=1e-9, **more).largest[0]

    assert largest(batch=8) == pytest.approx(largest(batch=3), rel=1e-6)
    assert largest(batch=8) != pytest.approx(largest(batch=8, statistics="batch"), rel=0.01)
    assert largest(batch=8) != pytest.approx(largest(batch=8, examples=4), rel=0.01)


def test_nothing_is_changed_and_products_are_told():
    own, told = random_model(**SMALL), []
    before = {name: value.clone() for name, value in own.net.state_dict().items()}
    weight_spectrum(own, images(4), statistics="batch", count=1, progress=lambda *words: told.append(words))
    assert all(torch.equal(value, before[name]) for name, value in own.net.state_dict().items())
    assert told == [("products with the Hessian", made, 0) for made in range(1, len(told) + 1)]


def test_architecture_parameters():
    objective = random_objective("nano", "softmax")
    told = []
    tell = lambda *words: told.append(words)  # noqa: E731
    found = arch_spectrum(objective, [batch(0)], count=3, tolerance=1e-10, progress=tell)
    assert found.largest[0] == pytest.approx(largest_eigenvalue(objective, batch(0), tolerance=1e-10))
    assert list(found.largest) == sorted(found.largest, reverse=True)
    assert found.smallest < found.largest[-1]
    assert found.size == sum(own.numel() for own in objective.relaxation.arch_parameters())
    assert told == [("products with the Hessian", made, 0) for made in range(1, len(told) + 1)]
    assert len(told) > 3
    more = arch_spectrum(objective, [batch(0), batch(1)], count=3)
    assert more.examples == 2 * found.examples
    assert more.largest[0] != pytest.approx(found.largest[0], rel=1e-3)


def test_without_architecture_parameters():
    with pytest.raises(CompositionError, match="no architecture parameters"):
        arch_spectrum(random_objective("nano", "attention"), [batch(0)])


def test_what_was_not_found_is_none():
    facts = Spectrum((1.0, math.nan), math.nan, 2, 3).facts()
    assert facts == {"largest": [1.0, None], "smallest": None, "parameters": 2, "examples": 3}
