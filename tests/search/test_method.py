import math
from random import Random

import pytest
import torch

from dartboard.arch.gradient import Amended, ClippedRewards, FirstOrder, SecondOrder
from dartboard.arch.hvp import Exact, Finite
from dartboard.errors import CompositionError, OptionError, UnknownNameError
from dartboard.relax import RELAXATIONS
from dartboard.search import METHODS, Method, ScheduleLengths, make_method
from dartboard.search.updates import adam, exponentiated_gradient
from dartboard.space import get_space, restrict, sample

SOFTMAX, ADAM = RELAXATIONS["softmax"], adam(1e-3, 0.0)


def test_a_plan_counts_the_steps_of_the_architecture():
    assert ScheduleLengths(10, 7, 64).arch_steps == 70
    assert ScheduleLengths(10, 7, 64, warmup=4).arch_steps == 42
    assert ScheduleLengths(3, 7, 64, warmup=4).arch_steps == 0


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"gradient": FirstOrder()}, "a gradient needs an update, and an update a gradient"),
        ({"update": ADAM}, "a gradient needs an update, and an update a gradient"),
        ({"bilevel": True}, "are about architecture parameters, and this method has none"),
        ({"joint": True}, "are about architecture parameters, and this method has none"),
        ({"warmup": 3}, "are about architecture parameters, and this method has none"),
        (
            {"gradient": FirstOrder(), "update": ADAM, "joint": True, "bilevel": True},
            "joint takes both gradients from one batch, and bilevel judges the architecture by another",
        ),
        (
            {"gradient": SecondOrder(), "update": ADAM, "joint": True},
            "SecondOrder needs passes of its own and cannot come from the weights' pass; leave joint out",
        ),
        ({"gradient": Amended(), "update": ADAM, "joint": True}, "Amended needs passes of its own"),
    ],
)
def test_parts_that_cannot_work_together_say_why(parts, reason):
    with pytest.raises(CompositionError, match=reason):
        Method(SOFTMAX, **parts)


@pytest.mark.parametrize("gradient", [FirstOrder(), ClippedRewards()])
def test_what_comes_from_one_pass_can_be_joint(gradient):
    assert Method(SOFTMAX, gradient, ADAM, joint=True).joint


def test_a_gradient_is_checked_against_the_relaxation_of_the_space():
    method = Method(SOFTMAX, ClippedRewards(), ADAM)
    with pytest.raises(CompositionError, match="use a simplex relaxation"):
        method.compose(get_space("nano"), torch.Generator())


