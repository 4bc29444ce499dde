import pytest
import torch
from torch.optim import SGD, Adam

from dartboard.arch.hypergradient import virtual_step
from dartboard.errors import CompositionError

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
