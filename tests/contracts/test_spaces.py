"""What every space must show as a network; a new space is tested by being registered."""

from random import Random

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dartboard.nn import CellNet, NetConfig, one_hot, uniform
from dartboard.nn.inherit import inherit
from dartboard.space import SPACES, SearchSpace, get_space, restrict, sample
from helpers import networks
from helpers.networks import Mixing, Trial

# Each with the mixture and the options of the network; together they take every branch of the default path.
VARIANTS = {
    "softmax": (Mixing(), {}),
    "dead": (Mixing(dead=True), {}),
    "per-example": (Mixing(ops="example"), {}),
    "edges": (Mixing(edges="one"), {"input": (3, 9, 7)}),
    "edges-per-example": (Mixing(edges="example", dead=True), {}),
    "both-per-example": (Mixing(ops="example", edges="example", dead=True), {}),
    "attention": (Mixing(attend=True), {}),
    "attention-edges": (Mixing(attend=True, edges="one", dead=True), {"drop_path": 0.3}),
    "drop-path": (Mixing(), {"drop_path": 0.3}),
    "drop-path-edges": (Mixing(ops="example", edges="one"), {"drop_path": 0.3}),
    "partial": (Mixing(edges="one"), {"partial": 2, "input": (3, 9, 9)}),
    "partial-dead": (Mixing(dead=True, edges="example"), {"partial": 4, "channels": 8}),
    "partial-drop-path": (Mixing(ops="example"), {"partial": 2, "drop_path": 0.3}),
    "partial-attention": (Mixing(attend=True, edges="one"), {"partial": 2}),
    "affine": (Mixing(), {"search": False}),
    "affine-per-example": (Mixing(ops="example", dead=True), {"search": False, "drop_path": 0.3}),
    "no-weights": (Mixing(ops="none", edges="one"), {}),
}
# Those whose second derivatives are compared too; the others only combine what these do one at a time.
TWICE = ("softmax", "dead", "per-example", "edges", "attention", "drop-path", "partial", "affine")


def tight(space: SearchSpace) -> bool:
    """Whether nothing that reads a concatenation of kept and lost edges stays behind in a supernet."""
    return not any(cell.concat for _, cell in space.groups)


def pair(space: SearchSpace, **options):
    return networks.build(space, mix="fused", **options), networks.build(space, mix="plain", **options)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.product(keep=40)
def test_the_default_path_equals_the_plain_formula(name, variant):
    space = networks.shrink(get_space(name), cells=3 if variant in ("softmax", "partial") else 2)
    mixing, options = VARIANTS[variant]
    trial = Trial(space, mixing, image=options.get("input", (3, 8, 8)))
    second = variant in TWICE
    fused, plain = (networks.results(net, trial, second=second) for net in pair(space, **options))
    networks.assert_equal(fused, plain, within=1e-9)
    assert networks.gradient_coverage(plain) > (0.2 if mixing.dead else 0.99)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.product(keep=4)
def test_the_default_path_equals_the_plain_formula_in_evaluation(name):
    space = networks.shrink(get_space(name))
    for mixing, options in VARIANTS["softmax"], VARIANTS["partial-dead"], VARIANTS["affine-per-example"]:
        trial = Trial(space, mixing)
        fused, plain = (networks.results(net.eval(), trial) for net in pair(space, **options))
        networks.assert_equal(fused, plain, within=1e-9)
        assert networks.gradient_coverage(plain) > (0.2 if mixing.dead else 0.99)


@pytest.mark.parametrize("name", SPACES)
def test_the_default_path_equals_the_plain_formula_in_float32(name):
    space = networks.shrink(get_space(name))
    trial = Trial(space, dtype=torch.float32)
    fused, plain = (networks.results(net, trial) for net in pair(space, dtype=torch.float32))
    networks.assert_equal(fused, plain, within=1e-4)


@pytest.mark.parametrize("search", [True, False], ids=["search", "retrain"])
@pytest.mark.parametrize("name", SPACES)
def test_discrete_networks_are_the_same_on_both_paths(name, search):
    whole = networks.shrink(get_space(name))
    for seed in range(2):
        space = restrict(whole, sample(whole, Random(seed)))
        trial = Trial(space, Mixing(ops="none"))
        fused, plain = (networks.results(net, trial) for net in pair(space, search=search, drop_path=0.2))
        networks.assert_equal(fused, plain, within=1e-9)


@pytest.mark.parametrize("mix", ["plain", "fused"])
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.product(keep=6)
def test_a_restricted_network_equals_the_supernet_under_a_one_hot_mixture(name, mix):
    space = get_space(name)  # the whole stack
    supernet = networks.build(space, mix=mix)
    for seed in range(3):
        check_restriction(supernet, Random(seed), within=0.0 if mix == "plain" else 1e-9)


