import pytest
import torch
from torch import Tensor
from torch.optim import SGD, Adam

from dartboard.arch.hvp import Exact, Finite
from dartboard.arch.hypergradient import BilevelProblem, amended, first_order, second_order, virtual_step
from dartboard.arch.objective import gradients
from dartboard.errors import CompositionError


def draw(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def network(seed: int) -> BilevelProblem:
    """A smooth two-layer network with a mixture of activations, on two sets of data."""
    generator = torch.Generator().manual_seed(seed)
    weights = [draw(generator, 4, 5), draw(generator, 5, 1)]
    alpha = draw(generator, 3).requires_grad_()
    data = {name: (draw(generator, 9, 4), draw(generator, 9, 1)) for name in ("train", "valid")}

    def loss(name, at):
        x, y = data[name]
        hidden, mix = x @ at[0], alpha.softmax(0)
        mixed = mix[0] * torch.tanh(hidden) + mix[1] * hidden + mix[2] * torch.sin(hidden)
        return (mixed @ at[1] - y).square().mean()

    return BilevelProblem([lambda at: loss("train", at)], [lambda at: loss("valid", at)], weights, [alpha])


def unroll(point: BilevelProblem, lr: float, *, create_graph: bool, extra: float = 0.0) -> list[Tensor]:
    """The weights after a step of descent with weight decay `extra`."""
    leaves = [weight.detach().requires_grad_() for weight in point.weights]
    slopes = gradients(point.train[0](leaves), leaves, create_graph=create_graph)
    return [w - lr * (g + extra * w) for w, g in zip(leaves, slopes, strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_first_order_is_the_partial_gradient(seed):
    point = network(seed)
    (expected,) = torch.autograd.grad(point.valid[0](point.weights), point.arch)
    torch.testing.assert_close(first_order(point)[0], expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize(("products", "tolerance"), [(Exact(), 1e-12), (Finite(1e-4), 1e-6)])
def test_second_order_is_the_gradient_through_the_unrolled_step(seed, decay, products, tolerance):
    point, lr = network(seed), 0.1
    through = point.valid[0](unroll(point, lr, create_graph=True, extra=decay))
    (expected,) = torch.autograd.grad(through, point.arch)
    unrolled = [weight.detach() for weight in unroll(point, lr, create_graph=False, extra=decay)]
    (found,) = second_order(point, unrolled, lr, products)
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)
    assert not torch.allclose(found, first_order(point)[0], atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("products", "tolerance"), [(Exact(), 1e-12), (Finite(1e-4), 1e-5)])
def test_amended_is_equation_6_with_whole_matrices(seed, products, tolerance):
    point, eta = network(seed), 0.1
    shapes = [weight.shape for weight in point.weights]

    def flat(weights: Tensor) -> Tensor:
        parts = weights.split([shape.numel() for shape in shapes])
        return point.train[0]([part.view(shape) for part, shape in zip(parts, shapes, strict=True)])

    w = torch.cat([weight.flatten() for weight in point.weights]).requires_grad_()
    (slope,) = torch.autograd.grad(flat(w), w, create_graph=True)
    rows = [torch.autograd.grad(s, [w, *point.arch], retain_graph=True) for s in slope]
    hessian = torch.stack([row[0] for row in rows])
    mixed = torch.stack([row[1] for row in rows], dim=1)  # [arch, weights]
    leaves = [weight.detach().requires_grad_() for weight in point.weights]
    direct, *valid = torch.autograd.grad(point.valid[0](leaves), [*point.arch, *leaves])
    expected = direct - eta * mixed @ hessian @ torch.cat([part.flatten() for part in valid])
    (found,) = amended(point, eta, products)
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("products", [Exact(), Finite()])
def test_without_its_coefficient_amended_is_first_order(products):
    point = network(0)
    torch.testing.assert_close(amended(point, 0.0, products)[0], first_order(point)[0])


@pytest.mark.parametrize("eta", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_amending_term_can_be_cut_to_the_length_of_the_first_order(seed, eta):
    point = network(seed)
    (direct,), (whole,) = first_order(point), amended(point, eta, Exact())
    (found,) = amended(point, eta, Exact(), bounded=True)
    term, cut = whole - direct, found - direct
    assert cut.norm() == pytest.approx(min(term.norm().item(), direct.norm().item()))
    torch.testing.assert_close(cut / cut.norm(), term / term.norm())


@pytest.mark.parametrize("alpha", [0.5, -2.0])
def test_the_toy_of_amended_darts(alpha):
    """A.1: loss (w x - alpha)^2, x = 1 in training and 2 in validation, w at its optimum alpha."""
    a = torch.tensor([alpha], dtype=torch.float64, requires_grad=True)
    w = a.detach().clone()
    point = BilevelProblem(
        [lambda at: (at[0] - a).square().sum()], [lambda at: (2 * at[0] - a).square().sum()], [w], [a]
    )
    assert first_order(point)[0].item() == pytest.approx(-2 * alpha)
    eta = 0.25  # here H = 2, so eta * H equals H^-1 and the amended gradient is the true one
    g2 = 4 * alpha
    assert amended(point, eta, Exact())[0].item() == pytest.approx(-2 * alpha + g2)
    assert amended(point, eta, Finite())[0].item() == pytest.approx(2 * alpha, abs=1e-6)


def cosine(seed: int, arch: int, *, orthogonal: bool = False) -> float:
    """The cosine between g2' and g2, for a random training Hessian, mixed block and slope."""
    generator, weights = torch.Generator().manual_seed(seed), 6
    root = draw(generator, weights, weights)
    hessian = root @ root.T + 0.05 * torch.eye(weights, dtype=torch.float64)
    mixed, slope = draw(generator, arch, weights), draw(generator, weights)
    if orthogonal:
        mixed = torch.linalg.qr(mixed).Q
    amending = -mixed @ hessian @ slope
    true = -mixed @ torch.linalg.solve(hessian, slope)
    return (amending @ true / (amending.norm() * true.norm())).item()


def test_the_claimed_sign_of_the_amending_term_does_not_hold_in_general():
    """Amended DARTS claims <g2', g2> >= 0 wherever H is positive definite; random problems break it."""
    found = torch.tensor([cosine(seed, arch=2) for seed in range(400)])
    assert 0.1 < (found < 0).double().mean() < 0.5


def test_the_claim_holds_where_the_mixed_block_has_orthogonal_columns():
    """Then the matrix between H^-1 and H is the identity; it takes as many arch parameters as weights."""
    found = torch.tensor([cosine(seed, arch=8, orthogonal=True) for seed in range(100)])
    assert (found > 0).all()


def test_a_counterexample_by_hand():
    """H = diag(1, 9), M = (1, -1), slope (1, 0.5): M H s = -3.5 and M H^-1 s = 0.944."""
    hessian = torch.diag(torch.tensor([1.0, 9.0], dtype=torch.float64))
    mixed = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    slope = torch.tensor([1.0, 0.5], dtype=torch.float64)
    a = torch.zeros(1, dtype=torch.float64, requires_grad=True)

    def train(at):
        return 0.5 * at[0] @ hessian @ at[0] + (a @ mixed) @ at[0]

    point = BilevelProblem([train], [lambda at: slope @ at[0]], [torch.zeros(2, dtype=torch.float64)], [a])
    amending = amended(point, 1.0, Exact())[0]
    true = -mixed @ torch.linalg.solve(hessian, slope)
    assert amending.item() == pytest.approx(3.5)
    assert true.item() == pytest.approx(-0.9444, abs=1e-4)


SETTINGS = [
    {"momentum": 0.0, "weight_decay": 0.0},
    {"momentum": 0.9, "weight_decay": 3e-4},
    {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
]
each_setting = pytest.mark.parametrize("setting", SETTINGS, ids=["plain", "momentum", "nesterov"])


def trained(setting, steps):
    """Weights that an optimizer has moved for some steps with random gradients, and the next gradients."""
    torch.manual_seed(0)
    weights = [torch.randn(3, 4, dtype=torch.float64), torch.randn(5, dtype=torch.float64)]
    optimizer = SGD([weight.requires_grad_() for weight in weights], 0.1, **setting)
    for _ in range(steps):
        for weight in weights:
            weight.grad = torch.randn_like(weight)
        optimizer.step()
    optimizer.zero_grad()
    return weights, optimizer, [torch.randn_like(weight) for weight in weights]


@each_setting
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_step_is_the_one_that_the_optimizer_takes(setting, steps):
    weights, optimizer, slopes = trained(setting, steps)
    before = [weight.detach().clone() for weight in weights]
    kept = [{k: v.clone() for k, v in own.items() if v is not None} for own in optimizer.state.values()]
    found, _ = virtual_step(optimizer, weights, slopes)
    assert all(torch.equal(weight, own) for weight, own in zip(weights, before, strict=True))
    assert all(weight.grad is None for weight in weights)
    for own, state in zip(kept, optimizer.state.values(), strict=True):
        assert all(torch.equal(state[key], value) for key, value in own.items())
    for weight, slope in zip(weights, slopes, strict=True):
        weight.grad = slope
    optimizer.step()
    for moved, weight in zip(found, weights, strict=True):
        assert not moved.requires_grad
        torch.testing.assert_close(moved, weight.detach(), rtol=0, atol=1e-14)


@each_setting
def test_the_rate_says_how_far_the_weights_follow_their_gradients(setting):
    weights, optimizer, slopes = trained(setting, 2)
    moved, rate = virtual_step(optimizer, weights, slopes)
    further, _ = virtual_step(optimizer, weights, [slope + 1 for slope in slopes])
    for own, other in zip(moved, further, strict=True):
        torch.testing.assert_close(own - other, torch.full_like(own, rate))


def test_other_optimizers_are_refused():
    weights = [torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)]
    with pytest.raises(CompositionError, match=r"trained by Adam with 1; use the first order gradient"):
        virtual_step(Adam(weights), weights, weights)
    groups = SGD([{"params": [weight]} for weight in weights], 0.1)
    with pytest.raises(CompositionError, match=r"one group of weights, and these are trained by SGD with 2"):
        virtual_step(groups, weights, weights)
