"""What every relaxation must show; a new relaxation is tested by being registered."""

from copy import deepcopy
from functools import cache
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load, save

from dartboard.errors import CompositionError
from dartboard.relax import RELAXATIONS, RngState
from dartboard.space import SPACES, get_space
from helpers import networks


def make(name, space, *, seed=0):
    return RELAXATIONS[name](space, torch.Generator().manual_seed(seed))


def composes(name, space):
    try:
        make(name, space)
    except CompositionError:
        return False
    return True


SMALL = {name: networks.shrink(get_space(name), cells=2) for name in SPACES}
PAIRS = [pair for pair in product(RELAXATIONS, SPACES) if composes(pair[0], SMALL[pair[1]])]
each_pair = pytest.mark.parametrize(
    ("name", "space"), [(name, SMALL[space]) for name, space in PAIRS], ids=map("-".join, PAIRS)
)
KINDS = [(name, space) for name, space in PAIRS if space in ("s2", "nb201", "oneshot1")]
each_kind = pytest.mark.parametrize(
    ("name", "space"), [(name, SMALL[space]) for name, space in KINDS], ids=map("-".join, KINDS)
)
each = pytest.mark.parametrize("name", RELAXATIONS)


@cache
def network(space):
    """One network for all tests; in evaluation mode nothing but gradients is left behind."""
    return networks.build(space).eval()


def logits(space, relaxation):
    x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return network(space)(x, relaxation())


def train(space, relaxation):
    """A step down the gradient of everything the relaxation has; returns the gradients by name."""
    F.cross_entropy(logits(space, relaxation), torch.arange(2)).backward()
    found = {name: values.grad for name, values in relaxation.named_parameters()}
    with torch.no_grad():
        for values in relaxation.parameters():
            if values.grad is not None:
                values.sub_(0.01 * values.grad)
                values.grad = None
    return found


@each
def test_a_relaxation_works_somewhere_and_says_in_a_line_what_it_is(name):
    assert composes(name, SMALL["nano"])
    line = RELAXATIONS[name].__doc__.splitlines()[0]
    assert line.endswith(".")


@each_pair
def test_a_step_reaches_every_parameter(name, space):
    relaxation = make(name, space).double()
    missing = {parameter for parameter, _ in relaxation.named_parameters()}
    for _ in range(20):  # what draws may have to draw again until something with a gradient comes up
        found = train(space, relaxation)
        assert all(gradient is None or gradient.isfinite().all() for gradient in found.values())
        missing -= {name for name, gradient in found.items() if gradient is not None and gradient.any()}
        if not missing:
            break
    assert not missing


@each_pair
def test_strengths_are_on_the_simplex(name, space):
    relaxation = make(name, space).double()
    logits(space, relaxation)
    strengths = relaxation.strengths()
    assert list(strengths) == [arch for arch, _ in space.groups]
    for arch, cell in space.groups:
        ops, edges = strengths[arch].ops, strengths[arch].edges
        assert ops.shape == (len(cell.edges), max(len(edge.ops) for edge in cell.edges))
        assert edges.shape == (len(cell.edges),)
        assert not ops.requires_grad
        assert not edges.requires_grad
        assert torch.allclose(ops.sum(-1), torch.ones(len(ops), dtype=ops.dtype))
        for row, edge in zip(ops, cell.edges, strict=True):
            assert (row[: len(edge.ops)] > 0).all()
            assert (row[len(edge.ops) :] == 0).all()
        for contest in cell.contests:
            total = edges[list(contest.edges)].sum().item()
            assert total == pytest.approx(1 if contest.weighted else total)


@each_pair
def test_what_is_live_has_weight_and_what_has_weight_is_live(name, space):
    mixture = make(name, space)()
    for index, slot in enumerate(space.slots):
        if slot.group and (blend := mixture.blend(index)).ops is not None:
            for row, places in zip(blend.ops, blend.live, strict=True):
                assert row.nonzero().flatten().tolist() == list(places)


