import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard.arch.optim import GEOMETRIES, Entropy, Euclidean, Geometry
from dartboard.errors import UnknownNameError, UpdateError

SEEDS = st.integers(0, 10**6)
ALL = sorted(GEOMETRIES)


def rows(seed: int, *shape: int) -> torch.Tensor:
    """Points of the simplex, which is in the domain of every geometry."""
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (2 * noise).softmax(-1)


def direction(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("name", ALL)
def test_the_gradient_is_that_of_the_value(name):
    x = rows(0, 3, 4).requires_grad_()
    geometry = GEOMETRIES[name]
    (slope,) = torch.autograd.grad(geometry.value(x), x)
    torch.testing.assert_close(geometry.gradient(x), slope)


@pytest.mark.parametrize("name", ALL)
@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_divergence_is_that_of_its_definition(name, seed):
    geometry, x, y = GEOMETRIES[name], rows(seed, 3, 4), rows(seed + 1, 3, 4)
    torch.testing.assert_close(geometry.divergence(x, y), Geometry.divergence(geometry, x, y))


@pytest.mark.parametrize("name", ALL)
@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_divergences_are_positive_and_zero_only_at_equality(name, seed):
    geometry, x, y = GEOMETRIES[name], rows(seed, 3, 4), rows(seed + 1, 3, 4)
    assert geometry.divergence(x, y) > 0
    assert geometry.divergence(x, x) == 0
    nudged = x + 1e-4 * torch.tensor([1.0, -1.0, 0.0, 0.0]) * x.amin()
    assert geometry.divergence(nudged, x) > 0


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_entropy_is_strongly_convex_in_the_norm_of_its_dual(seed):
    """Pinsker's inequality over a product of simplices, which gives GAEA's bound on gradients."""
    x, y, g = rows(seed, 3, 4), rows(seed + 1, 3, 4), direction(seed + 2, 3, 4)
    lengths = (x - y).abs().sum(-1)
    primal = lengths.norm()
    assert Entropy().divergence(x, y) >= primal**2 / 2
    assert primal >= lengths.sum() / math.sqrt(3)  # the norm of GAEA section 3.3
    assert Entropy().dual_norm(g) <= math.sqrt(3) * g.abs().max()
    assert (g * (x - y)).sum().abs() <= Entropy().dual_norm(g) * primal


def test_the_dual_norm_reaches_its_bound():
    g = direction(0, 3, 4)
    corner = torch.nn.functional.one_hot(g.abs().argmax(-1), 4) * g.sign()
    x = corner * g.abs().amax(-1, keepdim=True)
    assert (g * x).sum().item() == pytest.approx((Entropy().dual_norm(g) * x.abs().sum(-1).norm()).item())
    assert Euclidean().dual_norm(g).item() == pytest.approx(g.norm().item())


@pytest.mark.parametrize("name", ALL)
@given(SEEDS, st.floats(0.01, 3))
@settings(max_examples=20, deadline=None)
def test_a_step_solves_its_problem(name, seed, lr):
    """GAEA equation 6, against other points of the simplex near and far."""
    geometry, x, g = GEOMETRIES[name], rows(seed, 2, 4), direction(seed + 1, 2, 4)
    best = geometry.step(x, g, lr=lr)

    def objective(u: torch.Tensor) -> float:
        return (lr * (g * u).sum() + geometry.divergence(u, x)).item()

    for other in (rows(seed + 2, 2, 4), x, torch.full_like(x, 0.25)):
        for share in (1.0, 0.1, 0.001):
            assert objective(best) <= objective(best + share * (other - best)) + 1e-12


def test_the_domain_makes_a_difference():
    x, g = rows(0, 4), direction(1, 4)
    assert torch.equal(Euclidean().step(x, g, lr=0.5), x - 0.5 * g)
    assert not torch.equal(Euclidean(simplex=True).step(x, g, lr=0.5), x - 0.5 * g)


def test_divergences_at_the_boundary():
    corner, middle = torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5])
    assert Entropy().divergence(corner, corner) == 0
    assert Entropy().divergence(corner, middle).item() == pytest.approx(math.log(2))
    assert Entropy().divergence(middle, corner) == math.inf


@pytest.mark.parametrize("name", ["entropy", "euclidean-simplex"])
def test_points_outside_the_domain_are_refused(name):
    with pytest.raises(UpdateError, match="sum to 1"):
        GEOMETRIES[name].check([torch.ones(3)])
    GEOMETRIES["euclidean"].check([torch.ones(3)])


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="did you mean 'entropy'"):
        GEOMETRIES["entropi"]
