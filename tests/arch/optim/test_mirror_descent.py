import copy
import io
import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from dartboard.arch.optim import (
    GEOMETRIES,
    Entropy,
    Euclidean,
    ExponentiatedGradient,
    Geometry,
    MirrorDescent,
)
from dartboard.arch.optim.mirror_descent import choose_block, project
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


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def pair(seed: int = 0) -> tuple[nn.Parameter, nn.Parameter]:
    """Weights, and a table of rows on the simplex."""
    return nn.Parameter(draw(seed, 4)), nn.Parameter(draw(seed + 1, 2, 3).softmax(-1))


def blocks(weight: nn.Parameter, theta: nn.Parameter) -> list[dict]:
    return [{"params": [weight]}, {"params": [theta], "geometry": "entropy"}]


def walk(parameters, optimizer: torch.optim.Optimizer, steps: int, seed: int = 7) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        for p in parameters:
            p.grad = torch.randn(p.shape, generator=generator, dtype=p.dtype)
        optimizer.step()
    return [p.detach().clone() for p in parameters]


@given(SEEDS, st.booleans(), st.floats(0, 2))
@settings(max_examples=20, deadline=None)
def test_euclidean_is_sgd(seed, maximize, lr):
    (one, _), (two, _) = pair(seed), pair(seed)
    ours = walk([one], MirrorDescent([one], lr, maximize=maximize), 10)
    theirs = walk([two], torch.optim.SGD([two], lr, maximize=maximize), 10)
    assert torch.equal(ours[0], theirs[0])


@given(SEEDS, st.booleans(), st.floats(0, 2))
@settings(max_examples=20, deadline=None)
def test_entropy_is_exponentiated_gradient(seed, maximize, lr):
    (_, one), (_, two) = pair(seed), pair(seed)
    ours = walk([one], MirrorDescent([one], lr, geometry="entropy", maximize=maximize), 10)
    theirs = walk([two], ExponentiatedGradient([two], lr, maximize=maximize), 10)
    assert torch.equal(ours[0], theirs[0])


def test_entropy_keeps_weights_that_round_to_zero():
    theta = nn.Parameter(torch.tensor([0.5, 0.5]))
    optimizer = MirrorDescent([theta], 1.0, geometry="entropy")
    for slope in (1000.0, -1000.0):
        theta.grad = torch.tensor([slope, 0.0])
        optimizer.step()
    assert theta.tolist() == [0.5, 0.5]