def test_a_relaxation_is_composed_for_the_space_with_the_chance_given():
    method, space = make_method("darts"), get_space("nano")
    made = [method.compose(space, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    values = [own.arch_parameters()[0] for own in made]
    assert made[0].space is space
    assert torch.equal(values[0], values[1])
    assert not torch.equal(values[0], values[2])


def test_a_space_with_nothing_left_to_choose_is_refused():
    space = get_space("nano")
    with pytest.raises(CompositionError, match="'nano' has nothing left to choose; search another"):
        make_method("darts").compose(restrict(space, sample(space, Random(0))), torch.Generator())


def test_a_wrong_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="no method called 'gaea-dart'; did you mean 'gaea-darts'"):
        make_method("gaea-dart")


def test_a_wrong_option_gets_a_hint():
    with pytest.raises(
        UnknownNameError, match="no option of method gaea-darts called 'flor'; did you mean 'floor'"
    ):
        make_method("gaea-darts", {"flor": 0.1})
    with pytest.raises(UnknownNameError, match="no option of method random called 'zzz'"):
        make_method("random", {"zzz": 1})


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("darts", {"lr": "fast"}, "method.lr='fast' of darts: input should be a valid number"),
        ("darts", {"lr": True}, "method.lr=true of darts: expected a number"),
        (
            "darts",
            {"bilevel": "perhaps"},
            "method.bilevel='perhaps' of darts: input should be a valid boolean",
        ),
        ("pc-darts", {"partial": 2.5}, "method.partial=2.5 of pc-darts: input should be a valid integer"),
        (
            "darts-2nd",
            {"product": "rough"},
            "method.product='rough' of darts-2nd: input should be 'exact' or",
        ),
        ("darts", {"lr": math.nan}, "method.lr=nan of darts: input should be a finite number"),
        ("amended-darts", {"eta": math.inf}, "method.eta=inf of amended-darts: input should be a finite"),
        ("xnas", {"lr": -math.inf}, "method.lr=-inf of xnas: input should be a finite number"),
        ("pc-darts", {"partial": 0}, "partial must be a whole number >= 1, or auto, got 0"),
        ("pc-darts", {"warmup": -1}, "warmup must be a whole number >= 0 or a fraction below 1, got -1"),
        ("pc-darts", {"warmup": 1.5}, "whole number >= 0 or a fraction below 1, got 1.5"),
        ("gdas", {"explore": 1.5}, "explore must be a number >= 0 and < 1, or auto, got 1.5"),
        ("gaea-gdas", {"entropy": 0.01}, "entropy is a penalty for a given rate, .* set method.lr too"),
        ("asm", {"init": "ones"}, "method.init='ones' of asm: input should be 'zero' or 'random'"),
        ("random-ws", {"samples": 0}, "needs at least 1 sample, got 0"),
        ("random-ws", {"epoch_samples": 0}, "needs at least 1 sample, got 0"),
        ("gaea-gdas", {"end": -1}, "the temperature at the end must be a number > 0, got -1.0"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(name, options, words):
    with pytest.raises(OptionError, match=words):
        make_method(name, options)


def test_texts_become_what_they_say():
    method = make_method("pc-darts", {"partial": "2", "warmup": "3", "bilevel": "false"})
    assert (method.partial, method.warmup, method.bilevel) == (2, 3, False)


def test_options_reach_the_parts():
    assert make_method("darts-2nd").gradient == SecondOrder(Exact())
    assert make_method("darts-2nd", {"product": "finite", "radius": 0.5}).gradient == SecondOrder(Finite(0.5))
    assert make_method("amended-darts", {"eta": 0.7}).gradient == Amended(0.7, Exact())
    assert make_method("xnas", {"bound": 3.0}).gradient == ClippedRewards(3.0)


def test_joint_needs_the_single_level():
    with pytest.raises(CompositionError, match="use bilevel=false with joint"):
        make_method("darts", {"joint": True})
    assert make_method("darts", {"joint": True, "bilevel": False}).joint
    assert make_method("gaea-darts-erm", {"joint": True}).joint


def test_evolution_needs_an_oracle():
    with pytest.raises(CompositionError, match=r"evolution needs an oracle.* in Python, or with --plugin"):
        make_method("evolution")
    assert not make_method("evolution", {"score": lambda _: 0.0}).trains


def test_a_wrong_update_for_the_parameters_is_refused_when_it_is_made():
    method = Method(SOFTMAX, FirstOrder(), exponentiated_gradient(0.1))
    relaxation = method.compose(get_space("nano"), torch.Generator())
    with pytest.raises(CompositionError, match="use a simplex relaxation, or Adam"):
        method.update(relaxation, ScheduleLengths(1, 1, 1))


def test_every_method_says_in_a_line_what_it_is():
    own = [
        make for make in METHODS.values() if make.__module__.startswith("dartboard.")
    ]  # no plugins of tests
    assert own
    assert all(make.__doc__.splitlines()[0].endswith(".") for make in own)


@pytest.mark.parametrize(
    ("warmup", "epochs", "frozen"),
    [
        (0, 50, 0),
        (15, 50, 15),
        (0.3, 50, 15),
        (0.2, 50, 10),
        (1 / 3, 150, 50),
        (0.58, 50, 29),
        (0.3, 8, 2),
        (0.3, 3, 0),
    ],
)
def test_the_architecture_is_frozen_for_epochs_or_for_a_fraction_of_them(warmup, epochs, frozen):
    """The fractions are those of PC-DARTS, GAEA PC-DARTS and GAEA GDAS, which give the papers' epochs."""
    assert make_method("gdas", {"warmup": warmup}).warmup_epochs(epochs) == frozen


@pytest.mark.parametrize(("channels", "partial"), [(36, 4), (16, 4), (12, 3), (8, 2), (6, 1), (4, 1), (2, 1)])
def test_partial_channels_leave_four_to_the_candidates(channels, partial):
    assert make_method("pc-darts").partial_channels(channels) == partial
    assert make_method("pc-darts", {"partial": 4}).partial_channels(channels) == 4
