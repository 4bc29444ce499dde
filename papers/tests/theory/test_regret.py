import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard.arch.optim.expert_advice import expert_rewards, theoretical_lr
from dartboard.errors import UpdateError
from dartboard_papers.theory.regret import (
    Game,
    best_expert,
    best_regret_bound,
    expected_loss,
    linear_regret,
    log_wipeout_factor,
    play,
    regret,
    regret_bound,
)

SEEDS = st.integers(0, 10**6)
OUT = -math.inf


def start(experts: int) -> torch.Tensor:
    return torch.zeros(experts, dtype=torch.float64)


def random_rewards(seed: int, horizon: int, experts: int) -> torch.Tensor:
    """Rewards in [-1, 1] with a drift of its own for each expert, many of them at the bounds."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(horizon, experts, generator=generator, dtype=torch.float64)
    drift = torch.randn(experts, generator=generator, dtype=torch.float64)
    return (noise + drift).clamp(-1, 1)


def comeback(horizon: int, experts: int) -> torch.Tensor:
    """The adversary: expert 0 gets the worst for not quite half of the time, then the best to the end."""
    turn = (horizon - 1) // 2
    rewards = torch.ones(horizon, experts, dtype=torch.float64)
    rewards[:turn, 0], rewards[turn:, 1:] = -1, -1
    return rewards


def chase(_: int, weights: torch.Tensor) -> torch.Tensor:
    """The adversary that looks: the heaviest expert is punished, the others rewarded."""
    return torch.where(weights == weights.max(), -1.0, 1.0)


def against(rewards: torch.Tensor, **numbers: float) -> Game:
    lr = numbers.pop("lr", theoretical_lr(rewards.shape[-1], len(rewards)))
    return play(lambda t, _: rewards[t], start(rewards.shape[-1]), len(rewards), lr=lr, **numbers)


def shortfall(game: Game) -> float:
    """By how much the best sum of rewards exceeds the best among the experts that are left."""
    totals = game.rewards.sum(0)
    return (totals.max() - totals[game.log_weights > OUT].max()).item()


@given(SEEDS, st.integers(1, 60), st.integers(2, 9), st.floats(0.01, 2))
@settings(max_examples=60, deadline=None)
def test_the_best_expert_in_hindsight_is_never_dropped(seed, horizon, experts, lr):
    """XNAS Lemma 1."""
    game = against(random_rewards(seed, horizon, experts), lr=lr)
    assert shortfall(game) < 1e-9


@given(st.integers(3, 80), st.integers(2, 6), st.floats(0.01, 3))
@settings(max_examples=40, deadline=None)
def test_it_survives_the_longest_possible_way_back(horizon, experts, lr):
    game = against(comeback(horizon, experts), lr=lr)
    assert game.rewards.sum(0).argmax() == 0
    assert game.log_weights[0] > OUT


@pytest.mark.parametrize("experts", [2, 5])
def test_it_survives_an_adversary_that_looks(experts):
    game = play(chase, start(experts), 101, lr=0.3)
    assert shortfall(game) < 1e-9


def test_wipeout_does_drop_the_others():
    game = against(torch.tensor([[1.0, -1.0, 0.5]], dtype=torch.float64).expand(20, 3))
    assert game.weights[11, 1] == 0  # 11 rounds with a gap of 2 a round cannot be made up for in 9
    assert game.weights[9, 1] > 0  # 9 rounds can; at 10 it is a tie, and rounding decides
    assert (game.log_weights > OUT).tolist() == [True, False, False]


def test_a_smaller_zeta_drops_the_best():
    """Section 3.2.1: less than 1 is "a violation of the theoretical regret"."""
    assert shortfall(against(comeback(41, 3), zeta=0.9)) > 0
    assert shortfall(against(comeback(41, 3), zeta=1.0)) == 0


def test_more_feedbacks_than_the_horizon_drop_the_best():
    rewards = comeback(41, 3)
    game = play(lambda t, _: rewards[t], start(3), 30, lr=0.2)
    assert game.log_weights[0] == OUT  # the search would have to go on to 41 for it to win


def kinked(p: torch.Tensor) -> torch.Tensor:
    """A convex loss >= 0 with slope 1 down to a steep wall just before p = -1: 2 at p = 1, 3 at p = -1."""
    gap = 1e-9
    return torch.maximum(p + 1, 3 / gap * (gap - 1 - p))


def test_the_expert_with_the_smallest_loss_can_be_dropped():
    """Counterexample to Lemma 1 read with equation 2: best by loss and best by rewards are not the same."""
    predictions = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)

    def reward(_: int, weights: torch.Tensor) -> torch.Tensor:
        p = (weights @ predictions).requires_grad_()
        (slope,) = torch.autograd.grad(kinked(p).sum(), p)
        return expert_rewards(slope, predictions)

    horizon = 100
    game = play(reward, start(2), horizon, lr=theoretical_lr(2, horizon))
    dropped_at = (game.weights[:, 0] == 0).nonzero()[0].item()
    assert game.rewards[:dropped_at].abs().max() <= 1  # bounded rewards up to the wipeout
    losses = kinked(predictions).squeeze(-1).expand(horizon, 2)
    assert losses[0].tolist() == [2, pytest.approx(3)]
    assert best_expert(losses) == 0
    assert game.log_weights[0] == OUT
    assert dropped_at == 51


@given(SEEDS, st.integers(1, 60), st.integers(2, 9), st.floats(0.01, 2))
@settings(max_examples=60, deadline=None)
def test_the_wipeout_factor_is_between_one_and_the_number_of_experts(seed, horizon, experts, lr):
    """XNAS Lemma 2, with the sharper N / |I_T| of its proof."""
    game = against(random_rewards(seed, horizon, experts), lr=lr)
    factor, left = game.log_wipeout.exp().item(), (game.log_weights > OUT).sum().item()
    assert 1 - 1e-12 <= factor <= experts / left + 1e-9
    assert factor < experts


def test_the_wipeout_factor_comes_close_to_the_number_of_experts():
    """Nearly equal weights, dropped in the last round: the lemma has nothing to spare."""
    rewards = torch.tensor([[0.01, 0, 0, 0]], dtype=torch.float64)
    assert 3.9 < against(rewards, lr=0.1).log_wipeout.exp() < 4


def test_a_single_expert_has_a_wipeout_factor_of_one():
    """Lemma 2's strict inequality needs two experts."""
    assert against(torch.ones(5, 1, dtype=torch.float64), lr=0.1).log_wipeout.exp() == 1


