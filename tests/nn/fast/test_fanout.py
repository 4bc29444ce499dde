import pytest
import torch

import lab
from dartboard.nn import Blend, Site, build_op
from dartboard.nn.fast.fanout import Candidate, Parts, Weights, add_up, banks, gather, outputs, spread, times
from dartboard.nn.node_source import Source

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
        lab.scramble(candidate.op, seed=seed)
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
    weights = Weights(Blend(((),) * EDGES, ops, edges), factors)
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


def test_the_weights_of_a_bank_come_last():
    found = candidates("nor_conv_1x1", "sep_conv_3x3")
    bank = [candidate for candidate in found if candidate.place == 1]
    ops = random(BATCH, EDGES, MOST)
    weights = Weights(Blend(((),) * EDGES, ops), None)
    assert torch.equal(weights.of_bank(bank), ops[:, :, 1])
    assert Weights(Blend(((),) * EDGES), None).of_bank(bank) is None


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
    blend, x, parts = Blend(((),) * EDGES, ops, edges), image(), [Parts() for _ in range(EDGES)]
    weights = Weights(blend, None)
    spread(Source(x), made, weights, parts)
    for edge in range(EDGES):
        own = [candidate for candidate in made if candidate.edge == edge]
        expected = sum(times(candidate.op(x), weights.of(candidate)) for candidate in own)
        torch.testing.assert_close(gather([parts[edge]]), expected)


def test_what_is_the_same_on_every_edge_is_computed_once():
    made = candidates("max_pool_3x3", "skip_connect", edges=3)
    with lab.Calls() as calls:
        found = dict(outputs(Source(image()), made))
    assert calls.count["aten::max_pool2d_with_indices"] == 1
    assert calls.count["aten::native_batch_norm"] == 1
    assert len({id(found[candidate]) for candidate in made}) == 2


def test_nothing_arrives_where_nothing_was_sent():
    assert gather([Parts(), Parts()]) is None


def test_what_has_arrived_adds_up():
    x = torch.ones(2, 1, 1, 1)
    part = Parts()
    part.add(x, None)
    part.add(x, torch.tensor(2.0))
    part.add(x, torch.tensor([10.0, 20.0]))
    assert gather([part, part]).flatten().tolist() == [26.0, 46.0]


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
