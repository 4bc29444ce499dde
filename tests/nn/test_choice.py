"""Choices in models of one's own: exact semantics under every relaxation, nesting, checkpointing, pruning."""

from collections import namedtuple
from random import Random

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.utils.checkpoint import checkpoint

from dartboard.errors import NetworkError
from dartboard.nn import Blend, Choice, ChoiceNet, InputChoice, Repeat, Zero, one_hot, space_of
from dartboard.nn.choice import current_mixture
from dartboard.nn.mixture import SlotMixture
from dartboard.relax.attention import Attention
from dartboard.relax.categorical import simplex, softmax
from dartboard.relax.sampling import Gumbel, RandomArchitecture
from dartboard.space.files import space_from_json, space_to_json
from dartboard.space.genotype import enumerate_genotypes, sample
from dartboard.space.graph import count


class Series(nn.Module):
    """A model of sequences with every kind of choice, nested and shared ones too."""

    def __init__(self, *, checkpointed: bool = False) -> None:
        super().__init__()
        self.checkpointed = checkpointed
        self.stem = nn.Conv1d(2, 4, 3, padding=1)
        inner = Choice({"linear": nn.Conv1d(4, 4, 1), "skip": nn.Identity()})
        self.body = nn.ModuleList(
            [
                Choice({"three": conv(3), "five": conv(5), "zero": Zero()}),
                Choice({"nested": nn.Sequential(inner, nn.ReLU()), "skip": nn.Identity()}),
            ]
        )
        self.left = Choice({"tanh": nn.Tanh(), "relu": nn.ReLU()}, share="activation")
        self.right = Choice({"tanh": nn.Tanh(), "relu": nn.ReLU()}, share="activation")
        self.merge = InputChoice(3, keep=2, combine="weighted")
        self.depth = Repeat(conv(3), 0, 2)
        self.head = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        states = [x]
        for block in self.body:
            x = x + (checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x))
            states.append(x)
        x = self.merge([self.left(states[0]), self.right(states[1]), states[2]])
        return self.head(self.depth(x).mean(-1))


