import copy
import io
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from dartboard.arch.optim import ExponentiatedGradient, exponentiated_gradient_
from dartboard.arch.optim.exponentiated_gradient import (
    drop_,
    exponentiate,
    gradient_spread,
    log_choices,
    normalize_logs,
    read_logs,
    regret_lr,
    shift_logs,
    write_logs_,
)
from dartboard.errors import UpdateError

SEEDS = st.integers(0, 10**6)
DEAD = -math.inf


def draw(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def simplex(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> nn.Parameter:
    return nn.Parameter(draw(seed, *shape, dtype=dtype).softmax(-1))


def uniform(*shape: int, dtype: torch.dtype = torch.float64) -> nn.Parameter:
    return nn.Parameter(torch.full(shape, 1 / shape[-1], dtype=dtype))


def run(theta: nn.Parameter, optimizer: torch.optim.Optimizer, gradients) -> torch.Tensor:
    for gradient in gradients:
        theta.grad = torch.as_tensor(gradient, dtype=theta.dtype).expand_as(theta).clone()
        optimizer.step()
    return theta.detach().clone()


@given(SEEDS, st.integers(1, 40), st.floats(0.001, 2), st.booleans())
@settings(max_examples=40, deadline=None)
def test_constant_gradients_have_a_closed_form(seed, steps, lr, maximize):
    theta, gradient = simplex(seed, 3, 5), draw(seed + 1, 3, 5)
    sign = 1 if maximize else -1
    expected = theta.detach() * torch.exp(sign * lr * steps * gradient)
    expected /= expected.sum(-1, keepdim=True)
    end = run(theta, ExponentiatedGradient([theta], lr, maximize=maximize), [gradient] * steps)
    torch.testing.assert_close(end, expected)


@given(SEEDS)
@settings(max_examples=25, deadline=None)
def test_it_adds_up_gradients_of_the_weights_in_logits(seed):
    """That is theta = softmax(alpha), alpha <- alpha - lr * dL/dtheta; DARTS would take dL/dalpha."""
    theta = simplex(seed, 2, 4)
    alpha = theta.detach().log() + draw(seed + 1, 2, 1)  # a shift of a row of logits changes nothing
    optimizer = ExponentiatedGradient([theta], 0.3)
    matrix = draw(seed + 2, 4, 4)
    for _ in range(10):
        optimizer.zero_grad()
        (theta @ matrix).tanh().sum().backward()
        optimizer.step()
        weights = alpha.softmax(-1).requires_grad_()
        (slope,) = torch.autograd.grad((weights @ matrix).tanh().sum(), weights)
        alpha = alpha - 0.3 * slope
    torch.testing.assert_close(theta.detach(), alpha.softmax(-1))


@given(
    SEEDS,
    st.floats(0, 50),
    st.sampled_from([0.0, 1e-5, 0.1]),
    st.sampled_from([torch.float32, torch.float64]),
)
@settings(max_examples=40, deadline=None)
def test_rows_stay_on_the_simplex(seed, lr, floor, dtype):
    theta = simplex(seed, 2, 3, 6, dtype=dtype)
    optimizer = ExponentiatedGradient([theta], lr, floor=floor)
    for step in range(20):
        run(theta, optimizer, [draw(seed + step, 2, 3, 6, dtype=dtype) * 10])
        assert (theta >= 0).all()
        torch.testing.assert_close(theta.sum(-1), torch.ones(2, 3, dtype=dtype))


def test_it_is_the_argument_of_the_minimum_that_defines_mirror_descent():
    """GAEA equation 5, checked by the optimality condition on the simplex."""
    theta, gradient = simplex(0, 6), draw(1, 6)
    before = theta.detach().clone()
    after = run(theta, ExponentiatedGradient([theta], 0.7), [gradient])
    multiplier = 0.7 * gradient + (after / before).log()
    torch.testing.assert_close(multiplier, multiplier.mean().expand(6))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_a_million_steps_do_does_not_underflow(dtype):
    """A thousand steps with the gradient of a thousand: log weights of -1e5, and all the way back."""
    theta = uniform(4, dtype=dtype)
    optimizer = ExponentiatedGradient([theta], 0.1)
    gradient = torch.tensor([1000.0, 500.0, 1.0, 0.0])
    end = run(theta, optimizer, [gradient] * 1000)
    assert end.tolist()[:2] == [0, 0]
    assert optimizer.state[theta]["log_weight"][0].item() == pytest.approx(-1e5, rel=1e-4)
    back = run(theta, optimizer, [-gradient] * 1000)
    torch.testing.assert_close(
        back, torch.full_like(back, 0.25), rtol=0.05 if dtype == torch.float32 else 1e-6, atol=0
    )


@pytest.mark.slow
def test_a_million_steps_do_not_underflow():
    theta, state, gradient = torch.full((4,), 0.25), {}, torch.tensor([1.0, 0.5, 0.001, 0.0])
    for _ in range(10**6):
        exponentiated_gradient_(theta, gradient, state, lr=0.1)
    assert theta.tolist() == pytest.approx([0, 0, 0, 1])
    assert state["log_weight"].isfinite().all()
    for _ in range(2000):
        exponentiated_gradient_(theta, -1000 * gradient, state, lr=0.1)
    assert theta.tolist() == pytest.approx([1, 0, 0, 0])


def test_a_step_never_waits_for_the_device():
    """Meta tensors have no values: whatever would have to read one on the host raises."""
    theta, gradient = torch.empty(3, 4, device="meta"), torch.empty(3, 4, device="meta")
    state = {}
    for _ in range(2):
        exponentiated_gradient_(theta, gradient, state, lr=0.1, floor=0.01, maximize=True)
    assert state["log_weight"].shape == (3, 4)


def test_dead_entries_stay_zero_whatever_their_gradient():
    theta = nn.Parameter(torch.tensor([[0.0, 0.25, 0.75], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]))
    optimizer = ExponentiatedGradient([theta], 1.0, floor=0.01)
    run(theta, optimizer, [torch.tensor([-50.0, 0.0, 0.0])])
    theta.grad = torch.tensor([[math.nan, 0.0, 1.0], [1.0, 0.0, -math.inf], [-9.0, 0.0, 1.0]])
    optimizer.step()
    assert theta[0, 0] == theta[1, 2] == 0
    assert theta[2].tolist() == [0, 0, 0]
    assert theta.sum(-1).tolist() == pytest.approx([1, 1, 0])


def test_an_entry_set_to_zero_from_outside_is_dead_and_the_others_share_its_weight():
    theta = uniform(4)
    optimizer = ExponentiatedGradient([theta], 0.1)
    run(theta, optimizer, [torch.zeros(4)])
    with torch.no_grad():
        theta[1] = 0
    end = run(theta, optimizer, [torch.tensor([0.0, -1e6, 0.0, 0.0])])
    torch.testing.assert_close(end, torch.tensor([1, 0, 1, 1], dtype=torch.float64) / 3)


def test_a_parameter_loaded_without_its_optimizer_wins():
    theta, other = simplex(0, 3, 4), simplex(1, 3, 4)
    optimizer = ExponentiatedGradient([theta], 0.1)
    run(theta, optimizer, draw(2, 5, 3, 4))
    with torch.no_grad():
        theta.copy_(other)
    gradient = draw(3, 3, 4)
    end = run(theta, optimizer, [gradient])
    torch.testing.assert_close(end, run(other, ExponentiatedGradient([other], 0.1), [gradient]))


def test_drop_kills_for_good():
    theta = uniform(2, 3)
    optimizer = ExponentiatedGradient([theta], 1.0)
    run(theta, optimizer, [torch.tensor([800.0, 0.0, 0.0])])
    optimizer.drop(theta, torch.tensor([[True, False, False], [False, True, False]]))
    assert theta.tolist() == [[0, 0.5, 0.5], [0, 0, 1]]
    end = run(theta, optimizer, [torch.tensor([-1600.0, -1600.0, 0.0])])
    assert end.tolist() == [[0, 1, 0], [1, 0, 0]]  # only the entry that was dropped did not come back


def test_the_floor_is_taken_before_the_row_is_normalized():
    theta = nn.Parameter(torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64))
    end = run(theta, ExponentiatedGradient([theta], 1.0, floor=0.1), [torch.tensor([0.0, 9.0, 0.0])])
    torch.testing.assert_close(end, torch.tensor([5, 1, 2], dtype=torch.float64) / 8)


def test_a_weight_comes_back_sooner_from_a_floor():
    ends = []
    for floor in (0.0, 1e-5):
        theta = uniform(3)
        gradient = torch.tensor([1.0, 0.0, 0.0])
        optimizer = ExponentiatedGradient([theta], 1.0, floor=floor)
        ends.append(run(theta, optimizer, [gradient] * 50 + [-gradient] * 20)[0].item())
    assert ends[0] < 1e-12
    assert ends[1] > 0.9


def test_state_round_trips_bit_for_bit_through_a_file():
    theta = simplex(0, 3, 5, dtype=torch.float32)
    optimizer = ExponentiatedGradient([{"params": [theta], "lr": 0.4}], floor=1e-6)
    run(theta, optimizer, draw(1, 30, 3, 5) * 20)
    file = io.BytesIO()
    torch.save([theta, optimizer.state_dict()], file)
    file.seek(0)
    loaded, state = torch.load(file, weights_only=True)
    other = ExponentiatedGradient([loaded])
    other.load_state_dict(state)
    gradients = draw(2, 30, 3, 5) * 20
    assert torch.equal(run(loaded, other, gradients), run(theta, optimizer, gradients))
    assert torch.equal(other.state[loaded]["log_weight"], optimizer.state[theta]["log_weight"])
    assert other.param_groups[0]["lr"] == 0.4


def test_a_copy_goes_the_same_way():
    theta = simplex(0, 3, 5)
    optimizer = ExponentiatedGradient([theta])
    run(theta, optimizer, draw(1, 5, 3, 5))
    twin, rule = copy.deepcopy((theta, optimizer))
    gradients = draw(2, 5, 3, 5)
    assert torch.equal(
        run(rule.param_groups[0]["params"][0], rule, gradients), run(theta, optimizer, gradients)
    )
    assert twin is rule.param_groups[0]["params"][0]


def test_closure_is_called_with_gradients_and_its_loss_returned():
    theta = uniform(3)
    optimizer = ExponentiatedGradient([theta], 1.0)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = theta[0] * 3
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == pytest.approx(1)
    assert theta[0].item() == pytest.approx(1 / (1 + 2 * math.exp(3)))


def test_parameters_without_a_gradient_are_left_alone():
    moved, still = uniform(3), uniform(3)
    optimizer = ExponentiatedGradient([moved, still], 1.0)
    run(moved, optimizer, [torch.tensor([1.0, 0.0, 0.0])])
    assert still.tolist() == [1 / 3] * 3
    assert still not in optimizer.state


def test_schedules_move_the_step_size():
    theta = uniform(2)
    optimizer = ExponentiatedGradient([theta], 1.0)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(3):
        run(theta, optimizer, [torch.tensor([1.0, 0.0])])
        schedule.step()
    assert (theta[1] / theta[0]).log().item() == pytest.approx(1.75)


def test_the_functional_form_is_the_same_step():
    theta, gradients = simplex(0, 2, 3), draw(1, 4, 2, 3)
    plain, state = theta.detach().clone(), {}
    for gradient in gradients:
        exponentiated_gradient_(plain, gradient, state, lr=0.2, floor=1e-3, maximize=True)
    optimizer = ExponentiatedGradient([theta], 0.2, floor=1e-3, maximize=True)
    assert torch.equal(run(theta, optimizer, gradients), plain)


def test_gradients_flow_through_the_pure_step():
    logs, gradient = simplex(0, 5).detach().log(), draw(1, 5)
    slope = torch.autograd.functional.jacobian(lambda g: exponentiate(logs, g, lr=0.1).exp(), gradient)
    assert slope.isfinite().all()
    assert (slope.diagonal() < 0).all()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lr": -0.1}, "lr must be a number >= 0, got -0.1"),
        ({"lr": math.nan}, "got nan"),
        ({"lr": "0.1"}, "got '0.1'"),
        ({"floor": -1e-9}, "floor must be a number >= 0 and below 1 / N = 0.25, got -1e-09"),
        ({"floor": 0.25}, "got 0.25"),
    ],
)
def test_numbers_out_of_range_are_refused_with_their_value(options, text):
    with pytest.raises(UpdateError, match=text.replace("(", r"\(")):
        ExponentiatedGradient([uniform(4)], **options)


