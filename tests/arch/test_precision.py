import pytest
import torch

from dartboard.arch.precision import Precision


def test_full_precision_leaves_everything_as_it_is() -> None:
    precision, x = Precision(), torch.ones(2, dtype=torch.float64)
    assert precision.full((x,))[0] is x
    assert precision.scaled(x) is x
    assert precision.unscaled([x])[0] is x
    with precision.autocast(torch.device("cpu")):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


def test_half_precision_computes_in_halves_and_returns_full() -> None:
    precision = Precision(torch.bfloat16)
    with precision.autocast(torch.device("cpu")):
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert product.dtype is torch.bfloat16
    assert [output.dtype for output in precision.full((product, product))] == [torch.float32] * 2


def test_the_scale_cancels_out() -> None:
    precision, weight = Precision(scale=torch.tensor(1024.0)), torch.tensor(3.0, requires_grad=True)
    (grad,) = precision.unscaled(torch.autograd.grad(precision.scaled(weight**2), [weight]))
    assert grad == 6


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_one_overflow_makes_all_gradients_zero(bad: float) -> None:
    grads = Precision(scale=torch.tensor(2.0)).unscaled([torch.ones(2), torch.tensor([1.0, bad])])
    assert all(torch.equal(grad, torch.zeros(2)) for grad in grads)