@pytest.mark.parametrize("mix", ["plain", "fused"])
@pytest.mark.parametrize("partial", [2, 4])
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.product(keep=10)
def test_a_restricted_network_equals_the_supernet_with_partial_channels(name, partial, mix):
    space = networks.shrink(get_space(name))
    supernet = networks.build(space, mix=mix, partial=partial, channels=8, input=(3, 9, 9))
    for seed in range(2):
        check_restriction(supernet, Random(seed), within=0.0 if mix == "plain" else 1e-9)


def check_restriction(supernet: CellNet, rng: Random, *, within: float) -> None:
    space, genotype = supernet.space, sample(supernet.space, rng)
    net = CellNet(restrict(space, genotype), supernet.config).double()
    inherit(net, supernet)
    x = torch.randn(3, *net.config.input, dtype=torch.float64)
    mixture = one_hot(space, genotype, like=x)
    for train in (False, True, False):  # the last with the running statistics that training has left behind
        expected = supernet.train(train)(x, mixture)
        assert expected.std() > 1e-3
        networks.assert_equal({"logits": net.train(train)(x)}, {"logits": expected}, within=within)
    again = CellNet(net.space, net.config).double()
    inherit(again, supernet)
    networks.assert_equal(dict(net.named_buffers()), dict(again.named_buffers()), within=within)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.product(keep=4)
def test_candidates_that_are_not_live_cost_nothing(name):
    space = networks.shrink(get_space(name))
    config = NetConfig(channels=4, input=(3, 8, 8), search=True)
    genotype = sample(space, Random(3))
    with torch.device("meta"):
        x = torch.empty(2, 3, 8, 8)
        supernet, net = CellNet(space, config), CellNet(restrict(space, genotype), config)
        alone, among = convolutions(net, x, None), convolutions(supernet, x, one_hot(space, genotype, like=x))
        everything = convolutions(supernet, x, uniform(space, like=x))
    assert alone == among if tight(space) else alone[0] == among[0]
    assert among < everything


def convolutions(net, x, mixture):
    """How many convolutions a forward pass runs, and their floating-point operations."""
    with FlopCounterMode(display=False) as counter, networks.Calls() as calls:
        net(x, mixture)
    return calls.count["aten::convolution"], counter.get_flop_counts()["Global"][torch.ops.aten.convolution]


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.product(keep=6)
def test_a_step_does_not_wait_for_the_device(name, device):
    """On `meta` the ops are those of any accelerator; on the CPU, whose path is its own, tensors are fake."""
    space = networks.shrink(get_space(name), cells=2)
    config = NetConfig(channels=4, input=(3, 8, 8), search=True, drop_path=0.2)
    with networks.no_host_sync(device):
        net = CellNet(space, config)
        trial = Trial(space, Mixing(dead=True, edges="one"), dtype=torch.float32)
        loss, logits = trial.loss(net)
        gradients = torch.autograd.grad(loss, trial.leaves.values(), create_graph=True)
        (loss + sum(gradient.square().sum() for gradient in gradients)).backward()
    assert logits.shape == (4, 10)
    assert logits.device.type == device
    assert net.head.linear.weight.grad is not None


LOOKS = {
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "branch": lambda x: 1 if x.sum() > 0 else 0,
    "float": lambda x: float(x[0]),
    "mask": lambda x: x[x > 0],
    "equal": lambda x: torch.equal(x, x + 1),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_look_at_a_value_would_be_noticed(device, look):
    with networks.no_host_sync(device):
        x = torch.ones(3)
        with pytest.raises((AssertionError, NotImplementedError, RuntimeError)):
            LOOKS[look](x)


def test_a_copy_to_the_host_would_be_noticed():
    with networks.no_host_sync("meta"), pytest.raises((AssertionError, NotImplementedError)):
        torch.ones(3).cpu()


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.product(keep=4)
def test_any_image_will_do(name):
    space = restrict(get_space(name), sample(get_space(name), Random(1)))
    with torch.device("meta"):
        for image in (1, 17, 28), (4, 33, 47), (3, 64, 64):
            net = CellNet(space, NetConfig(channels=8, classes=7, input=image, auxiliary=True))
            logits, auxiliary = net(torch.empty(2, *image), auxiliary=True)
            assert logits.shape == auxiliary.shape == (2, 7)


@pytest.mark.parametrize("name", SPACES)
def test_other_weights_and_buffers_leave_the_network_alone(name):
    """`functional_call` is how second-order methods look at the loss at other weights."""
    space = networks.shrink(get_space(name))
    net, other = networks.build(space, seed=0), networks.build(space, seed=1)
    trial = Trial(space)
    given = {name: tensor.detach().clone() for name, tensor in networks.tensors(other).items()}
    before = {name: tensor.detach().clone() for name, tensor in networks.tensors(net).items()}
    found = torch.func.functional_call(net, given, (trial.x, trial.mixture()))
    expected = other(trial.x, trial.mixture())
    networks.assert_equal({"logits": found}, {"logits": expected}, within=0.0)
    networks.assert_equal(networks.tensors(net), before, within=0.0)
    networks.assert_equal(
        given, networks.tensors(other), within=0.0
    )  # the buffers given are the ones that moved