@pytest.mark.parametrize(
    ("theta", "text"),
    [
        (torch.tensor([0.5, 0.6, -0.1]), "must be >= 0, got -0.1"),
        (torch.tensor([[0.5, 0.5], [1.0, 1.0]]), "sum to 1, got a row with sum 2"),
        (torch.tensor(1.0), r"shape \(\)"),
        (torch.tensor([0.5, 0.5]).bfloat16(), "torch.bfloat16"),
        (torch.tensor([0.5, math.nan]), "got nan"),
    ],
)
def test_parameters_off_the_simplex_are_refused(theta, text):
    with pytest.raises(UpdateError, match=text):
        ExponentiatedGradient([nn.Parameter(theta)])


def test_a_refused_group_leaves_the_optimizer_as_it_was():
    optimizer = ExponentiatedGradient([uniform(4)])
    with pytest.raises(UpdateError):
        optimizer.add_param_group({"params": [uniform(4)], "lr": -1.0})
    assert len(optimizer.param_groups) == 1


# Log space


def test_normalized_rows_sum_to_one_and_dead_rows_stay_dead():
    logs = torch.tensor([[0.0, -800.0, DEAD], [DEAD, DEAD, DEAD], [5.0, 5.0, 5.0]], dtype=torch.float64)
    normal = normalize_logs(logs)
    assert normal.exp().sum(-1).tolist() == [1.0, 0.0, 1.0]
    assert normal[0].tolist() == [0.0, -800.0, DEAD]


