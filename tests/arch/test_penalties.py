import pytest
import torch

from dartboard.arch.penalties import NegativeEntropy, add_penalties
from dartboard.errors import CompositionError, UpdateError
from dartboard.relax import Attention, simplex, softmax
from dartboard.space import get_space
from helpers.search_cases import search

NANO = get_space("nano")


def weights(seed: int = 0):
    """Random weights on the simplex, one of them zero."""
    relaxation = simplex(NANO).double()
    (theta,) = relaxation.arch_parameters()
    with torch.no_grad():
        theta.copy_(torch.rand(theta.shape, generator=torch.Generator().manual_seed(seed)).double())
        theta[1, 2] = 0
        theta /= theta.sum(-1, keepdim=True)
    return relaxation, theta


def test_it_is_the_distance_from_equal_weights():
    """Sum of KL divergences of the rows from uniform ones; where one is dead, from those of the others."""
    relaxation, theta = weights()
    rows = [torch.distributions.Categorical(row[row > 0]) for row in theta.detach()]
    uniform = [torch.distributions.Categorical(torch.ones_like(row.probs)) for row in rows]
    expected = sum(torch.distributions.kl_divergence(*pair) for pair in zip(rows, uniform, strict=True))
    assert NegativeEntropy(0.3)(relaxation).item() == pytest.approx(0.3 * float(expected))
    assert NegativeEntropy(1.0)(simplex(NANO)).item() == pytest.approx(0, abs=1e-6)


def test_its_gradient_is_added_to_the_one_that_is_there():
    relaxation, theta = weights()
    theta.grad = torch.ones_like(theta)
    add_penalties((NegativeEntropy(0.1), NegativeEntropy(0.2)), relaxation)
    counts = (theta > 0).sum(-1, keepdim=True)
    alive = theta.detach() > 0
    expected = 1 + 0.3 * ((counts * theta.detach()).log() + 1)
    torch.testing.assert_close(theta.grad[alive], expected[alive])
    assert theta.grad[~alive].isfinite().all()


def test_what_has_no_weights_on_the_simplex_is_refused():
    for relaxation in (softmax(NANO), Attention(NANO)):
        with pytest.raises(CompositionError, match=f"and {type(relaxation).__name__} has none"):
            NegativeEntropy(0.1).check(relaxation)


@pytest.mark.parametrize("weight", [-1.0, float("nan")])
def test_a_weight_that_cannot_be_is_refused(weight):
    with pytest.raises(UpdateError, match="entropy must be a number >= 0"):
        NegativeEntropy(weight)


def test_a_strong_one_keeps_a_search_from_deciding():
    entropies = [
        search("gaea-gdas", method_options={"entropy": weight, "lr": 1.0, "warmup": 0}).fit().entropy
        for weight in (0.0, 1.0)
    ]
    assert entropies[0] < entropies[1]