def conv(size: int) -> nn.Module:
    return nn.Sequential(nn.Conv1d(4, 4, size, padding=size // 2, bias=False), nn.BatchNorm1d(4), nn.ReLU())


def series(**options) -> ChoiceNet:
    torch.manual_seed(0)
    return ChoiceNet(Series(**options)).double()


def batch(size: int = 5) -> Tensor:
    return torch.randn(size, 2, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def test_the_space_of_a_model_is_read_off_it():
    space = space_of(Series())
    assert space.name == "Series"
    ops = {group: [edge.ops for edge in cell.edges] for group, cell in space.groups}
    assert ops == {
        "body/0": [("three", "five", "zero")],
        "body/1": [("nested", "skip")],
        "body/1/candidates/nested/0": [("linear", "skip")],
        "activation": [("tanh", "relu")],
        "merge": [("input0",), ("input1",), ("input2",)],
        "depth": [("0", "1", "2")],
    }
    assert [slot.group for slot in space.slots].count("activation") == 2
    assert count(space) == 3 * 2 * 2 * 2 * 3 * 3
    assert space_from_json(space_to_json(space)) == space
    with pytest.raises(NetworkError, match="Linear has no choices; put a Choice"):
        space_of(nn.Linear(2, 2))


def test_the_model_that_was_given_is_not_changed():
    model = Series()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    net = ChoiceNet(model)
    net(batch().float()).sum().backward()
    net.prune({group: tuple((0,) for _ in cell.edges) for group, cell in net.space.groups})
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert len(model.body[0].candidates) == 3


@pytest.mark.parametrize("train", [False, True])
def test_the_discrete_network_is_the_supernet_under_the_one_hot_mixture(train):
    x = batch()
    for seed, genotype in enumerate(enumerate_genotypes(series().space)):
        if seed % 5:
            continue
        net = series()
        net(x)  # statistics that are not those of the start
        plain = net.network(genotype)
        net.train(train)
        plain.train(train)
        expected = net.discrete(x, genotype)
        found = plain(x)
        assert torch.equal(found, expected)
        if train:
            expected.sum().backward()
            found.sum().backward()
            mine, theirs = (sorted(float(grad.abs().sum()) for grad in grads(n)) for n in (plain, net))
            # of the weights of inputs the network has those that were kept, so compare all in one
            assert sum(mine) == pytest.approx(sum(theirs), rel=1e-12)


def grads(module: nn.Module) -> list[Tensor]:
    return [parameter.grad for parameter in module.parameters() if parameter.grad is not None]


def test_nothing_of_dartboard_is_left_in_the_network():
    net = series()
    for seed in range(8):
        plain = net.network(sample(net.space, Random(seed)))
        assert not [m for m in plain.modules() if type(m).__module__.startswith("dartboard")]


def test_blends_are_the_weighted_sums_of_the_candidates():
    torch.manual_seed(0)
    modules = {"a": nn.Linear(3, 2), "b": nn.Linear(3, 2), "c": nn.Linear(3, 2)}
    net, x = ChoiceNet(Choice(modules)), torch.rand(4, 3)
    relaxation = softmax(net.space, generator=torch.Generator().manual_seed(0))
    weights = relaxation.strengths()["model"].ops[0]
    expected = sum(weight * module(x) for weight, module in zip(weights, modules.values(), strict=True))
    torch.testing.assert_close(net(x, relaxation()), expected)
    per_example = relaxation.per_example(4)
    loss = net(x, per_example).square().sum()
    feedback = per_example.gather(torch.autograd.grad(loss, per_example.leaves()))["model"]
    for place, module in enumerate(modules.values()):
        reward = (2 * expected * module(x)).sum(1)
        torch.testing.assert_close(feedback.ops[0, :, 0, place], reward)


def relaxations(space):
    return [
        softmax(space, generator=torch.Generator().manual_seed(0)),
        simplex(space),
        Gumbel(simplex(space), generator=torch.Generator().manual_seed(0)),
        RandomArchitecture(space, generator=torch.Generator().manual_seed(0)),
    ]


@pytest.mark.parametrize("kind", range(4))
def test_every_relaxation_runs_with_gradients(kind):
    net = series()
    relaxation = relaxations(net.space)[kind].double()
    for _ in range(3):
        net(batch(), relaxation()).square().mean().backward()
    assert any(grad.abs().sum() > 0 for grad in grads(net))
    for parameter in relaxation.arch_parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


def test_attention_weighs_candidates_of_any_rank():
    torch.manual_seed(0)
    net = ChoiceNet(nn.Sequential(Choice({"a": nn.Linear(3, 3), "b": nn.Identity()}), nn.Linear(3, 1)))
    relaxation = Attention(net.space, init="random", generator=torch.Generator().manual_seed(0))
    net(torch.rand(6, 3), relaxation()).mean().backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in relaxation.weight_parameters())


def test_only_live_candidates_are_computed():
    calls = []

    class Loud(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def forward(self, x):
            calls.append(self.name)
            return x

    net = ChoiceNet(
        nn.Sequential(Choice({name: Loud(name) for name in "abc"}), Repeat(lambda: Loud("r"), 1, 3))
    )
    for genotype in enumerate_genotypes(net.space):
        calls.clear()
        net.discrete(torch.rand(2), genotype)
        chosen = genotype.cells["0"].edges[0].ops[0]
        assert calls == [chosen, *["r"] * int(genotype.cells["1"].edges[0].ops[0])]


def test_blocks_that_are_computed_again_in_the_backward_see_their_own_mixture():
    plain, saving = series(), series(checkpointed=True)
    saving.load_state_dict(plain.state_dict())
    relaxation = simplex(plain.space).double()
    first, second = sample(plain.space, Random(0)), sample(plain.space, Random(3))
    for net in (plain, saving):
        like = next(net.parameters())
        mixtures = [relaxation(), one_hot(net.space, first, like=like), one_hot(net.space, second, like=like)]
        losses = [net(batch(), mixture).square().mean() for mixture in mixtures]
        (losses[0] + 2 * losses[1] + 3 * losses[2]).backward()
    for (name, one), (_, other) in zip(plain.named_parameters(), saving.named_parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None), name
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-12, atol=1e-14)
    assert current_mixture() is None


def test_other_weights_take_their_place_in_a_functional_call():
    net, other = series(), series()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.1)
    net.eval()
    other.eval()
    mixture = simplex(net.space).double()()
    found = functional_call(net, dict(other.named_parameters()), (batch(), mixture))
    assert torch.equal(found, other(batch(), mixture))


def test_an_error_in_the_model_restores_what_was():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.choice = Choice({"a": nn.Identity(), "b": nn.ReLU()})

        def forward(self, _x):
            raise ValueError("own mistake")

    net = ChoiceNet(Broken())
    with pytest.raises(ValueError, match="own mistake"):
        net(torch.rand(2))
    assert current_mixture() is None


def test_removed_candidates_are_freed_with_what_is_nested_in_them():
    net = series()
    live = {
        group: tuple(tuple(range(len(edge.ops))) for edge in cell.edges) for group, cell in net.space.groups
    }
    live |= {"body/0": ((1,),), "body/1": ((1,),), "depth": ((0, 1),)}
    before = {id(parameter) for parameter in net.parameters()}
    removed = net.prune(live)
    left = {id(parameter) for parameter in net.parameters()}
    assert {id(parameter) for parameter in removed} == before - left
    # conv three (3 tensors), the nested convolution (2), the second block (3)
    assert len(removed) == 8
    blends = {
        site: Blend(live[slot.group], torch.ones(net.space.cells[slot.group].shape, dtype=torch.float64))
        for site, slot in enumerate(net.space.slots)
    }
    assert net(batch(), SlotMixture(blends)).isfinite().all()
    three = tuple((0,) for _ in net.space.cells["body/0"].edges)
    with pytest.raises(NetworkError, match="the candidate three has been removed"):
        net(batch(), SlotMixture(blends | {0: Blend(three)}))


Pair = namedtuple("Pair", "mean state")


class Many(nn.Module):
    """Gives a named tuple with a dictionary in it."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x, *, scale):
        return Pair(self.factor * x * scale, {"sum": [self.factor + x, None]})


def test_outputs_may_be_tuples_and_dictionaries():
    net = ChoiceNet(Choice({"one": Many(1.0), "three": Many(3.0)}))
    x = torch.ones(2)
    found = net({"x": x, "scale": 2.0})
    assert isinstance(found, Pair)
    assert torch.equal(found.mean, 4 * x)
    assert torch.equal(found.state["sum"][0], 3 * x)
    assert found.state["sum"][1] is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Choice({"a": nn.Identity()}), "between two candidates or more, not 1"),
        (lambda: Choice({"a.b": nn.Identity(), "c": nn.Identity()}), "without dots.*'a.b'"),
        (lambda: Choice({"none": nn.Identity(), "c": nn.Identity()}), "'none' is taken"),
        (
            lambda: Choice({"a": nn.Identity(), "c": nn.Identity()}, share="x.y"),
            "word without dots, not 'x.y'",
        ),
        (lambda: InputChoice(3, keep=3), "of 3 inputs 1 to 2 can be kept, not 3"),
        (lambda: InputChoice(3, combine="cat"), "'sum', 'mean' or 'weighted', not 'cat'"),
        (lambda: Repeat(nn.Identity(), 2, 2), "0 <= least < most; got 2 and 2"),
        (lambda: Repeat([nn.Identity()], 1, 2), "at most 2 blocks was given 1"),
    ],
)
def test_what_leaves_nothing_to_choose_is_refused(make, message):
    with pytest.raises(NetworkError, match=message):
        make()


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (
            {"a": nn.Linear(3, 2), "b": nn.Linear(3, 4)},
            r"a and b give different outputs: \[5, 2\] and \[5, 4\]",
        ),
        ({"a": nn.Identity(), "b": nn.Flatten(0)}, r"\[5, 3\] and \[15\]"),
    ],
)
def test_candidates_of_different_shapes_are_named(candidates, message):
    with pytest.raises(NetworkError, match=message):
        ChoiceNet(Choice(candidates))(torch.rand(5, 3))


def test_shared_decisions_have_the_same_candidates():
    model = nn.Sequential(
        Choice({"a": nn.Identity(), "b": nn.ReLU()}, share="s"),
        Choice({"a": nn.Identity(), "c": nn.ReLU()}, share="s"),
    )
    with pytest.raises(
        NetworkError, match=r"0 and 1 share the decision 's', and have different.*a, b and a, c"
    ):
        space_of(model)


def test_one_module_at_two_places_is_one_decision():
    choice = Choice({"a": nn.Linear(2, 2), "b": nn.Identity()})
    net = ChoiceNet(nn.Sequential(choice, nn.ReLU(), choice))
    assert len(net.space.slots) == 1
    plain = net.network(sample(net.space, Random(0)))
    assert plain[0] is plain[2]
    assert not isinstance(plain[2], Choice)


def test_copies_of_a_block_start_from_values_of_their_own():
    torch.manual_seed(0)
    first, second = Repeat(nn.Linear(2, 2), 1, 2).blocks
    assert not torch.equal(first.weight, second.weight)
