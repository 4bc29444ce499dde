import pytest
import torch

from dartboard.errors import NetworkError
from dartboard.nn import Blend, all_live
from dartboard.nn.cell import CellModule, CellOptions, FeatureInfo, adapter
from dartboard.nn.ops import FactorizedReduce, ReLUConvNorm
from dartboard.space import Cell, Edge, get_space
from helpers import networks

SKIP, CONV = ("skip_connect",), ("nor_conv_3x3",)
PATHS = pytest.mark.parametrize("plain", [True, False], ids=["plain", "fused"])


def make(cell: Cell, feeds=((4, 1),), **options) -> CellModule:
    torch.manual_seed(0)
    given = {"width": 4} | options
    return CellModule(cell, [FeatureInfo(*feed) for feed in feeds], CellOptions(**given)).double()


def image(channels: int = 4, size: int = 6, batch: int = 3) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(batch, channels, size, size, dtype=torch.float64)


def run(module: CellModule, *entering: torch.Tensor, **more) -> torch.Tensor:
    return module(entering, Blend(all_live(module.cell)), **more)


def test_an_input_of_the_same_size_is_adapted_by_a_convolution():
    module = adapter(FeatureInfo(12, 2), 4, 2, affine=False)
    assert isinstance(module, ReLUConvNorm)
    assert module.double()(image(12)).shape == (3, 4, 6, 6)
    assert not module.norm.affine


def test_a_larger_input_is_halved():
    module = adapter(FeatureInfo(12, 1), 4, 2, affine=True)
    assert isinstance(module, FactorizedReduce)
    assert module.double()(image(12, 7)).shape == (3, 4, 4, 4)


@PATHS
def test_inputs_of_two_sizes_meet(plain):
    cell = Cell(2, 3, (Edge(0, 2, SKIP), Edge(1, 2, SKIP)), (2,))
    module = make(cell, [(6, 1), (8, 2)], plain=plain)
    assert run(module, image(6, 9), image(8, 5)).shape == (3, 4, 5, 5)
    assert module.feature_info == FeatureInfo(4, 2)


@PATHS
def test_a_reduction_halves_what_leaves_the_inputs_only(plain):
    cell = Cell(1, 3, (Edge(0, 1, CONV), Edge(1, 2, CONV), Edge(0, 2, CONV)), (1, 2))
    module = make(cell, stride=2, plain=plain)
    assert run(module, image(size=9)).shape == (3, 8, 5, 5)
    assert module.feature_info == FeatureInfo(8, 2)


@PATHS
def test_the_output_is_the_listed_nodes_side_by_side(plain):
    edges = (Edge(0, 1, SKIP), Edge(1, 2, CONV), Edge(2, 3, CONV))
    module = make(Cell(1, 4, edges, (3, 1), adapt=False), plain=plain).eval()
    x = image()
    found = run(module, x)
    torch.testing.assert_close(found[:, 4:], x)
    torch.testing.assert_close(
        found[:, :4], module.edges[2]["nor_conv_3x3"](module.edges[1]["nor_conv_3x3"](x))
    )


@PATHS
def test_a_projection_brings_the_output_back_to_the_width(plain):
    edges = (Edge(0, 1, SKIP), Edge(1, 2, CONV))
    module = make(Cell(1, 3, edges, (1, 2), project=True), plain=plain).eval()
    whole = make(Cell(1, 3, edges, (1, 2)), plain=plain).eval()
    whole.load_state_dict({k: v for k, v in module.state_dict().items() if not k.startswith("project")})
    assert module.feature_info == FeatureInfo(4, 1)
    torch.testing.assert_close(run(module, image()), module.project(run(whole, image())))


