import math
from dataclasses import replace

import pytest
import torch

from dartboard.arch.optim.expert_advice import RewardRange
from dartboard.engine.state import capture, copied, restore
from dartboard.errors import CompositionError, OptionError, UnknownNameError
from dartboard.search import Hook, Temperature, Wipeout
from dartboard.space import Cell, Contest, Edge, Stack
from dartboard.space.catalog import stacked
from helpers import networks
from helpers.search_cases import search

CONTESTED = Cell(
    1,
    3,
    (
        Edge(0, 1, ("none", "skip_connect", "nor_conv_1x1")),
        Edge(0, 2, ("none", "nor_conv_3x3", "nor_conv_1x1")),
        Edge(1, 2, ("none", "nor_conv_3x3", "nor_conv_1x1")),
        Edge(1, 2, ("none", "skip_connect")),
    ),
    (2,),
    contests=(Contest((1, 2, 3), keep=2),),
    adapt=False,
)
SPACE = stacked("contested", CONTESTED, Stack(cells=1, reduce="residual", stages=2, stem=1, head_norm=True))


# Temperature


class Temperatures(Hook):
    """Notes the temperature at the end of every step."""

    def __init__(self):
        self.seen = []

    def on_step_end(self, searcher):
        self.seen.append(searcher.relaxation.temperature)


@pytest.mark.parametrize(("epochs", "expected"), [(1, [10.0]), (2, [10.0, 0.1]), (3, [10.0, 5.05, 0.1])])
def test_the_temperature_falls_to_its_end(epochs, expected):
    noted = Temperatures()
    search("gdas", epochs=epochs, method_options={"warmup": 0}, hooks=[noted]).fit()
    seen = list(dict.fromkeys(noted.seen))
    assert seen == pytest.approx(expected)
    assert seen[0] == 10.0
    assert seen[-1] == expected[-1]
    assert len(noted.seen) == 3 * epochs


def test_start_and_end_are_options():
    noted = Temperatures()
    search("gaea-gdas", method_options={"start": 4.0, "end": 2.0}, hooks=[noted]).fit()
    assert noted.seen == [4.0] * 3 + [2.0] * 3


def test_its_schedule_can_be_another():
    hook, searcher = (
        Temperature(8.0, 2.0, "exponential"),
        search("gdas", epochs=3, method_options={"warmup": 0}),
    )
    searcher.epoch = 1
    hook.on_epoch_start(searcher)
    assert searcher.relaxation.temperature == pytest.approx(4.0)
    with pytest.raises(UnknownNameError, match="no schedule called 'step'"):
        Temperature(schedule="step")