def test_a_number_that_is_none_is_not_hidden():
    assert normalize_logs(torch.tensor([0.0, math.nan])).isnan().all()
    assert normalize_logs(torch.tensor([math.nan, math.nan])).isnan().all()


def test_dead_entries_do_not_move():
    by = torch.tensor([1.0, math.inf, math.nan, 2.0])
    assert shift_logs(torch.tensor([0.0, DEAD, DEAD, DEAD]), by).tolist() == [1.0, DEAD, DEAD, DEAD]


def test_what_was_written_is_recalled_and_what_was_changed_is_read():
    theta, state = torch.zeros(3), {}
    logs = torch.tensor([-1000.0, math.log(0.5), math.log(0.5)])
    write_logs_(theta, logs, state)
    assert theta[0] == 0
    assert torch.equal(read_logs(theta, state), logs)
    theta[1] = 0
    assert read_logs(theta, state).tolist() == [-1000.0, DEAD, logs[2].item()]


def test_drop_reaches_an_entry_that_was_rounded_to_zero():
    theta, state = torch.zeros(3), {}
    write_logs_(theta, torch.tensor([-1000.0, math.log(0.25), math.log(0.75)]), state)
    drop_(theta, torch.tensor([True, True, False]), state)
    assert theta.tolist() == [0, 0, 1]
    assert read_logs(theta, state).tolist() == [DEAD, DEAD, 0]