@each
def test_strengths_do_not_follow_what_comes_later(name):
    space = SMALL["darts"]
    relaxation = make(name, space).double()
    strengths = relaxation.strengths()
    before = deepcopy(strengths)
    train(space, relaxation)
    for arch, strength in strengths.items():
        assert torch.equal(strength.ops, before[arch].ops)
        assert torch.equal(strength.edges, before[arch].edges)


@each_pair
def test_every_parameter_has_one_owner(name, space):
    relaxation = make(name, space)
    owned = [id(values) for values in relaxation.arch_parameters() + relaxation.weight_parameters()]
    assert sorted(owned) == sorted(id(values) for values in relaxation.parameters())


@each_kind
def test_the_state_is_all_there_is(name, space):
    """Through a file without pickle, into a relaxation with another start and other luck."""
    relaxation, other = make(name, space).double(), make(name, space, seed=1).double()
    train(space, relaxation)
    other.load_state_dict(load(save(relaxation.state_dict())))
    for _ in range(2):
        assert torch.equal(logits(space, relaxation), logits(space, other))
        train(space, relaxation)
        train(space, other)
    for arch, strength in relaxation.strengths().items():
        assert torch.equal(strength.ops, other.strengths()[arch].ops)
        assert torch.equal(strength.edges, other.strengths()[arch].edges)


@each
def test_the_state_of_another_space_is_refused(name):
    state = make(name, SMALL["darts"]).state_dict()
    relaxation = make(name, SMALL["nano"])
    if list(relaxation.parameters()):
        with pytest.raises(RuntimeError, match="Error"):
            relaxation.load_state_dict(state)


@each
def test_a_copy_goes_on_by_itself(name):
    space = SMALL["nano"]
    relaxation = make(name, space).double()
    copy = deepcopy(relaxation)
    found = [logits(space, relaxation) for _ in range(3)]
    for expected in found:
        assert torch.equal(logits(space, copy), expected)


@each
def test_every_pass_has_its_own_graph(name):
    space = SMALL["nano"]
    relaxation = make(name, space).double()
    for _ in range(2):
        logits(space, relaxation).sum().backward()


@each
def test_global_chance_is_left_alone(name):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    make(name, SMALL["nano"])()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@each
def test_only_draws_wait_for_the_device(name, device):
    space = SMALL["nano"]
    if any(isinstance(module, RngState) for module in make(name, space).modules()):
        return
    with networks.no_host_sync(device):
        relaxation = RELAXATIONS[name](space, None)
        net = networks.CellNet(space, networks.NetConfig(channels=4, input=(3, 8, 8), search=True))
        net(torch.empty(2, 3, 8, 8), relaxation()).sum().backward()
        relaxation.strengths()
    assert any(values.grad is not None for values in relaxation.parameters())


@each
def test_per_example_weights_or_a_reason(name):
    relaxation = make(name, SMALL["nano"])
    try:
        mixture = relaxation.per_example(2)
    except CompositionError as error:
        reason = str(error)
    else:
        reason = ""
        assert mixture.blend(0).ops.shape[0] == 2
    assert not reason or type(relaxation).__name__ in reason


@each
def test_candidates_die_or_there_is_a_reason(name):
    space = SMALL["darts"]
    relaxation = make(name, space).double()
    before = relaxation.strengths()["normal"].ops
    try:
        relaxation.kill("normal", 3, 2)
    except CompositionError:
        assert torch.equal(relaxation.strengths()["normal"].ops, before)
        return
    after = relaxation.strengths()["normal"].ops
    assert after[3, 2] == 0
    assert after[3].sum().item() == pytest.approx(1)
    assert 2 not in relaxation.live("normal")[3]
    assert all(2 not in relaxation().blend(0).live[3] for _ in range(20))
    other = make(name, space).double()
    other.load_state_dict(relaxation.state_dict())
    assert other.live("normal") == relaxation.live("normal")
    assert all(values.isfinite().all() for values in train(space, relaxation).values())
