import torch

from dartboard.export.python import exported_weights
from dartboard.export.python_source import exported_edges, op_builders
from dartboard.space import Cell, Edge


def entries(cell):
    return [(edge.source, edge.target, edge.op) for edge in exported_edges(cell)]


def test_absent_edges_stay_only_where_something_stands_for_them():
    edges = (Edge(0, 1, ("none",)), Edge(0, 2, ("none",)), Edge(1, 2, ("skip_connect",)))
    cell = Cell(1, 4, edges, output=(2,), adapt=False)
    assert entries(cell) == [(0, 1, "none"), (1, 2, "skip_connect"), (0, 3, "none")]
    side = Cell(1, 3, edges, output=(2,), concat=(2,), adapt=False)
    assert entries(side) == [(0, 1, "none"), (0, 2, "none"), (1, 2, "skip_connect")]
    assert [edge.index for edge in exported_edges(side)] == [None, 1, 2]


def test_a_skip_is_written_as_what_it_is_in_all_places(make_model):
    found = {op_builders(make_model("s2", seed=seed).net).get("skip_connect") for seed in range(4)}
    assert found <= {"identity", "skip_or_reduce", "FactorizedReduce"}
    assert "skip_or_reduce" in found


def test_all_weights_but_those_of_the_auxiliary_head_go_along(make_model):
    net = make_model("xnas", auxiliary=True).net
    own = [value for name, value in net.state_dict().items() if not name.startswith("auxiliary.")]
    found = list(exported_weights(net).values())
    assert len(found) == len(own)
    assert all(torch.equal(a, b) for a, b in zip(own, found, strict=True))


def test_norms_without_scales_get_some_that_change_nothing(make_model):
    found = exported_weights(make_model("darts", search=True).net)
    means = [name for name in found if name.endswith("running_mean")]
    scales = [found[name.replace("running_mean", "weight")] for name in means]
    assert sum(bool((scale == 1).all()) for scale in scales) > len(means) // 2