# A step size by theory


def by_numpy(theta, gradient):
    """Variance summed over rows, and the largest distance from a mean, one row at a time."""
    variance, largest = 0.0, 0.0
    for weights, values in zip(theta.tolist(), gradient.tolist(), strict=True):
        alive = [(weight, value) for weight, value in zip(weights, values, strict=True) if weight > 0]
        mean = sum(weight * value for weight, value in alive)
        variance += sum(weight * (value - mean) ** 2 for weight, value in alive)
        largest = max(largest, *(abs(value - mean) for _, value in alive))
    return variance, largest


@given(SEEDS, st.floats(-5, 5))
@settings(max_examples=25, deadline=None)
def test_variances_are_those_of_single_rows_and_shifts_change_nothing(seed, shift):
    theta, gradient = simplex(seed, 3, 5).detach(), draw(seed + 1, 3, 5)
    theta[1, 2] = 0
    theta /= theta.sum(-1, keepdim=True)
    gradient[1, 2] = 1e9  # what is dead does not count
    variance, largest = by_numpy(theta, gradient)
    for values in (gradient, gradient + shift):
        assert tuple(map(float, gradient_spread(theta, values))) == pytest.approx((variance, largest))
    assert float(log_choices(theta)) == pytest.approx(2 * math.log(5) + math.log(4))


@given(st.integers(2, 9), st.integers(1, 1000), st.floats(0.01, 10))
@settings(max_examples=25, deadline=None)
def test_the_step_size_minimizes_the_bound(experts, horizon, variance):
    def bound(lr):
        return math.log(experts) / lr + lr * horizon * variance / 2

    lr = float(regret_lr(*map(torch.tensor, (math.log(experts), variance, 1e-9)), horizon))
    assert bound(lr) <= min(bound(lr * factor) for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2))
    assert float(regret_lr(*map(torch.tensor, (math.log(experts), variance, 1e9)), horizon)) == pytest.approx(
        1e-9
    )