@PATHS
@pytest.mark.parametrize("stride", [1, 2])
def test_a_node_that_nothing_enters_is_zero(plain, stride):
    cell = Cell(1, 3, (Edge(0, 1, ("none",)),), (1, 2))
    found = run(make(cell, plain=plain, stride=stride), image(size=5))
    size = -(-5 // stride)
    assert torch.equal(found, torch.zeros(3, 8, size, size).double())


@PATHS
def test_channels_change_on_the_first_edge_where_inputs_are_not_adapted(plain):
    cell = Cell(1, 3, (Edge(0, 1, SKIP), Edge(1, 2, SKIP)), (2,), adapt=False)
    module = make(cell, [(6, 1)], plain=plain)
    assert run(module, image(6)).shape == (3, 4, 6, 6)
    assert len(module.adapt) == 0


def test_a_concatenation_is_as_wide_as_its_edges():
    module = make(get_space("oneshot1").cells["cell"], [(6, 1)])
    assert module.channels == [6, 4, 4, 4, 4, 4, 4, 4, 4, 20]
    assert module.feature_info == FeatureInfo(20, 1)


def test_partial_channels_must_divide_the_width():
    with pytest.raises(NetworkError, match="partial channels: 3 does not divide a cell's 4 channels"):
        make(Cell(1, 2, (Edge(0, 1, SKIP),), (1,)), partial=3)


def test_connections_into_joins_are_always_whole():
    cell = get_space("oneshot1").cells["cell"]
    module = make(cell, [(6, 1)], partial=2)
    for index, edge in enumerate(cell.edges):
        assert module.partial[index] == (1 if edge.target in cell.joins else 2)
        x = image(module.channels[edge.source])
        head, rest = module.divide(index, x)
        assert (rest is None) == (edge.target in cell.joins)
        assert torch.equal(x, head if rest is None else torch.cat([head, rest], dim=1))


def test_a_shuffle_deals_the_channels_out():
    module = make(Cell(1, 2, (Edge(0, 1, SKIP),), (1,)), width=8, partial=4)
    x = torch.arange(8.0).view(1, 8, 1, 1)
    assert module.shuffle(x).flatten().tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_the_bypass_is_pooled_where_the_edge_strides():
    cell = Cell(1, 3, (Edge(0, 1, CONV), Edge(1, 2, CONV)), (2,))
    module = make(cell, stride=2, partial=2)
    x = image(size=5)
    expected = torch.nn.functional.max_pool2d(x[:, 2:], 2, ceil_mode=True)
    assert torch.equal(module.divide(0, x)[1], expected)
    assert torch.equal(module.divide(1, x)[1], x[:, 2:])


DROPPED = Cell(1, 2, (Edge(0, 1, CONV),), (1,), adapt=False)


@PATHS
def test_a_path_is_dropped_for_an_example_in_training(plain):
    module = make(DROPPED, plain=plain)
    x = image(batch=200)
    kept = module.edges[0]["nor_conv_3x3"](x)
    torch.manual_seed(0)
    found = run(module, x, drop_path=0.25)
    factors = (found / kept).mean(dim=(1, 2, 3))
    assert factors.round(decimals=6).unique().tolist() == [0.0, pytest.approx(4 / 3)]
    assert 0.15 < (factors < 0.5).double().mean() < 0.35
    torch.testing.assert_close(found, kept * factors[:, None, None, None])


@PATHS
def test_nothing_is_dropped_in_evaluation(plain):
    module = make(DROPPED, plain=plain).eval()
    assert torch.equal(run(module, image(), drop_path=0.9), run(module, image()))


@PATHS
def test_an_edge_that_hands_its_input_on_is_not_dropped(plain):
    module = make(Cell(1, 2, (Edge(0, 1, SKIP),), (1,), adapt=False), plain=plain)
    assert torch.equal(run(module, image(), drop_path=0.9), image())


@PATHS
def test_connections_into_joins_are_not_dropped(plain):
    module = make(Cell(1, 2, (Edge(0, 1, CONV),), (1,), joins=(1,), adapt=False), plain=plain)
    torch.testing.assert_close(run(module, image(), drop_path=0.9), module.edges[0]["nor_conv_3x3"](image()))


@PATHS
def test_options_reach_the_norms(plain):
    cell = Cell(1, 2, (Edge(0, 1, ("max_pool_3x3", "nor_conv_3x3")),), (1,), project=True)
    for affine in (True, False):
        norms = [
            module for module in make(cell, affine=affine, plain=plain).modules() if networks.is_norm(module)
        ]
        assert {norm.affine for norm in norms} == {affine}
    assert make(cell, pool_norm=True).edges[0]["max_pool_3x3"].norm is not None
    assert make(cell, pool_norm=False).edges[0]["max_pool_3x3"].norm is None


def test_the_option_chooses_the_path(monkeypatch):
    import dartboard.nn.cell as module

    for name, plain in (("plain_nodes", True), ("fused_nodes", False)):
        seen = []
        original = getattr(module, name)
        with monkeypatch.context() as patch:
            patch.setattr(module, name, lambda *given, f=original, seen=seen: seen.append(1) or f(*given))
            run(make(DROPPED, plain=plain), image())
            assert seen == [1]
            run(make(DROPPED, plain=not plain), image())
            assert seen == [1]


@PATHS
@pytest.mark.parametrize(
    ("live", "shape"),
    [(2, (3, 6)), (3, (3, 1)), (3, (2, 6)), (3, (4, 3, 5))],
    ids=["edges", "one", "rows", "places"],
)
def test_a_mixture_for_another_cell_is_refused(plain, live, shape):
    cell = get_space("nano").cells["cell"]
    module = make(cell, plain=plain)
    blend = Blend(all_live(cell)[:live], torch.ones(shape, dtype=torch.float64))
    with pytest.raises(NetworkError, match="for another cell"):
        module([image()], blend)


def test_partial_channels_need_sources_of_the_cells_own_width():
    cell = Cell(1, 2, (Edge(0, 1, CONV),), (1,), adapt=False)
    with pytest.raises(NetworkError, match="edge 0 -> 1: its source has 8 channels, the cell 4"):
        make(cell, ((8, 1),), partial=2)


@PATHS
def test_pruning_takes_out_all_but_what_lives(plain):
    cell = get_space("nano").cells["cell"]
    module = make(cell, plain=plain)
    before = {id(own) for own in module.parameters()}
    gone = module.prune(((0, 2), (1,), (3, 5)))
    assert [list(ops) for ops in module.edges] == [
        ["none", "nor_conv_1x1"],
        ["skip_connect"],
        ["nor_conv_3x3", "sep_conv_3x3"],
    ]
    after = {id(own) for own in module.parameters()}
    assert gone
    assert after | {id(own) for own in gone} == before
    assert not after & {id(own) for own in gone}
    assert module.prune(((0, 2), (1,), (3, 5))) == []


@PATHS
def test_what_was_pruned_cannot_be_asked_for(plain):
    cell = get_space("nano").cells["cell"]
    module = make(cell, plain=plain)
    live = ((1, 2), (1, 2), (1, 2))
    module.prune(live)
    weights = torch.rand(3, 6, dtype=torch.float64)
    assert module([image()], Blend(live, weights)).isfinite().all()
    with pytest.raises(NetworkError, match=r"nor_conv_3x3 on edge 0 -> 1 has been removed"):
        module([image()], Blend(((1, 2, 3), (1, 2), (1, 2)), weights))
