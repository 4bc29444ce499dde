"""Single steps, against loops that are written out here."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import SGD

from dartboard.arch.gradient import ClippedRewards, FirstOrder
from dartboard.engine.step import Stepper, check_finite
from dartboard.errors import DivergedError
from helpers.search_cases import batch, random_objective, state

JOINT = pytest.mark.parametrize("gradient", [FirstOrder(), ClippedRewards(0.1)], ids=["first", "rewards"])
ARCH = "relaxation.cells.cell.ops"


def stepper(objective, gradient=None, **more) -> Stepper:
    """Weights and architecture both move by plain descent."""
    update = SGD(objective.relaxation.arch_parameters(), 0.5)
    return Stepper(
        objective, SGD(objective.weights, 0.1, momentum=0.9), gradient or FirstOrder(), update, **more
    )


def moved(objective, before) -> dict[str, Tensor]:
    """How far everything has gone that has moved at all."""
    return {
        key: value - before[key]
        for key, value in state(objective).items()
        if not torch.equal(value, before[key])
    }


def kept(objective) -> dict[str, Tensor]:
    return {key: value.clone() for key, value in state(objective).items()}


def test_a_step_of_the_architecture_moves_nothing_else():
    objective = random_objective()
    before = kept(objective)
    loss = objective.loss(batch(1))[0]
    (slope,) = torch.autograd.grad(loss, objective.relaxation.arch_parameters())
    objective.net.load_state_dict(
        {key.removeprefix("net."): v for key, v in before.items() if key.startswith("net.")}
    )
    found = stepper(objective).arch_step(batch(0), batch(1))
    torch.testing.assert_close(found, loss.detach())
    change = moved(objective, before)
    assert change.keys() == {ARCH}
    torch.testing.assert_close(change[ARCH], -0.5 * slope)
    assert all(
        values.grad is None for values in (*objective.relaxation.arch_parameters(), *objective.weights)
    )


def by_hand(objective, given, clip=None) -> list[Tensor]:
    """The weights after one step of a loop as everybody writes it, on a copy."""
    net, relaxation = deepcopy((objective.net, objective.relaxation))
    weights = list(net.parameters())
    optimizer = SGD(weights, 0.1, momentum=0.9)
    torch.nn.functional.cross_entropy(net(given[0], relaxation()), given[1]).backward()
    if clip:
        torch.nn.utils.clip_grad_norm_(weights, clip)
    optimizer.step()
    return [weight.detach() for weight in weights]


@pytest.mark.parametrize("clip", [0.0, 0.01, 1e6])
def test_a_step_of_the_weights_is_the_usual_one(clip):
    objective = random_objective()
    before, expected = kept(objective), by_hand(objective, batch(0), clip)
    loss, logits = stepper(objective, clip=clip).weight_step(batch(0))
    for weight, own in zip(objective.weights, expected, strict=True):
        torch.testing.assert_close(weight.detach(), own, rtol=1e-12, atol=1e-14)
    assert ARCH not in moved(objective, before)
    assert any(key.endswith("running_mean") for key in moved(objective, before))
    assert not loss.requires_grad
    assert logits.shape == (4, 5)
    assert all(
        values.grad is None for values in (*objective.relaxation.arch_parameters(), *objective.weights)
    )
    assert all(values.requires_grad for values in objective.relaxation.arch_parameters())


def test_the_limit_is_the_length_of_the_step():
    objective = random_objective()
    before = kept(objective)
    stepper(objective, clip=0.01).weight_step(batch(0))
    change = [own.flatten() for key, own in moved(objective, before).items() if "running" not in key]
    steps = torch.cat([own for own in change if own.dtype == torch.float64])
    assert steps.norm().item() == pytest.approx(0.1 * 0.01, rel=1e-3)


def test_pieces_make_the_same_step_where_no_norm_couples_them():
    whole, parts = random_objective(), random_objective()
    for objective in (whole, parts):
        objective.net.eval()
    parts.micro_batches = 2
    results = [stepper(objective).weight_step(batch(0, 5)) for objective in (whole, parts)]
    torch.testing.assert_close(*results)
    torch.testing.assert_close(state(whole), state(parts))


@JOINT
def test_a_joint_step_is_both_steps_from_one_place(gradient):
    both, arch, weights = (random_objective(relax="simplex") for _ in range(3))
    start = kept(both)
    found = stepper(both, gradient).joint_step(batch(0))
    stepper(arch, gradient).arch_step(batch(5), batch(0))
    expected = stepper(weights).weight_step(batch(0))
    torch.testing.assert_close(found, expected)
    assert moved(arch, start).keys() == {ARCH}
    torch.testing.assert_close(state(both), state(weights) | {ARCH: state(arch)[ARCH]})
    assert all(values.grad is None for values in (*both.relaxation.arch_parameters(), *both.weights))


# The guard


class Refusal(Exception):  # noqa: N818
    pass


class Guard:
    """Notes what it is shown, and refuses the last of it."""

    def __init__(self, refuse: int) -> None:
        self.seen, self.refuse = [], refuse

    def __call__(self, numbers) -> None:
        self.seen.append(set(numbers))
        if len(self.seen) == self.refuse:
            raise Refusal


@pytest.mark.parametrize(
    ("step", "arguments", "names"),
    [
        ("arch_step", (batch(0), batch(1)), {"loss of the architecture"}),
        ("weight_step", (batch(0),), {"loss", "norm of the gradient"}),
        ("joint_step", (batch(0),), {"loss", "norm of the gradient"}),
    ],
)
def test_the_guard_looks_before_anything_moves(step, arguments, names):
    objective, guard = random_objective(), Guard(refuse=1)
    before = kept(objective)
    with pytest.raises(Refusal):
        getattr(stepper(objective, clip=5.0, guard=guard), step)(*arguments)
    assert guard.seen == [names]
    assert all("running" in key or "tracked" in key for key in moved(objective, before))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_the_gradient_to_blame_is_named(bad):
    """Clipping by a norm that is not a number would spread it over all gradients."""
    objective = random_objective()
    name, weight = list(objective.net.named_parameters())[7]
    weight.register_hook(lambda slope: slope * bad)
    guard = lambda numbers: check_finite(objective, numbers, epoch=0, step=3)  # noqa: E731
    with pytest.raises(DivergedError, match=f"the gradient of weight {name} is not finite"):
        stepper(objective, clip=5.0, guard=guard).weight_step(batch(0))


# Half precision


def single(**more):
    return random_objective(relax="simplex", dtype=torch.float32, **more)


def given(seed):
    return batch(seed, dtype=torch.float32)


def pace(objective, step, gradient, scaler=None):
    """Two steps of one kind, with or without a scaler."""
    steps = stepper(objective, gradient, clip=1.0, scaler=scaler)
    for seed in (0, 1):
        getattr(steps, step)(*((given(5),) if step == "arch_step" else ()), given(seed))


@JOINT
@pytest.mark.parametrize("step", ["arch_step", "weight_step", "joint_step"])
def test_a_scaler_makes_no_difference_in_single_precision(step, gradient):
    plain, scaled = single(), single()
    pace(plain, step, gradient)
    pace(scaled, step, gradient, GradScaler("cpu", init_scale=1024.0))
    torch.testing.assert_close(state(scaled), state(plain), rtol=1e-5, atol=1e-6)


@JOINT
@pytest.mark.parametrize("step", ["weight_step", "joint_step"])
def test_what_overflows_is_skipped_and_the_scale_halves(step, gradient):
    objective = single()
    before, scaler = kept(objective), GradScaler("cpu", init_scale=1024.0)
    objective.weights[3].register_hook(lambda slope: slope * float("inf"))
    steps = stepper(objective, gradient, clip=1.0, scaler=scaler)
    getattr(steps, step)(given(0))
    assert all("running" in key or "tracked" in key for key in moved(objective, before))
    assert scaler.get_scale() == 512


def test_half_precision_steps_are_close_to_full_ones():
    full, half = single(), single(precision=torch.float16)
    start = kept(full)
    pace(full, "weight_step", FirstOrder())
    pace(half, "weight_step", FirstOrder(), GradScaler("cpu", init_scale=1024.0))
    for key, change in moved(full, start).items():
        if change.dtype == torch.float32:
            assert (state(half)[key] - state(full)[key]).abs().max() < 0.2 * max(change.abs().max(), 0.05)
    assert not torch.equal(state(half)["net.head.linear.weight"], state(full)["net.head.linear.weight"])