def test_the_wipeout_factor_by_hand():
    before = torch.tensor([4.0, 2.0, 1.0, 1.0]).log()
    after = torch.where(before < 1.0, OUT, before)
    assert log_wipeout_factor(before, after).exp().item() == pytest.approx(1 + 4 / 4)


def convex_losses(seed: int, size: int):
    """A random convex loss on the unit ball with gradients of length at most 1, one for each round."""
    generator = torch.Generator().manual_seed(seed)

    def make(t: int):
        normal = torch.randn(4, size, generator=generator, dtype=torch.float64)
        normal /= normal.norm(dim=-1, keepdim=True)
        offset = torch.rand(4, generator=generator, dtype=torch.float64)
        kind = t % 3
        if kind == 0:  # the largest of four affine functions
            return lambda p: (p @ normal.T + offset).amax(-1) + 2
        if kind == 1:  # half the squared distance from a point, scaled to slopes of at most 1
            return lambda p: ((p - normal[0]) ** 2).sum(-1) / 4
        return lambda p: torch.nn.functional.softplus(p @ normal.T).mean(-1)

    return make


def forecast(seed: int, horizon: int, experts: int, lr: float) -> tuple[Game, torch.Tensor, torch.Tensor]:
    """A game on random convex losses; with the losses of the forecaster [T] and of the experts [T, N]."""
    make, size = convex_losses(seed, 3), 3
    generator = torch.Generator().manual_seed(seed + 1)
    own, others = [], []

    def reward(t: int, weights: torch.Tensor) -> torch.Tensor:
        predictions = torch.randn(experts, size, generator=generator, dtype=torch.float64)
        predictions /= predictions.norm(dim=-1, keepdim=True)
        loss, p = make(t), (weights @ predictions).requires_grad_()
        own.append(loss(p))
        others.append(loss(predictions))
        (slope,) = torch.autograd.grad(own[-1], p)
        return expert_rewards(slope, predictions)

    game = play(reward, start(experts), horizon, lr=lr)
    return game, torch.stack(own).detach(), torch.stack(others)


