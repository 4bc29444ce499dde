"""The default path where no registered space leads: cells, mixtures and norms that users may come with."""

from dataclasses import replace
from random import Random

import pytest
import torch
from torch import nn

import dartboard.nn.fast.fanout
from dartboard.nn import ArchMixture, Blend, CellNet, Site, all_live, build_op, one_hot, uniform
from dartboard.nn.fast.fanout import (
    Candidate,
    CandidateWeights,
    add_outputs,
    add_up,
    banks,
    outputs,
    sum_edges,
    times,
)
from dartboard.nn.ops import SourceNode, Zero
from dartboard.space import Cell, Edge, SearchSpace, Stack, get_space, restrict, sample
from helpers import networks

BATCH, EDGES, MOST = 3, 2, 4
NAMES = ("skip_connect", "max_pool_3x3", "avg_pool_3x3", "sep_conv_3x3", "nor_conv_1x1", "conv_bn_relu_3x3")


def candidates(*names: str, edges: int = EDGES, **site) -> list[Candidate]:
    torch.manual_seed(0)
    given = Site(**({"inputs": 4, "outputs": 4, "affine": False, "pool_norm": True} | site))
    made = [
        Candidate(edge, place, build_op(name, given).double())
        for edge in range(edges)
        for place, name in enumerate(names)
    ]
    for seed, candidate in enumerate(made):
        networks.randomize(candidate.op, seed=seed)
    return made


def image() -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(BATCH, 4, 6, 6, dtype=torch.float64)


def random(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, dtype=torch.float64)


def groups(found):
    return [[(candidate.edge, candidate.place) for candidate in bank] for bank in banks(found)]


def test_copies_make_a_bank():
    assert groups(candidates("sep_conv_3x3", "max_pool_3x3")) == [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]


@pytest.mark.parametrize(
    "others",
    [
        ("sep_conv_3x3", {}, "sep_conv_5x5", {}),
        ("sep_conv_3x3", {}, "dil_conv_3x3", {}),
        ("nor_conv_1x1", {}, "nor_conv_1x1", {"stride": 2}),
        ("nor_conv_1x1", {}, "nor_conv_1x1", {"outputs": 6}),
        ("max_pool_3x3", {}, "avg_pool_3x3", {}),
        ("max_pool_3x3", {}, "max_pool_3x3", {"pool_norm": False}),
        ("skip_connect", {}, "skip_connect", {"stride": 2}),
        ("sep_conv_3x3", {}, "sep_conv_3x3", {"affine": True}),
        ("conv_7x1_1x7", {}, "conv_7x1_1x7", {}),  # has no bank: each runs alone
    ],
)
def test_what_differs_makes_banks_of_its_own(others):
    first, site, second, other = others
    assert len(groups(candidates(first, edges=1, **site) + candidates(second, edges=1, **other))) == 2