def test_the_projected_rule_stays_on_the_simplex():
    _, theta = pair()
    walk([theta], MirrorDescent([theta], 0.3, geometry="euclidean-simplex"), 20)
    assert (theta >= 0).all()
    assert (theta == 0).any()  # projections reach the boundary, entropy never does
    torch.testing.assert_close(theta.sum(-1), torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("order", ["random", "cyclic"])
def test_a_step_moves_the_block_it_announced_and_no_other(order):
    parameters = pair()
    optimizer = MirrorDescent(blocks(*parameters), order=order)
    for _ in range(20):
        before, block = [p.detach().clone() for p in parameters], optimizer.block
        after = walk(parameters, optimizer, 1)
        assert [not torch.equal(a, b) for a, b in zip(before, after, strict=True)] == [block == 0, block == 1]


def test_only_the_gradient_of_the_announced_block_is_needed():
    full, lean = pair(), pair()
    everything, needed = MirrorDescent(blocks(*full)), MirrorDescent(blocks(*lean))
    for step in range(10):
        gradients = [draw(step, 4), draw(step, 2, 3)]
        for p, gradient in zip(full, gradients, strict=True):
            p.grad = gradient.clone()
        needed.zero_grad()
        lean[needed.block].grad = gradients[needed.block].clone()
        everything.step()
        needed.step()
    assert all(torch.equal(a, b) for a, b in zip(full, lean, strict=True))


def test_random_blocks_are_uniform_and_independent():
    drawn = [choose_block(t, 3, order="random", seed=5) for t in range(9000)]
    pairs = torch.bincount(torch.tensor([3 * a + b for a, b in itertools.pairwise(drawn)]), minlength=9)
    assert (pairs - 1000).abs().max() < 150  # five deviations
    other = [choose_block(t, 3, order="random", seed=6) for t in range(9000)]
    assert abs(sum(a == b for a, b in zip(drawn, other, strict=True)) - 3000) < 230


def test_cyclic_blocks_take_turns():
    assert [choose_block(t, 3, order="cyclic") for t in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_seeds_and_orders_matter_and_runs_repeat():
    def end(**options) -> torch.Tensor:
        parameters = pair()
        return walk(parameters, MirrorDescent(blocks(*parameters), **options), 12)[0]

    assert torch.equal(end(seed=1), end(seed=1))
    assert not torch.equal(end(seed=1), end(seed=2))
    assert not torch.equal(end(seed=1), end(order="cyclic"))
    assert not torch.equal(end(schedule="inverse-sqrt"), end())


@pytest.mark.parametrize("order", ["random", "cyclic"])
def test_it_resumes_bit_for_bit_in_the_middle(order):
    parameters = pair()
    optimizer = MirrorDescent(blocks(*parameters), 0.3, order=order, seed=3, schedule="inverse-sqrt")
    walk(parameters, optimizer, 13, seed=0)
    file = io.BytesIO()
    torch.save([list(parameters), optimizer.state_dict()], file)
    file.seek(0)
    loaded, state = torch.load(file, weights_only=True)
    other = MirrorDescent(blocks(*loaded), 9.0, seed=99)
    other.load_state_dict(state)
    ends = walk(parameters, optimizer, 20, seed=1), walk(loaded, other, 20, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))


def test_a_copy_goes_the_same_way():
    parameters = pair()
    optimizer = MirrorDescent(blocks(*parameters))
    walk(parameters, optimizer, 5)
    twins, copied = copy.deepcopy((parameters, optimizer))
    ends = walk(parameters, optimizer, 20), walk(twins, copied, 20)
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))


def test_the_global_generator_is_not_touched():
    parameters = pair()
    state = torch.get_rng_state()
    walk(parameters, MirrorDescent(blocks(*parameters)), 3)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_decreasing_step_goes_with_the_root_of_the_iteration():
    weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = MirrorDescent([weight], 2.0, schedule="inverse-sqrt")
    for _ in range(4):
        weight.grad = torch.ones(1, dtype=torch.float64)
        optimizer.step()
    assert weight.item() == pytest.approx(-2 * sum(1 / math.sqrt(t) for t in (1, 2, 3, 4)))


@pytest.mark.parametrize(("schedule", "step"), [("inverse-sqrt", 0.2), ("constant", 2.0)])
def test_the_step_of_the_hundredth_iteration(schedule, step):
    weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = MirrorDescent([weight], 2.0, schedule=schedule)
    optimizer.param_groups[0]["iteration"] = 99
    weight.grad = torch.ones(1, dtype=torch.float64)
    optimizer.step()
    assert weight.item() == -step


def test_a_block_that_joins_later_joins_at_the_same_time():
    weight, theta = pair()
    optimizer = MirrorDescent([weight], order="cyclic")
    walk([weight], optimizer, 3)
    optimizer.add_param_group({"params": [theta], "geometry": "entropy"})
    assert optimizer.param_groups[1]["iteration"] == 3
    assert optimizer.block == 1


class Burg(Geometry):
    """phi = -sum log x on x > 0: a third geometry, as somebody else would write it."""

    def value(self, x: torch.Tensor) -> torch.Tensor:
        return -x.log().sum()

    def gradient(self, x: torch.Tensor) -> torch.Tensor:
        return -1 / x

    def step(self, x: torch.Tensor, gradient: torch.Tensor, *, lr: float) -> torch.Tensor:
        return x / (1 + lr * gradient * x)


def test_a_geometry_can_be_added_from_outside(monkeypatch):
    monkeypatch.setitem(GEOMETRIES._values, "burg", Burg())
    x = nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    optimizer = MirrorDescent([x], 0.1, geometry="burg")
    for _ in range(200):
        optimizer.zero_grad()
        (x.sum() - 3 * x.log().sum()).backward()
        optimizer.step()
    assert x.tolist() == pytest.approx([3, 3])


