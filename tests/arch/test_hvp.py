import pytest
import torch
from torch import Tensor

from dartboard.arch.hvp import Exact, Finite, shift
from dartboard.arch.objective import gradients
from dartboard.errors import UpdateError


class Problem:
    """A smooth loss of two blocks of weights and one block of architecture parameters."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.x, self.weights = draw(7, 4), [draw(4, 3), draw(3)]
        self.arch = [draw(3).requires_grad_(), draw(2).requires_grad_()]
        self.vector = [draw(4, 3), draw(3)]

    def loss(self, weights, arch=None):
        first, second = self.arch if arch is None else arch
        hidden = torch.tanh(self.x @ weights[0]) * first.softmax(0)
        return (torch.sin(hidden @ weights[1]) * second.sum()).sum() + (second * second).prod()

    def flat(self, weights: Tensor, arch: Tensor) -> Tensor:
        parts = [weights[:12].view(4, 3), weights[12:]]
        return self.loss(parts, (arch[:3], arch[3:]))

    def second_derivatives(self) -> tuple[Tensor, Tensor]:
        """The whole mixed block [5, 15] and the whole Hessian [15, 15], by torch's own Hessian."""
        w = torch.cat([weight.flatten() for weight in self.weights])
        a = torch.cat([part.detach() for part in self.arch])
        blocks = torch.autograd.functional.hessian(self.flat, (w, a))
        return blocks[1][0], blocks[0][0]


def flatten(tensors) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in tensors])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("products", "tolerance"), [(Exact(), 1e-12), (Finite(1e-4), 1e-6)])
def test_products_are_the_full_matrices_times_the_vector(seed, products, tolerance):
    problem = Problem(seed)
    mixed, hessian = problem.second_derivatives()
    vector = flatten(problem.vector)
    found = products.mixed(problem.loss, problem.weights, problem.arch, problem.vector)
    assert [part.shape for part in found] == [part.shape for part in problem.arch]
    torch.testing.assert_close(flatten(found), mixed @ vector, atol=tolerance, rtol=tolerance)
    found = products.hessian(problem.loss, problem.weights, problem.vector)
    assert [part.shape for part in found] == [part.shape for part in problem.weights]
    torch.testing.assert_close(flatten(found), hessian @ vector, atol=tolerance, rtol=tolerance)


def test_a_smaller_radius_is_closer_on_a_smooth_loss():
    problem = Problem(0)
    exact = flatten(Exact().hessian(problem.loss, problem.weights, problem.vector))
    errors = [
        (flatten(Finite(radius).hessian(problem.loss, problem.weights, problem.vector)) - exact).norm()
        for radius in (0.5, 0.05, 0.005)
    ]
    assert errors[0] > 30 * errors[1] > 900 * errors[2]  # second order in the radius


def test_a_kink_within_the_radius_spoils_finite_differences_only():
    def loss(weights):  # second derivative 2 on the positive side, 0 on the other
        return torch.relu(weights[0]).square().sum()

    at, vector = [torch.tensor([0.001], dtype=torch.float64)], [torch.ones(1, dtype=torch.float64)]
    assert Exact().hessian(loss, at, vector)[0].item() == pytest.approx(2.0)
    assert Finite(0.01).hessian(loss, at, vector)[0].item() == pytest.approx(1.1)
    assert Finite(0.0005).hessian(loss, at, vector)[0].item() == pytest.approx(2.0)


@pytest.mark.parametrize("products", [Exact(), Finite()])
def test_a_zero_vector_has_a_zero_product(products):
    problem = Problem(0)
    zero = [torch.zeros_like(weight) for weight in problem.weights]
    for product in (
        products.hessian(problem.loss, problem.weights, zero),
        products.mixed(problem.loss, problem.weights, problem.arch, zero),
    ):
        assert all(torch.equal(part, torch.zeros_like(part)) for part in product)


@pytest.mark.parametrize("products", [Exact(), Finite()])
def test_a_loss_linear_in_the_weights_has_no_hessian_and_an_unused_leaf_no_product(products):
    weights, arch = (
        [torch.ones(2, dtype=torch.float64)],
        [torch.ones(2, dtype=torch.float64, requires_grad=True)],
    )
    found = products.hessian(lambda at: at[0].sum(), weights, weights)
    torch.testing.assert_close(found[0], torch.zeros(2, dtype=torch.float64))
    found = products.mixed(lambda at: at[0].square().sum() + arch[0].sum(), weights, arch, weights)
    torch.testing.assert_close(found[0], torch.zeros(2, dtype=torch.float64))


@pytest.mark.parametrize("products", [Exact(), Finite()])
def test_products_change_nothing_but_their_result(products):
    problem = Problem(0)
    before = [weight.clone() for weight in problem.weights]
    products.mixed(problem.loss, problem.weights, problem.arch, problem.vector)
    products.hessian(problem.loss, problem.weights, problem.vector)
    assert all(torch.equal(a, b) for a, b in zip(before, problem.weights, strict=True))
    assert all(part.grad is None for part in problem.arch)
    assert not any(weight.requires_grad for weight in problem.weights)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_the_radius_must_be_positive(radius):
    with pytest.raises(UpdateError, match="positive"):
        Finite(radius)


def test_gradients_are_zero_where_nothing_depends():
    used, unused = (torch.ones(2, requires_grad=True) for _ in range(2))
    found = gradients(used.sum(), [used, unused])
    assert torch.equal(found[0], torch.ones(2))
    assert torch.equal(found[1], torch.zeros(2))


def test_shifted_is_detached():
    leaf = torch.ones(2, requires_grad=True)
    (moved,) = shift([leaf], [torch.ones(2)], 0.5)
    assert torch.equal(moved, torch.full((2,), 1.5))
    assert not moved.requires_grad