@given(SEEDS, st.integers(2, 8), st.integers(1, 60), st.floats(0.05, 1))
@settings(max_examples=60, deadline=None)
def test_regret_is_within_the_bound_of_second_order(seed, experts, steps, caution):
    """It is at most ln N / eta + (e - 2) eta sum V if no step moves a log weight by more than one: a theorem.

    exp(-x) <= 1 - x + (e - 2) x^2 for x >= -1, so that each round adds at most (e - 2) eta^2 V to the log of
    the sum of weights.
    """
    gradients = draw(seed, steps, experts) * draw(seed + 1, experts).exp()
    lr = caution / float((gradients.amax(-1) - gradients.amin(-1)).max())
    theta = uniform(experts)
    rule, loss, variances = ExponentiatedGradient([theta], lr), 0.0, 0.0
    for gradient in gradients:
        loss += float(theta.detach() @ gradient)
        variances += float(gradient_spread(theta.detach(), gradient)[0])
        run(theta, rule, [gradient])
    regret = loss - float(gradients.sum(0).min())
    assert regret <= math.log(experts) / lr + (math.e - 2) * lr * variances + 1e-9


def test_without_a_step_size_it_follows_the_gradients_of_the_start_and_stays():
    first, second, horizon, measured = uniform(3, 5), uniform(1, 4), 40, 4
    rule = ExponentiatedGradient([first, second], None, horizon=horizon, measured=measured)
    assert rule.lr(rule.param_groups[0]) == 0
    variances, largest, rates = [], 0.0, []
    choices = 3 * math.log(5) + math.log(4)
    logs = [first.detach().log(), second.detach().log()]
    for step in range(8):
        first.grad, second.grad = draw(step, 3, 5) / (1 + step), draw(step + 50, 1, 4)
        if step < measured:
            pairs = [by_numpy(theta.detach(), theta.grad) for theta in (first, second)]
            variances.append(sum(variance for variance, _ in pairs))
            largest = max(largest, *(most for _, most in pairs))
        mean = sum(variances) / len(variances)
        rates.append(min(math.sqrt(2 * choices / (horizon * mean)), 1 / largest))
        logs = [log - rates[-1] * theta.grad for log, theta in zip(logs, (first, second), strict=True)]
        rule.step()
        assert rule.facts() == {"arch_lr": pytest.approx(rates[-1])}
        for log, theta in zip(logs, (first, second), strict=True):
            torch.testing.assert_close(theta.detach(), log.softmax(-1))
    assert len(set(rates[:measured])) == measured
    assert len(set(rates[measured - 1 :])) == 1


def test_a_tenth_of_the_steps_is_measured_unless_it_is_told_how_many():
    theta = uniform(4)
    rule = ExponentiatedGradient([theta], None, horizon=35)
    run(theta, rule, draw(0, 10, 4))
    assert rule.param_groups[0]["seen"] == 3


def test_a_measured_step_size_round_trips_bit_for_bit():
    theta, gradients = uniform(2, 4), draw(0, 9, 2, 4)
    rule = ExponentiatedGradient([theta], None, horizon=50)
    run(theta, rule, gradients[:3])
    other = nn.Parameter(theta.detach().clone())
    again = ExponentiatedGradient([other], None, horizon=50)
    file = io.BytesIO()
    torch.save(rule.state_dict(), file)
    file.seek(0)
    again.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(run(theta, rule, gradients[3:]), run(other, again, gradients[3:]))
    assert rule.facts() == again.facts()


def test_gradients_of_zero_and_dead_rows_leave_the_step_size_a_number():
    theta = nn.Parameter(torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    rule = ExponentiatedGradient([theta], None, horizon=10)
    run(theta, rule, [torch.zeros(2, 3)])
    assert theta.tolist() == [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
    assert rule.facts() == {"arch_lr": 0.0}


def test_a_measured_step_never_waits_for_the_device():
    """Meta tensors have no values: whatever would have to read one on the host raises."""
    theta, gradient = torch.empty(3, 4, device="meta"), torch.empty(3, 4, device="meta")
    lr = regret_lr(log_choices(theta), *gradient_spread(theta, gradient), 30)
    assert lr.shape == ()
    exponentiated_gradient_(theta, gradient, {}, lr=lr)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "horizon must be a whole number >= 1, got None"),
        ({"horizon": 0}, "horizon must be a whole number >= 1, got 0"),
        ({"horizon": 5, "measured": 0}, "measured must be a whole number >= 1, got 0"),
    ],
)
def test_a_step_size_by_theory_needs_to_know_how_many_steps(options, text):
    with pytest.raises(UpdateError, match=text):
        ExponentiatedGradient([uniform(3)], None, **options)