@given(SEEDS, st.integers(1, 30), st.integers(2, 6), st.floats(0.02, 2))
@settings(max_examples=40, deadline=None)
def test_the_regret_of_convex_losses_is_bounded(seed, horizon, experts, lr):
    """XNAS Theorem 1, equations 31 to 33, with the wipeout factor of the run."""
    game, own, others = forecast(seed, horizon, experts, lr)
    assert game.rewards.abs().max() <= 1 + 1e-12
    linear = linear_regret(game.weights, game.rewards).item()
    assert regret(own, others).item() <= linear + 1e-9
    assert linear <= regret_bound(experts, horizon, lr, 1.0, game.log_wipeout.item()) + 1e-9


@given(SEEDS, st.integers(1, 60), st.integers(2, 9))
@settings(max_examples=40, deadline=None)
def test_the_regret_is_bounded_at_the_theoretical_step_size(seed, horizon, experts):
    """XNAS equation 4, and that it is equation 3 at that step size."""
    game = against(random_rewards(seed, horizon, experts))
    log_factor = game.log_wipeout.item()
    bound = best_regret_bound(experts, horizon, 1.0, log_factor)
    assert linear_regret(game.weights, game.rewards).item() <= bound + 1e-9
    lr = theoretical_lr(experts, horizon)
    assert bound == pytest.approx(regret_bound(experts, horizon, lr, 1.0, log_factor))


def test_the_theoretical_step_size_minimizes_the_bound():
    lr = theoretical_lr(8, 1000, 2.0)
    best = regret_bound(8, 1000, lr, 2.0)
    assert best == pytest.approx(best_regret_bound(8, 1000, 2.0))
    assert best < min(regret_bound(8, 1000, lr * factor, 2.0) for factor in (0.9, 1.1))


def test_the_bound_is_of_the_right_size():
    """Fair coins against many experts reach a good part of it, so a bound half as large would be wrong."""
    generator = torch.Generator().manual_seed(0)
    coins = torch.randint(0, 2, (400, 50, 32), generator=generator).double() * 2 - 1
    lr = theoretical_lr(32, 400)
    game = play(lambda t, _: coins[t], torch.zeros(50, 32, dtype=torch.float64), 400, lr=lr)
    mean = linear_regret(game.weights, game.rewards).mean().item()
    assert 0.5 < mean / best_regret_bound(32, 400) < 1


def test_a_wrong_bound_would_be_found():
    """Rewards larger than they claim to be break the bound."""
    rewards = torch.tensor([[2.0, -2.0], [-2.0, 2.0]], dtype=torch.float64).repeat(50, 1)
    game = play(lambda t, _: rewards[t], start(2), 100, lr=2.0, bound=0.5)
    assert linear_regret(game.weights, game.rewards).item() > regret_bound(2, 100, 2.0, 0.5)


def test_regret_by_hand():
    experts = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    weights = torch.tensor([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])
    own = expected_loss(weights, experts)
    assert own.tolist() == [0.5, 0.25, 3]
    assert best_expert(experts) == 0
    assert regret(own, experts).item() == 1.75
    assert linear_regret(weights, -experts).item() == 1.75


def test_one_expert_has_no_bound_to_speak_of():
    with pytest.raises(UpdateError, match="experts must be a whole number >= 2"):
        best_regret_bound(1, 10)
