from random import Random

import pytest
import torch

from dartboard.errors import NetworkError
from dartboard.nn import ArchMixture, Blend, all_live, one_hot, uniform
from dartboard.nn.inherit import inherit
from dartboard.nn.mixture import match_edges
from dartboard.space import (
    Cell,
    Edge,
    Genotype,
    SearchSpace,
    Stack,
    enumerate_genotypes,
    get_space,
    restrict,
    sample,
)
from helpers import networks

ONE = Stack(cells=1, reduce="pool", stages=1)


def space_of(cell: Cell) -> SearchSpace:
    return SearchSpace("own", (("cell", cell),), ONE)


def test_slots_that_read_an_arch_get_its_blend():
    space = get_space("darts")
    blends = {arch: Blend(all_live(cell)) for arch, cell in space.groups}
    mixture = ArchMixture(space, blends)
    for index, slot in enumerate(space.slots):
        assert mixture.blend(index) is blends[slot.group]


def test_all_candidates_live():
    cell = Cell(1, 3, (Edge(0, 1, ("none", "skip_connect")), Edge(1, 2, ("skip_connect",))), (2,))
    assert all_live(cell) == ((0, 1), (0,))


def test_a_uniform_mixture_weighs_candidates_the_same():
    cell = Cell(1, 3, (Edge(0, 1, ("none", "skip_connect")), Edge(1, 2, ("skip_connect",))), (2,))
    blend = uniform(space_of(cell)).blend(0)
    assert blend.live == all_live(cell)
    assert blend.ops.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert blend.edges.tolist() == [1.0, 1.0]


def test_a_uniform_mixture_shares_out_weighted_contests():
    space = get_space("oneshot1")
    blend = uniform(space).blend(0)
    (cell,) = space.cells.values()
    contested = {index: 1 / len(contest.edges) for contest in cell.contests for index in contest.edges}
    assert contested
    expected = [contested.get(index, 1.0) for index in range(len(cell.edges))]
    assert blend.edges.tolist() == pytest.approx(expected)


def test_a_uniform_mixture_leaves_darts_edges_alone():
    assert uniform(get_space("darts")).blend(0).edges.tolist() == [1.0] * 14


def test_nothing_is_weighed_where_nothing_is_left_to_choose():
    space = get_space("darts")
    discrete = restrict(space, sample(space, Random(0)))
    blend = uniform(discrete).blend(0)
    assert (blend.ops, blend.edges, blend.attend) == (None, None, None)


@pytest.mark.parametrize(
    "make", [uniform, lambda space, like: one_hot(space, sample(space, Random(0)), like=like)]
)
def test_weights_take_type_and_device_of_a_tensor(make):
    like = torch.empty(0, dtype=torch.float64, device="meta")
    blend = make(get_space("nb201"), like=like).blend(0)
    assert (blend.ops.dtype, blend.ops.device.type) == (torch.float64, "meta")


def test_one_hot_gives_the_chosen_ops_weight_one():
    space = get_space("nb201")
    genotype = sample(space, Random(0))
    blend = one_hot(space, genotype).blend(0)
    ops = space.cells["cell"].edges[0].ops
    chosen = [edge.ops[0] for edge in restrict(space, genotype).cells["cell"].edges]
    assert blend.live == tuple((ops.index(op),) for op in chosen)
    assert blend.ops.sum(-1).tolist() == [1.0] * 6
    assert blend.ops.argmax(-1).tolist() == [ops.index(op) for op in chosen]


def test_one_hot_leaves_out_edges_that_lose_their_contest():
    space = get_space("darts")
    genotype = sample(space, Random(0))
    blend = one_hot(space, genotype).blend(0)
    kept = {(edge.source, edge.target): edge.ops[0] for edge in genotype.cells["normal"].edges}
    for edge, live, weights in zip(space.cells["normal"].edges, blend.live, blend.ops, strict=True):
        op = kept.get((edge.source, edge.target))
        assert live == (() if op is None else (edge.ops.index(op),))
        assert weights.sum() == (op is not None)


def test_a_genotype_that_leaves_out_an_edge_means_none():
    space = get_space("nb201")
    cell = space.cells["cell"]
    genotype = Genotype((("cell", Cell(1, 4, (Edge(0, 3, ("skip_connect",)),), (3,))),))
    assert one_hot(space, genotype).blend(0).live == tuple(
        (1,) if (edge.source, edge.target) == (0, 3) else (0,) for edge in cell.edges
    )


@pytest.mark.parametrize("mix", ["plain", "fused"])
def test_parallel_edges_have_their_own_ops(mix):
    ops = ("nor_conv_1x1", "nor_conv_3x3")
    space = space_of(Cell(1, 2, (Edge(0, 1, ops), Edge(0, 1, ops)), (1,)))
    supernet = networks.build(space, mix=mix)
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    for genotype in enumerate_genotypes(space):
        net = networks.build(restrict(space, genotype), mix=mix, seed=1)
        inherit(net, supernet)
        torch.testing.assert_close(supernet(x, one_hot(space, genotype, like=x)), net(x))


def test_a_cell_without_edges_has_a_one_hot_mixture():
    space = space_of(Cell(1, 2, (), (1,)))
    assert one_hot(space, sample(space, Random(0))).blend(0).live == ()


def test_edges_are_found_by_their_ends_and_ops():
    whole = Cell(1, 3, (Edge(0, 1, ("a", "b")), Edge(0, 2, ("a",)), Edge(1, 2, ("a", "b", "c"))), (2,))
    cell = Cell(1, 3, (Edge(1, 2, ("c", "a")), Edge(0, 1, ("b",))), (2,))
    assert match_edges(cell, whole) == (2, 0)
    assert match_edges(whole, whole) == (0, 1, 2)


def test_parallel_edges_keep_their_order():
    edges = (Edge(0, 1, ("a", "b")), Edge(0, 1, ("a", "b")), Edge(0, 1, ("c",)))
    whole = Cell(1, 2, edges, (1,))
    for ops, places in [
        (("a", "b"), (0, 1)),
        (("b", "c"), (0, 2)),
        (("b", "a", "c"), (0, 1, 2)),
        (("c",), (2,)),
    ]:
        cell = Cell(1, 2, tuple(Edge(0, 1, (op,)) for op in ops), (1,))
        assert match_edges(cell, whole) == places


def test_an_edge_that_the_supernet_lacks_is_refused():
    whole = Cell(1, 3, (Edge(0, 1, ("a",)), Edge(1, 2, ("a", "b"))), (2,))
    for edge, message in [
        (Edge(0, 2, ("a",)), "the supernet has no edge 0 -> 2 with a"),
        (Edge(1, 2, ("c",)), "the supernet has no edge 1 -> 2 with c"),
    ]:
        with pytest.raises(NetworkError, match=message):
            match_edges(Cell(1, 3, (edge,), (2,)), whole)
