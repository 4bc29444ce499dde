import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from dartboard.arch.optim import Entropy, Euclidean, MirrorDescent
from dartboard.errors import UpdateError
from dartboard_papers.theory.bregman import (
    block_iterations,
    block_step_size,
    bregman_stationarity,
    proximal_point,
    stationarity_bound,
)

SEEDS = st.integers(0, 10**6)
NUMBERS = {"curvature": 1.5, "gradient_bound": 3.0}


def draw(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def measure(function, points, geometries, scale: float) -> float:
    proximal = proximal_point(function, points, geometries, scale=scale)
    return bregman_stationarity(points, proximal, geometries, scale=scale).item()


def test_step_size_and_steps_are_those_of_theorem_one():
    """GAEA Theorem 1, written as the main text has it."""
    value, gamma, square, accuracy = 2.0, 1.5, 9.0, 0.5
    steps = block_iterations(value, **NUMBERS, accuracy=accuracy)
    assert steps == math.ceil(16 * gamma * value / accuracy**2 * square)
    lr = block_step_size(value, **NUMBERS, iterations=steps)
    assert lr == pytest.approx(math.sqrt(4 * value / (gamma * square * steps)))
    assert block_step_size(value, **NUMBERS, iterations=steps, blocks=8) == pytest.approx(2 * lr)


def test_the_corollary_is_smaller_than_what_its_theorem_gives():
    """GAEA Corollary 1 promises 2 L sqrt(2 b gamma F / T); Theorem 2 gives 3/2 and at best sqrt(2) of it."""
    gap, steps, blocks = 2.0, 500, 3
    promised = 2 * 3.0 * math.sqrt(2 * blocks * 1.5 * gap / steps)
    lr = block_step_size(gap, **NUMBERS, iterations=steps, blocks=blocks)

    def bound(factor: float) -> float:
        return stationarity_bound(gap, [factor * lr] * steps, **NUMBERS, blocks=blocks)

    assert bound(1) == pytest.approx(1.5 * promised)
    assert bound(math.sqrt(0.5)) == pytest.approx(math.sqrt(2) * promised)
    assert min(bound(factor / 100) for factor in range(10, 300)) == pytest.approx(
        bound(math.sqrt(0.5)), rel=1e-3
    )


def test_blocks_that_are_convex_need_not_be_weakly_convex_together():
    """A step of the proof of Theorem 2 that Setting 1 does not give: f = 5 x y against gamma = 1."""
    joint = torch.autograd.functional.hessian(
        lambda z: 5 * z[0] * z[1] + z.square().sum() / 2, torch.zeros(2)
    )
    assert (joint.diagonal() >= 0).all()  # each block alone: convex, with room to spare
    assert torch.linalg.eigvalsh(joint).min().item() == pytest.approx(-4)


@given(SEEDS, st.floats(0.05, 1))
@settings(max_examples=20, deadline=None)
def test_the_proximal_point_of_a_quadratic_has_a_closed_form(seed, scale):
    x, center = draw(seed, 5), draw(seed + 1, 5)
    (found,) = proximal_point(lambda u: (u - center).square().sum() / 2, [x], [Euclidean()], scale=scale)
    torch.testing.assert_close(found, (x + scale * center) / (1 + scale))


@given(SEEDS, st.floats(0.05, 3))
@settings(max_examples=20, deadline=None)
def test_the_proximal_point_of_a_linear_function_is_one_mirror_step(seed, scale):
    slope, x = draw(seed, 2, 4), draw(seed + 1, 2, 4).softmax(-1)
    for geometry in (Entropy(), Euclidean()):
        (found,) = proximal_point(lambda u: (slope * u).sum(), [x], [geometry], scale=scale)
        torch.testing.assert_close(found, geometry.step(x, slope, lr=scale))


def test_dead_entries_stay_dead_in_the_proximal_point():
    x = torch.tensor([0.0, 0.4, 0.6], dtype=torch.float64)
    (found,) = proximal_point(lambda u: (u - 1).square().sum(), [x], [Entropy()], scale=0.2)
    assert found[0] == 0
    assert found.isfinite().all()
    assert bregman_stationarity([x], [found], [Entropy()], scale=0.2).isfinite()


def test_the_measure_by_hand():
    """Equation 7 is symmetric: the two divergences add up to <x - p, grad phi(x) - grad phi(p)>."""
    x, p = draw(0, 2, 4).softmax(-1), draw(1, 2, 4).softmax(-1)
    expected = ((x - p) * (x.log() - p.log())).sum().item() + 3.0**2
    points, proximal = [x, torch.tensor([1.0])], [p, torch.tensor([-2.0])]
    found = bregman_stationarity(points, proximal, [Entropy(), Euclidean()], scale=0.5)
    assert found.item() == pytest.approx(4 * expected)


def mixture_loss(weight: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
    """Losses of three ops, mixed: convex in each block, not in both. gamma = 1.6 makes it convex."""
    return (theta * (weight - torch.tensor([-1.0, 0.2, 1.0], dtype=torch.float64)).square()).sum() / 2


BLOCKS = (Euclidean(), Entropy())


def test_stationary_points_have_measure_zero_and_others_do_not():
    corner = [torch.tensor([0.2], dtype=torch.float64), torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)]
    assert measure(mixture_loss, corner, BLOCKS, 1 / 3.2) == pytest.approx(0, abs=1e-20)
    inside = [torch.tensor([0.5], dtype=torch.float64), torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64)]
    assert measure(mixture_loss, inside, BLOCKS, 1 / 3.2) > 0.01


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_it_bounds_the_squared_gradient_of_smooth_functions(seed):
    """GAEA section 3.2: with a gamma-smooth f, |grad f|^2 <= (3/2)^2 times the stationarity."""
    matrix = draw(seed, 4, 4)
    matrix = (matrix + matrix.T) / torch.linalg.eigvalsh(matrix + matrix.T).abs().max()
    x = draw(seed + 1, 4)
    stationarity = measure(lambda u: u @ matrix @ u / 2, [x], [Euclidean()], 0.5)
    assert (matrix @ x).square().sum().item() <= 2.25 * stationarity + 1e-9


