import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard.arch.optim.expert_advice import theoretical_lr
from dartboard.errors import OptionError, UnknownNameError
from dartboard_papers.theory.expert_problems import PROBLEMS, Adversary, Coins, Gaussian, LateBloomer
from dartboard_papers.theory.forecasters import Forecaster, contest, race, stand, usual
from dartboard_papers.theory.regret import best_regret_bound, linear_regret, play

SEEDS = st.integers(0, 10**6)


def drawn(problem, horizon: int) -> torch.Tensor:
    """All rewards of a problem that does not answer the forecaster, [T, R, N]."""
    return torch.stack([problem.rewards(step, torch.empty(0)) for step in range(horizon)])


@given(SEEDS, st.sampled_from(["coins", "late-bloomer"]))
@settings(max_examples=10, deadline=None)
def test_xnas_is_algorithm_1(seed, name):
    """Regrets and survivors against the game in `dartboard_papers.theory.regret`, which keeps every round."""
    size, horizon = (4, 5), 40
    lr = theoretical_lr(5, horizon)
    outcome = contest(PROBLEMS[name](*size, horizon, seed=seed), Forecaster(lr, 1.0, wipes=True))
    rewards = drawn(PROBLEMS[name](*size, horizon, seed=seed), horizon)
    game = play(lambda step, _: rewards[step], torch.zeros(size), horizon, lr=lr)
    torch.testing.assert_close(
        outcome.regret, linear_regret(game.weights, game.rewards), atol=1e-4, rtol=1e-4
    )
    assert outcome.left.tolist() == (game.log_weights > -math.inf).sum(-1).tolist()


@given(SEEDS)
@settings(max_examples=5, deadline=None)
def test_gd_descends_in_the_logits(seed):
    """Against torch's SGD on logits whose softmax mixes the rewards."""
    horizon = 15
    outcome = contest(Gaussian(3, 4, horizon, seed=seed), Forecaster(0.3, softmax=True))
    problem = Gaussian(3, 4, horizon, seed=seed)
    rewards, logits = drawn(problem, horizon), torch.zeros(3, 4, requires_grad=True)
    optimizer, earned = torch.optim.SGD([logits], 0.3), torch.zeros(3)
    for own in rewards:
        optimizer.zero_grad()
        gains = (logits.softmax(-1) * own).sum(-1)
        (-gains.sum()).backward()
        optimizer.step()
        earned += gains.detach()
    torch.testing.assert_close(outcome.regret, rewards.sum(0).amax(-1) - earned, atol=1e-4, rtol=1e-4)
    assert outcome.correct.tolist() == (logits.argmax(-1) == problem.values.argmax(-1)).tolist()


@pytest.mark.parametrize("name", ["coins", "late-bloomer", "adversary"])
def test_no_run_of_xnas_is_above_its_bound(name):
    horizon, experts = 200, 6
    forecaster = usual(experts, horizon, 1.0)["XNAS"]
    outcome = contest(PROBLEMS[name](50, experts, horizon), forecaster)
    assert outcome.regret.max().item() <= best_regret_bound(experts, horizon)


def test_regret_with_fair_coins_is_near_the_lower_bound():
    """The best of N walks is ahead by about sqrt(2 T ln N), and nobody can foresee which."""
    experts, horizon = 32, 300
    outcome = contest(Coins(400, experts, horizon), usual(experts, horizon, 1.0)["XNAS"])
    assert 0.6 < outcome.regret.mean().item() / math.sqrt(2 * horizon * math.log(experts)) <= 1
    assert outcome.correct is None


def test_late_bloomers_are_found_by_xnas_and_lost_by_gd():
    horizon, experts = 200, 4
    for seed in range(3):
        problem = LateBloomer(20, experts, horizon, seed=seed)
        assert contest(problem, Forecaster(0.3, 1.0, wipes=True)).correct.all()
        lost = contest(LateBloomer(20, experts, horizon, seed=seed), Forecaster(3.0, 1.0, softmax=True))
        assert not lost.correct.all()


def test_the_adversary_pays_the_leader_least():
    paid = Adversary(1, 3, 5).rewards(0, torch.tensor([[0.2, 0.5, 0.3]]))
    assert paid.tolist() == [[1.0, -1.0, 1.0]]


def test_forecasters_see_the_same_draws():
    """At rate 0 nobody learns, and all have the same regret to the last bit."""
    idle = [Forecaster(0.0), Forecaster(0.0, 2.0, softmax=True)]
    one, other = (contest(Gaussian(5, 3, 20, seed=1), own).regret for own in idle)
    assert torch.equal(one, other)
    assert not torch.equal(one, contest(Gaussian(5, 3, 20, seed=2), idle[0]).regret)


@pytest.mark.parametrize("change", [{"lr": 0.2}, {"bound": 0.5}, {"softmax": True}, {"wipes": True}])
def test_every_number_of_a_forecaster_counts(change):
    usual_one = {"lr": 0.1, "bound": 2.0}
    one = contest(Gaussian(20, 4, 60), Forecaster(**usual_one))
    other = contest(Gaussian(20, 4, 60), Forecaster(**{**usual_one, **change}))
    assert not torch.equal(one.regret, other.regret)


def test_a_standing_is_the_mean_over_runs():
    outcome = contest(Gaussian(10, 4, 30), Forecaster(0.1))
    found = stand("EG", Gaussian(10, 4, 30), Forecaster(0.1))
    assert (found.forecaster, found.experts, found.lr) == ("EG", 4, 0.1)
    assert found.regret == pytest.approx(outcome.regret.mean().item())
    assert found.error == pytest.approx(outcome.regret.std().item() / math.sqrt(10))
    assert found.correct == pytest.approx(outcome.correct.double().mean().item())


def test_where_nobody_is_the_best_nobody_can_be_selected_and_one_run_has_no_error():
    for kind in (Coins, Adversary):
        found = stand("EG", kind(1, 4, 10), Forecaster(0.1))
        assert (found.correct, found.error) == (None, None)


def test_a_race_has_every_forecaster_at_every_size():
    told = []
    found = race("gaussian", [2, 8], runs=20, horizon=50, noise=2.0, tell=lambda *own: told.append(own))
    assert [(own.forecaster, own.experts) for own in found.standings] == [
        (name, count) for count in (2, 8) for name in ("XNAS", "EG", "GD with softmax")
    ]
    bound = 3 * math.sqrt(5)
    assert found.bounds == {count: best_regret_bound(count, 50, bound) for count in (2, 8)}
    assert found.standings[3].lr == theoretical_lr(8, 50, bound)
    assert told[-1] == ("expert problems", 5, 6)


@pytest.mark.parametrize(
    "change", [{"noise": 1.0}, {"lr": 0.3}, {"seed": 1}, {"runs": 10}, {"horizon": 20}, {"problem": "coins"}]
)
def test_every_option_of_a_race_counts(change):
    numbers = {"problem": "gaussian", "experts": [3], "runs": 12, "horizon": 30}
    noise = {} if "problem" in change else {"noise": 2.0}
    one, other = race(**numbers, noise=2.0), race(**{**numbers, **noise, **change})
    assert one.standings[0].regret != other.standings[0].regret


def test_mistakes_are_named():
    with pytest.raises(OptionError, match="rewards of 'coins' have no noise to set"):
        race("coins", [2], runs=2, horizon=2, noise=1.0)
    with pytest.raises(UnknownNameError, match="did you mean 'coins'"):
        race("coin", [2], runs=2, horizon=2)