def drop_for(kind):
    return None if kind is None else torch.tensor([[0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]).double()


WEIGHTS = {
    "none": (None, None),
    "ops": ((EDGES, MOST), None),
    "ops per example": ((BATCH, EDGES, MOST), None),
    "edges": (None, (EDGES,)),
    "edges per example": (None, (BATCH, EDGES)),
    "ops and edges": ((EDGES, MOST), (EDGES,)),
    "ops and edges per example": ((EDGES, MOST), (BATCH, EDGES)),
    "all per example": ((BATCH, EDGES, MOST), (BATCH, EDGES)),
}


@pytest.mark.parametrize("drop", [None, "drop"])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_a_weight_is_that_of_the_op_times_that_of_the_edge_and_its_drop(kind, drop):
    ops, edges = (None if shape is None else random(*shape) for shape in WEIGHTS[kind])
    factors = drop_for(drop)
    weights = CandidateWeights(Blend(((),) * EDGES, ops, edges), factors)
    for candidate in candidates("skip_connect", "nor_conv_1x1"):
        expected = torch.ones(BATCH).double()
        if ops is not None:
            expected = expected * ops[..., candidate.edge, candidate.place]
        if edges is not None:
            expected = expected * edges[..., candidate.edge]
        if factors is not None and candidate.place == 1:  # what hands its input on is never dropped
            expected = expected * factors[:, candidate.edge]
        found = weights.of(candidate)
        torch.testing.assert_close(
            (torch.ones(()).double() if found is None else found).expand(BATCH), expected
        )


def test_a_bank_gets_the_weights_of_its_candidates_in_order(monkeypatch):
    seen = []
    original = dartboard.nn.fast.fanout.run_bank

    def run_bank(source, bank, weight=None):
        seen.append(weight)
        return original(source, bank, weight)

    monkeypatch.setattr(dartboard.nn.fast.fanout, "run_bank", run_bank)
    bank = [candidate for candidate in candidates("nor_conv_1x1", "sep_conv_3x3") if candidate.place == 1]
    ops = random(BATCH, EDGES, MOST)
    for blend in (Blend(((),) * EDGES, ops), Blend(((),) * EDGES)):
        add_outputs(SourceNode(image()), bank, CandidateWeights(blend, None), [[] for _ in range(EDGES)])
    assert len(seen) == 2
    assert torch.equal(seen[0], ops[:, :, 1])
    assert seen[1] is None


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", [kind for kind in WEIGHTS if kind != "none"])
def test_what_arrives_is_the_weighted_sum(kind, affine, training):
    ops, edges = (None if shape is None else random(*shape) for shape in WEIGHTS[kind])
    if ops is not None:
        ops = random(*ops.shape[:-1], len(NAMES))
    made = candidates(*NAMES, affine=affine)
    for candidate in made:
        candidate.op.train(training)
    blend, x, terms = Blend(((),) * EDGES, ops, edges), image(), [[] for _ in range(EDGES)]
    weights = CandidateWeights(blend, None)
    add_outputs(SourceNode(x), made, weights, terms)
    for edge in range(EDGES):
        own = [candidate for candidate in made if candidate.edge == edge]
        expected = sum(times(candidate.op(x), weights.of(candidate)) for candidate in own)
        torch.testing.assert_close(sum_edges(None, [edge], terms, [[]] * EDGES), expected)


def test_what_is_the_same_on_every_edge_is_computed_once():
    made = candidates("max_pool_3x3", "skip_connect", edges=3)
    with networks.Calls() as calls:
        found = dict(outputs(SourceNode(image()), made))
    assert calls.count["aten::max_pool2d_with_indices"] == 1
    assert calls.count["aten::native_batch_norm"] == 1
    assert len({id(found[candidate]) for candidate in made}) == 2


def test_nothing_arrives_where_nothing_was_sent():
    assert sum_edges(None, [0, 1], [[], []], [[], []]) is None


def test_what_has_arrived_adds_up():
    x = torch.ones(2, 1, 1, 1)
    part = [(x, None), (x, torch.tensor(2.0)), (x, torch.tensor([10.0, 20.0]))]
    assert sum_edges(None, [0, 1], [part, part], [[], []]).flatten().tolist() == [26.0, 46.0]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_sums_leave_their_terms_alone(count):
    terms = [torch.full((2,), float(index), requires_grad=True) for index in range(count)]
    total = add_up(terms)
    assert total.tolist() == [sum(range(count))] * 2
    assert [term.tolist() for term in terms] == [[float(index)] * 2 for index in range(count)]
    total.sum().backward()
    assert all(term.grad.tolist() == [1.0, 1.0] for term in terms)


def test_times():
    x = torch.ones(2, 1, 1, 1)
    assert times(x, None) is x
    assert times(x, torch.tensor(3.0)).flatten().tolist() == [3.0, 3.0]
    assert times(x, torch.tensor([3.0, 4.0])).flatten().tolist() == [3.0, 4.0]


POOL = Stack(cells=1, reduce="pool", stages=2)
MANY = ("none", "skip_connect", "max_pool_3x3", "avg_pool_3x3", "nor_conv_3x3", "sep_conv_3x3")
FEW = ("skip_connect", "nor_conv_1x1")


def edges(*described: tuple[int, int, tuple[str, ...]]) -> tuple[Edge, ...]:
    return tuple(Edge(*one) for one in described)


def space_of(cell: Cell, stack: Stack = POOL) -> SearchSpace:
    return SearchSpace("own", (("cell", cell),), stack)


PARALLEL = edges((0, 2, MANY), (0, 2, FEW), (1, 3, FEW), (2, 3, FEW))
JOINED = edges((0, 1, FEW), (1, 2, MANY), (0, 3, FEW), (2, 3, FEW))
CELLS = {
    "different numbers of ops": Cell(1, 3, edges((0, 1, MANY), (0, 2, FEW), (1, 2, FEW[:1])), (2,)),
    "parallel edges": Cell(2, 4, PARALLEL, (2, 3)),
    "a node that nothing enters": Cell(1, 4, edges((0, 1, FEW), (2, 3, MANY)), (1, 2, 3)),
    "an output that is read": Cell(1, 3, edges((0, 1, MANY), (1, 2, MANY)), (1, 2), project=True),
    "only none": Cell(1, 3, edges((0, 1, ("none",)), (0, 2, MANY)), (1, 2)),
    "a concatenation": Cell(1, 3, edges((0, 1, FEW), (0, 2, MANY), (1, 2, FEW)), (2,), concat=(2,)),
    "joins": Cell(1, 4, JOINED, (3,), joins=(1, 3), concat=(3,)),
}
MIXINGS = {
    "softmax": networks.Mixing(),
    "dead": networks.Mixing(dead=True, ops="example", edges="example"),
    "attention": networks.Mixing(attend=True, edges="one"),
}


def check(space: SearchSpace, mixing: networks.Mixing, *, change=None, **options):
    """Both paths of one network, `change` being applied to each."""
    trial = networks.Trial(space, mixing)
    found = []
    for mix in ("fused", "plain"):
        net = networks.build(space, mix=mix, **options)
        found.append(networks.results(net if change is None else change(net), trial))
    networks.assert_equal(*found, within=1e-9)


@pytest.mark.parametrize("options", [{}, {"drop_path": 0.3, "search": False}], ids=["search", "drop-path"])
@pytest.mark.parametrize("mixing", MIXINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_any_cell(cell, mixing, options):
    check(space_of(CELLS[cell]), MIXINGS[mixing], **options)


@pytest.mark.parametrize("mixing", MIXINGS)
@pytest.mark.parametrize("cell", CELLS)
def test_any_cell_with_partial_channels(cell, mixing):
    check(space_of(CELLS[cell]), MIXINGS[mixing], partial=2, drop_path=0.3)


@pytest.mark.parametrize("mixing", MIXINGS)
def test_a_cell_that_halves(mixing):
    """Two cells, the second with stride 2, in whose middle nothing enters."""
    cell = Cell(2, 5, edges((0, 2, MANY), (1, 3, MANY), (2, 3, FEW), (3, 4, FEW)), (3, 4))
    empty = replace(cell, edges=cell.edges[:1], output=(2, 3))
    stack = Stack(cells=2, stages=2)
    space = SearchSpace("own", (("normal", cell), ("reduce", empty)), stack)
    check(space, MIXINGS[mixing])
    check(space, MIXINGS[mixing], partial=2, input=(3, 8, 8))


def test_a_sum_without_weights_and_drop_path():
    check(space_of(CELLS["an output that is read"]), networks.Mixing(ops="none"), drop_path=0.3)


def test_attention_takes_the_place_of_weights():
    space = get_space("nano")
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    (cell,) = space.cells.values()
    attend = networks.attention(torch.ones(3, 6, dtype=torch.float64))
    ops = torch.full((3, 6), 0.3, dtype=torch.float64)
    net = networks.build(space)
    for mix in ("fused", "plain"):
        net = networks.build(space, mix=mix)
        alone = net(x, ArchMixture(space, {"cell": Blend(all_live(cell), attend=attend)}))
        both = net(x, ArchMixture(space, {"cell": Blend(all_live(cell), ops, attend=attend)}))
        torch.testing.assert_close(alone, both)


class Doubled(nn.BatchNorm2d):
    """A norm with ways of its own, as a synchronized one has."""

    def forward(self, x):
        return 2 * super().forward(x)


def doubled(net: CellNet) -> CellNet:
    """The network with every norm of its cells replaced by a subclass."""
    for name, module in list(net.slots.named_modules()):
        if networks.is_norm(module):
            parent, _, own = name.rpartition(".")
            other = Doubled(module.num_features, affine=module.affine).double()
            other.load_state_dict(module.state_dict())
            setattr(net.slots.get_submodule(parent), own, other)
    return net


@pytest.mark.parametrize("search", [True, False], ids=["search", "affine"])
@pytest.mark.parametrize("name", ["darts", "nb201", "oneshot1"])
def test_other_classes_of_norms_are_respected(name, search):
    space = networks.shrink(get_space(name), cells=2)
    check(space, networks.Mixing(), change=doubled, search=search)
    check(space, networks.Mixing(ops="example"), change=lambda net: doubled(net).eval(), search=search)
    trial = networks.Trial(space)
    plain, other = networks.build(space).eval(), doubled(networks.build(space)).eval()
    assert not torch.allclose(plain(trial.x, trial.mixture()), other(trial.x, trial.mixture()))


def test_synchronized_norms():
    """Converted norms are not batch-norms of torch's own class; in evaluation they need no processes."""
    space = networks.shrink(get_space("darts"), cells=2)
    check(space, networks.Mixing(), change=lambda net: nn.SyncBatchNorm.convert_sync_batchnorm(net).eval())


def half_frozen(net: CellNet) -> CellNet:
    rng = Random(0)
    for norm in filter(networks.is_norm, net.modules()):
        norm.train(rng.random() < 0.5)
    return net


def averaging(net: CellNet) -> CellNet:
    for norm in filter(networks.is_norm, net.modules()):  # what torch.optim.swa_utils.update_bn does
        norm.reset_running_stats()
        norm.momentum = None
    return net


def own_settings(net: CellNet) -> CellNet:
    for index, norm in enumerate(filter(networks.is_norm, net.modules())):
        norm.eps, norm.momentum = 1e-3 * (1 + index % 3), 0.1 * (1 + index % 4)
    return net


@pytest.mark.parametrize("change", [half_frozen, averaging, own_settings])
@pytest.mark.parametrize("search", [True, False], ids=["search", "affine"])
def test_norms_that_are_set_up_otherwise(change, search):
    check(networks.shrink(get_space("darts"), cells=2), networks.Mixing(), change=change, search=search)


@pytest.mark.parametrize("frozen", ["weights", "mixing weights"])
def test_only_the_gradients_that_are_asked_for_are_computed(frozen):
    space = networks.shrink(get_space("darts"), cells=2)
    counts = []
    for freeze in (False, True):
        net, trial = networks.build(space), networks.Trial(space)
        loss = train_loss(net, trial, frozen if freeze else "")
        with networks.Calls() as calls:
            loss.backward()
        counts.append(sum(calls.count.values()))
        parameters = list(net.parameters()) if frozen == "weights" else list(trial.leaves.values())
        assert all((parameter.grad is None) == freeze for parameter in parameters)
    assert counts[1] < counts[0]


def train_loss(net, trial, frozen):
    net.requires_grad_(frozen != "weights")
    for leaf in trial.leaves.values():
        leaf.requires_grad_(frozen != "mixing weights")
    return trial.loss(net)[0]


def test_none_is_never_computed(monkeypatch):
    def fail(*_):
        raise AssertionError("none was computed")

    monkeypatch.setattr(Zero, "body", fail)
    for name in ("darts", "nb201"):
        space = networks.shrink(get_space(name))
        x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
        networks.build(space)(x)
        discrete = restrict(space, sample(space, Random(0)))
        networks.build(discrete)(x)
        with pytest.raises(AssertionError, match="none was computed"):
            networks.build(space, mix="plain")(x)


def test_copies_of_an_op_that_leave_a_node_run_as_one():
    """DARTS' cell has 14 edges but 5 nodes they leave; a separable convolution is 4 convolutions."""
    space = space_of(get_space("darts").cells["normal"], Stack(cells=1, reduce="pool", stages=1))
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    count = {}
    for mix in ("fused", "plain"):
        net = networks.build(space, mix=mix)
        with networks.Calls() as calls:
            net(x)
        count[mix] = calls.count["aten::convolution"] - 3  # the stem and two adapters
    sep_and_dil = 2 * 4 + 2 * 2
    assert count == {"fused": 5 * sep_and_dil, "plain": 14 * sep_and_dil}


@pytest.mark.parametrize("precision", [torch.bfloat16])
@pytest.mark.parametrize("name", ["darts", "nb201", "oneshot1"])
def test_mixed_precision(name, precision):
    space = networks.shrink(get_space(name), cells=2)
    x = torch.randn(4, 3, 8, 8)
    logits = {}
    for mix in ("fused", "plain"):
        net = networks.build(space, mix=mix, dtype=torch.float32)
        with torch.autocast("cpu", dtype=precision):
            logits[mix] = net(x)
        logits[mix].float().square().sum().backward()
        assert net.stem.stages[0][0].weight.grad.isfinite().all()
        assert all(buffer.dtype in (torch.float32, torch.int64) for buffer in net.buffers())
    torch.testing.assert_close(logits["fused"], logits["plain"], rtol=0.1, atol=0.1)


@pytest.mark.parametrize("mix", ["fused", "plain"])
def test_the_layout_of_the_images_does_not_matter(mix):
    net = networks.build(networks.shrink(get_space("darts"), cells=2), mix=mix).eval()
    x = torch.randn(2, 3, 8, 6, dtype=torch.float64)
    expected = net(x)
    torch.testing.assert_close(net(x.contiguous(memory_format=torch.channels_last)), expected)
    torch.testing.assert_close(net(x.transpose(2, 3).contiguous().transpose(2, 3)), expected)


def test_a_step_leaves_its_inputs_alone():
    space = networks.shrink(get_space("darts"), cells=2)
    net, trial = networks.build(space), networks.Trial(space, networks.Mixing(edges="one"))
    given = {"x": trial.x, **trial.leaves}
    before = {name: value.detach().clone() for name, value in given.items()}
    trial.loss(net)[0].backward()
    networks.assert_equal(given, before, within=0.0)


def test_one_hot_and_uniform_take_the_type_of_the_images():
    space = get_space("nano")
    net = networks.build(space, dtype=torch.float32)
    x = torch.randn(2, 3, 8, 8)
    assert net(x).dtype == net(x, uniform(space)).dtype == torch.float32
    assert net(x, one_hot(space, sample(space, Random(0)))).dtype == torch.float32