def test_block_stochastic_mirror_descent_keeps_the_promise_of_theorem_one():
    """The mean over iterates, which is the expectation over the one that Algorithm 1 returns."""
    weight = nn.Parameter(torch.tensor([0.9], dtype=torch.float64))
    theta = nn.Parameter(torch.tensor([0.6, 0.1, 0.3], dtype=torch.float64))
    gap, steps, bounds = (
        mixture_loss(weight, theta).item(),
        300,
        {"curvature": 1.6, "gradient_bound": math.sqrt(8)},
    )
    lr = block_step_size(gap, **bounds, iterations=steps)
    optimizer = MirrorDescent([{"params": [weight]}, {"params": [theta], "geometry": "entropy"}], lr)
    seen = []
    for step in range(steps):
        if step % 20 == 0:
            seen.append(measure(mixture_loss, [weight.detach(), theta.detach()], BLOCKS, 1 / 3.2))
        optimizer.zero_grad()
        mixture_loss(weight, theta).backward()
        optimizer.step()
    promised = 2 * math.sqrt(8) * math.sqrt(4 * 1.6 * gap / steps)
    assert sum(seen) / len(seen) <= promised
    assert seen[-1] < seen[0] / 3


@pytest.mark.parametrize(
    ("name", "value"),
    [("gap", -1.0), ("curvature", 0.0), ("gradient_bound", 0.0), ("iterations", 0), ("blocks", 0)],
)
def test_numbers_out_of_range_are_refused_with_their_value(name, value):
    numbers = {"gap": 1.0, "curvature": 1.0, "gradient_bound": 1.0, "iterations": 1, "blocks": 2, name: value}
    with pytest.raises(UpdateError, match=f"{name} must be .*, got {value!r}"):
        block_step_size(**numbers)