@pytest.mark.parametrize("name", ["start", "end"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_temperature_is_above_zero(name, value):
    with pytest.raises(OptionError, match=f"temperature at the {name} must be a number > 0, got {value}"):
        Temperature(**{name: value})


def test_without_samples_there_is_no_temperature():
    with pytest.raises(
        CompositionError, match="a temperature needs samples, and Categorical draws none by it"
    ):
        search("darts", hooks=[Temperature()])


# Wipeout


def test_without_an_update_that_drops_there_is_no_wipeout():
    with pytest.raises(
        CompositionError, match="wipeout needs an update that drops candidates; Adam does not"
    ):
        search("darts", hooks=[Wipeout()])


def test_wipeout_looks_at_some_steps():
    with pytest.raises(OptionError, match="wipeout looks every 1 or more steps, not every 0"):
        Wipeout(every=0)


NOTHING = RewardRange(torch.zeros(()), torch.zeros(()))
"""No reward."""


def ended(searcher) -> None:
    """Tells the update that no feedback is left, so that only leaders stay, and takes its step."""
    for group in searcher.update.param_groups:
        group["seen"] = group["horizon"]
        for values in group["params"]:
            values.grad, values.rewards = torch.zeros_like(values), NOTHING
    searcher.update.step()
    searcher.step = 10
    Wipeout().on_step_end(searcher)


def prefer(searcher, **places: int) -> None:
    """Gives one op of each edge most of the weight."""
    values = searcher.relaxation.arch_parameters()[0].data
    for row, place in zip(values, places.values(), strict=True):
        alive = row > 0
        row[alive] = 0.01
        row[place] = 1 - 0.01 * (int(alive.sum()) - 1)


def test_leaders_alone_are_left():
    searcher = search("xnas")
    prefer(searcher, a=2, b=0, c=5)
    ended(searcher)
    assert searcher.relaxation.live("cell") == ((2,), (0,), (5,))
    ops = [[list(edge) for edge in slot.edges] for slot in (searcher.net.slots[0], searcher.net.slots[2])]
    assert ops == [[["nor_conv_1x1"], ["none"], ["sep_conv_3x3"]]] * 2


def test_an_edge_in_a_contest_keeps_an_op():
    """Where `none` leads, a free edge becomes none; a contested one keeps a last op that is not."""
    searcher = search("xnas", space=SPACE)
    prefer(searcher, a=0, b=0, c=0, d=0)
    ended(searcher)
    live = searcher.relaxation.live("cell")
    assert live[0] == (0,)
    for index in (1, 2, 3):
        assert len(live[index]) == 2
        assert 0 in live[index]
    assert searcher.method.select(searcher.objective, searcher.valid_batches, None)


def test_a_contested_edge_can_lose_none():
    searcher = search("xnas", space=SPACE)
    prefer(searcher, a=1, b=1, c=2, d=1)
    ended(searcher)
    assert searcher.relaxation.live("cell") == ((1,), (1,), (2,), (1,))


def test_parameters_leave_the_optimizer_with_their_momentum():
    searcher = search("xnas")
    for _ in range(2):
        searcher.train_step()
    optimizer = searcher.optimizer
    before = list(searcher.objective.weights)
    assert len(optimizer.state) == len(before)
    prefer(searcher, a=2, b=0, c=1)
    ended(searcher)
    left = {id(own) for own in searcher.net.parameters()}
    assert 0 < len(left) < len(before)
    assert {id(own) for own in optimizer.state} == left
    assert [id(own) for own in optimizer.param_groups[0]["params"]] == [
        id(own) for own in searcher.objective.weights
    ]
    assert {id(own) for own in searcher.objective.weights} == left
    searcher.train_step()


def test_the_loss_stays_the_same():
    searcher = search("xnas")
    prefer(searcher, a=2, b=0, c=5)
    for group in searcher.update.param_groups:
        group["seen"] = group["horizon"]
    values = searcher.relaxation.arch_parameters()[0]
    values.grad, values.rewards = torch.zeros(3, 6), NOTHING
    searcher.update.step()  # now the weights are zero, and the candidates still there
    assert len(searcher.relaxation.live("cell")[0]) == 6
    given = searcher.loaders.train.batch(0)
    with searcher.objective.preserve_buffers():
        before = searcher.objective.loss(given)[0]
    searcher.step = 10
    Wipeout().on_step_end(searcher)
    assert len(searcher.relaxation.live("cell")[0]) == 1
    torch.testing.assert_close(searcher.objective.loss(given)[0], before)


class Work(Hook):
    """Counts the op calls of every step."""

    def __init__(self):
        self.steps, self.live = [], []

    def on_epoch_start(self, searcher):
        self.calls = networks.OpCalls(searcher.net).__enter__()

    def on_step_end(self, searcher):
        self.steps.append(self.calls.count.total())
        self.live.append(sum(map(len, searcher.relaxation.live("cell"))))
        self.calls.count.clear()


QUICK = {"zeta": 0.01}


def test_steps_become_cheaper():
    work = Work()
    searcher = search("xnas", method_options=QUICK, epochs=4, net={"mix": "plain"}, hooks=[work])
    searcher.fit()
    assert work.live == sorted(work.live, reverse=True)
    assert work.live[0] == 18
    assert work.live[-1] == 3
    assert work.steps[-1] < work.steps[0] / 3


@pytest.mark.parametrize(("every", "expected"), [(2, {2, 3, 4, 6}), (10, {3, 6})])
def test_the_host_asks_at_fixed_steps_and_at_the_ends_of_epochs(every, expected, monkeypatch):
    asked = set()
    searcher = search("xnas")
    monkeypatch.setattr(searcher.update, "dropped", lambda: asked.add(searcher.step) or [[]])
    object.__setattr__(searcher.hooks[0], "every", every)
    searcher.fit()
    assert asked == expected


def test_the_state_of_a_pruned_search_goes_into_a_fresh_one():
    def make():
        return search("xnas", method_options=QUICK, epochs=4)

    class Stop(Hook):
        def on_step_end(self, searcher):
            if searcher.step == 7:
                self.state = copied(capture(searcher))
                self.live = searcher.relaxation.live("cell")

    class GoOn(Hook):
        def on_start(self, searcher):
            restore(searcher, noted.state)
            assert searcher.relaxation.live("cell") == noted.live

    noted = Stop()
    first = make()
    first.hooks += (noted,)
    expected = first.fit()
    assert 3 < sum(map(len, noted.live)) < 18
    second = make()
    second.hooks += (GoOn(),)
    found = second.fit()
    assert found.digest == expected.digest
    assert replace(found, seconds=0) == replace(expected, seconds=0)
