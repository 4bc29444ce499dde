import pytest
import torch

from dartboard.relax.parametrization import Logits, Simplex

MASK = torch.tensor([[True, True, True], [True, False, True], [False, True, False]])
FORMS = {"logits": Logits(), "simplex": Simplex()}


def values(form) -> torch.Tensor:
    drawn = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return (form.settle(drawn.exp(), MASK) if isinstance(form, Simplex) else drawn).requires_grad_()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_it_starts_with_equal_weights(form):
    expected = torch.tensor([[1 / 3, 1 / 3, 1 / 3], [0.5, 0, 0.5], [0, 1, 0]])
    assert torch.allclose(form.weights(form.start(MASK), MASK), expected)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_rows_are_on_the_simplex_and_nothing_is_outside_the_mask(form):
    weights = form.weights(values(form), MASK)
    assert torch.allclose(weights.sum(-1), torch.ones(3, dtype=torch.float64))
    assert torch.equal(weights > 0, MASK)
    assert weights[2, 1] == 1


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_entries_outside_the_mask_and_alone_have_no_gradient(form):
    own, direction = values(form), torch.arange(9.0, dtype=torch.float64).view(3, 3)
    (gradient,) = torch.autograd.grad((form.weights(own, MASK) * direction).sum(), own)
    chosen = MASK & (MASK.sum(-1, keepdim=True) > 1)
    assert torch.equal(gradient != 0, chosen & (direction != 0) if isinstance(form, Simplex) else chosen)


def test_the_gradient_of_logits_is_that_of_a_softmax():
    own, direction = values(Logits()), torch.arange(9.0, dtype=torch.float64).view(3, 3)
    weights = Logits().weights(own, MASK)
    (gradient,) = torch.autograd.grad((weights * direction).sum(), own)
    mean = (weights * direction).sum(-1, keepdim=True)
    assert torch.allclose(gradient, weights * (direction - mean))


def test_the_gradient_on_the_simplex_is_that_of_the_weights():
    own, direction = values(Simplex()), torch.arange(9.0, dtype=torch.float64).view(3, 3)
    (gradient,) = torch.autograd.grad((Simplex().weights(own, MASK) * direction).sum(), own)
    chosen = MASK & (MASK.sum(-1, keepdim=True) > 1)
    assert torch.equal(gradient, direction.masked_fill(~chosen, 0))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_derivatives_agree_with_finite_differences(form):
    own = values(form)
    assert torch.autograd.gradcheck(lambda x: form.weights(x, MASK), own)
    assert torch.autograd.gradgradcheck(lambda x: form.weights(x, MASK).square(), own)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_log_weights_are_the_logarithm(form):
    own = values(form)
    logs = form.log_weights(own, MASK)
    assert torch.allclose(logs.exp(), form.weights(own, MASK))
    (gradient,) = torch.autograd.grad(logs[MASK].sum(), own)
    assert gradient.isfinite().all()
    assert torch.equal(gradient[~MASK], torch.zeros(3, dtype=torch.float64))


def test_a_weight_that_has_become_zero_does_no_harm():
    own = torch.tensor([[0.0, 0.25, 0.75]], requires_grad=True)
    logs = Simplex().log_weights(own, torch.ones(1, 3, dtype=torch.bool))
    (gradient,) = torch.autograd.grad(logs.softmax(-1)[0, 1], own)
    assert gradient.isfinite().all()
    assert gradient[0, 0] == 0


def test_the_rest_keeps_its_proportions():
    settled = Simplex().settle(torch.tensor([0.5, 0.1, 0.4]), torch.tensor([False, True, True]))
    assert torch.allclose(settled, torch.tensor([0.0, 0.2, 0.8]))
    empty = Simplex().settle(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([False, True, True]))
    assert torch.allclose(empty, torch.tensor([0.0, 0.5, 0.5]))