def test_closure_is_called_with_gradients_and_its_loss_returned():
    weight = nn.Parameter(torch.ones(2))

    def closure() -> torch.Tensor:
        weight.grad = None
        loss = weight.square().sum()
        loss.backward()
        return loss

    optimizer = MirrorDescent([weight], 0.25)
    assert optimizer.step(closure).item() == 2
    assert weight.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lr": -1.0}, "lr must be a number >= 0, got -1.0"),
        ({"order": "sorted"}, "order must be one of 'random', 'cyclic', got 'sorted'"),
        ({"schedule": "cosine"}, "schedule must be one of 'constant', 'inverse-sqrt', got 'cosine'"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
        ({"geometry": "entropy"}, "must be >= 0, got"),
    ],
)
def test_options_out_of_range_are_refused_with_their_value(options, text):
    with pytest.raises(UpdateError, match=text):
        MirrorDescent([pair()[0]], **options)


def test_groups_cannot_disagree_about_the_order():
    groups = blocks(*pair())
    groups[1]["seed"] = 4
    with pytest.raises(UpdateError, match="seed must be the same for all groups, got 0 and 4"):
        MirrorDescent(groups)


def test_a_refused_block_leaves_the_optimizer_as_it_was():
    weight, theta = pair()
    optimizer = MirrorDescent([weight])
    with pytest.raises(UnknownNameError):
        optimizer.add_param_group({"params": [theta], "geometry": "hyperbolic"})
    assert len(optimizer.param_groups) == 1


def steps_needed(experts: int, geometry: str, *, accuracy: float = 0.15, runs: int = 8) -> int:
    """Steps until the mean iterate is `accuracy` from the best of a linear function, with noise of size 1.

    All entries of a gradient are -1 or 1, with mean -0.25 in the first place and 0 elsewhere. The step size
    is the one from theory, accuracy / G^2, with G the bound on gradients in the dual norm of the geometry.
    """
    generator = torch.Generator().manual_seed(0)
    theta = nn.Parameter(torch.full((runs, experts), 1 / experts, dtype=torch.float64))
    slope = torch.zeros(experts, dtype=torch.float64)
    slope[0] = -0.25
    bound = GEOMETRIES[geometry].dual_norm(torch.ones(1, experts)).item()
    optimizer = MirrorDescent([theta], accuracy / bound**2, geometry=geometry)
    total = torch.zeros_like(theta)
    for step in range(1, 20000):
        total += theta.detach()
        if ((total / step) @ slope - slope.min()).mean() <= accuracy:
            return step
        coins = torch.rand(runs, experts, generator=generator, dtype=torch.float64) < (1 + slope) / 2
        theta.grad = coins.double() * 2 - 1
        optimizer.step()
    return 20000


def test_steps_grow_with_the_logarithm_of_the_experts_for_entropy_and_linearly_for_euclidean():
    """GAEA section 3.1: O(log k) against O(k) steps on the simplex."""
    entropy = [steps_needed(k, "entropy") for k in (4, 16, 64)]
    euclidean = [steps_needed(k, "euclidean-simplex") for k in (4, 16, 64)]
    assert entropy[2] < 2 * (math.log(64) / math.log(4)) * entropy[0]
    assert euclidean[2] > (64 / 4) / 2 * euclidean[0]
    assert euclidean[2] > 5 * entropy[2]


# Projection


@given(SEEDS, st.integers(1, 9), st.floats(0.01, 100))
def test_the_projection_is_the_nearest_point_of_the_simplex(seed, size, scale):
    x = scale * direction(seed, 3, size)
    y = project(x)
    assert (y >= 0).all()
    torch.testing.assert_close(y.sum(-1), torch.ones(3, dtype=torch.float64))
    # The nearest point y of a convex set has <x - y, z - y> <= 0 for all z in it; corners suffice.
    slopes = torch.einsum("rn,rkn->rk", x - y, torch.eye(size, dtype=torch.float64) - y[:, None])
    assert (slopes <= 1e-9 * max(1.0, scale)).all()


def test_points_of_the_simplex_are_projected_onto_themselves():
    x = direction(0, 4, 6).softmax(-1)
    torch.testing.assert_close(project(x), x)
    assert project(torch.tensor([[3.0, 0.0, -1.0]])).tolist() == [[1.0, 0.0, 0.0]]
