"""The plain formula against sums written out by hand."""

import pytest
import torch
import torch.nn.functional as F

from dartboard.nn import Blend
from dartboard.nn.cell import CellModule, CellOptions, FeatureInfo, plain_nodes
from dartboard.nn.mixture import all_live
from dartboard.space import Cell, Edge, get_space
from helpers import networks

OPS = ("none", "skip_connect", "nor_conv_3x3", "max_pool_3x3")
EDGES = tuple(Edge(source, target, OPS) for target in (2, 3) for source in range(target))
CELL = Cell(2, 4, EDGES, (2, 3), adapt=False)
BATCH, WIDTH = 3, 8


def make(cell: Cell = CELL, **options) -> CellModule:
    torch.manual_seed(0)
    given = {"width": WIDTH, "plain": True} | options
    return CellModule(cell, [FeatureInfo(WIDTH, 1)] * cell.inputs, CellOptions(**given)).double().eval()


def images() -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [torch.randn(BATCH, WIDTH, 6, 6, dtype=torch.float64) for _ in range(2)]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def by_hand(module, entering, weight):
    """Both inner nodes, `weight(edge, place)` being the weight of a candidate."""
    nodes = list(entering)
    for node in (2, 3):
        total = 0.0
        for index, edge in enumerate(EDGES):
            if edge.target == node:
                for place, name in enumerate(OPS):
                    total = total + weight(index, place) * module.edges[index][name](nodes[edge.source])
        nodes.append(total)
    return torch.stack(nodes)


def check(module, blend, weight, drop=None):
    entering = images()
    found = torch.stack(plain_nodes(module, entering, blend, drop))
    torch.testing.assert_close(found, by_hand(module, entering, weight))


def column(values: torch.Tensor) -> torch.Tensor:
    return values[:, None, None, None]


def test_an_edge_is_a_weighted_sum_and_a_node_the_sum_of_its_edges():
    ops = random(5, 4)
    check(make(), Blend(all_live(CELL), ops), lambda edge, place: ops[edge, place])


def test_weights_per_example():
    ops = random(BATCH, 5, 4)
    check(make(), Blend(all_live(CELL), ops), lambda edge, place: column(ops[:, edge, place]))


def test_no_weights_are_a_sum():
    check(make(), Blend(all_live(CELL)), lambda *_: 1.0)


@pytest.mark.parametrize("shape", [(5,), (BATCH, 5)])
def test_weights_of_edges_come_on_top(shape):
    ops, edges = random(5, 4), random(*shape)

    def weight(edge, place):
        own = edges[..., edge]
        return ops[edge, place] * (own if own.dim() == 0 else column(own))

    check(make(), Blend(all_live(CELL), ops, edges), weight)


def test_only_live_candidates_count():
    live = ((0, 2), (), (1,), (2, 3), (3,))
    ops = random(5, 4)
    check(make(), Blend(live, ops), lambda edge, place: ops[edge, place] if place in live[edge] else 0.0)


def test_dropped_edges_hand_on_what_is_not_an_op():
    ops, drop = random(5, 4), torch.tensor([[0.0, 2.0, 2.0, 0.0, 2.0]] * BATCH).double()
    drop[1] = 2.0 - drop[1]
    skip = OPS.index("skip_connect")

    def weight(edge, place):
        return ops[edge, place] * (1.0 if place == skip else column(drop[:, edge]))

    check(make(), Blend(all_live(CELL), ops), weight, drop)


def test_attention_gets_the_outputs_of_the_live_candidates():
    module, entering = make(), images()
    live = ((1, 2), (0, 1, 2, 3), (2,), (3,), (1, 3))
    seen = {}

    def attend(edge, outputs):
        seen[edge] = outputs
        return torch.stack([output.mean(dim=(1, 2, 3)) for output in outputs], dim=-1)

    nodes = plain_nodes(module, entering, Blend(live, attend=attend), None)
    assert {edge: len(outputs) for edge, outputs in seen.items()} == {0: 2, 1: 4, 2: 1, 3: 1, 4: 2}
    for edge in range(5):
        names = [OPS[place] for place in live[edge]]
        for name, output in zip(names, seen[edge], strict=True):
            torch.testing.assert_close(output, module.edges[edge][name](nodes[EDGES[edge].source]))
    first = sum(column(output.mean(dim=(1, 2, 3))) * output for edge in (0, 1) for output in seen[edge])
    torch.testing.assert_close(nodes[2], first)


def test_a_node_that_concatenates_has_zeros_where_an_edge_is_absent():
    cell = Cell(2, 4, EDGES, (3,), concat=(3,), adapt=False)
    module, entering = make(cell), images()
    live = ((1,), (1,), (1,), (), (2,))
    nodes = plain_nodes(module, entering, Blend(live), None)
    expected = [entering[0], torch.zeros_like(entering[0]), module.edges[4]["nor_conv_3x3"](nodes[2])]
    torch.testing.assert_close(nodes[3], torch.cat(expected, dim=1))


def shuffled(x, groups):
    """PC-DARTS' channel_shuffle, as its code has it."""
    batch, channels, height, width = x.shape
    x = x.view(batch, groups, channels // groups, height, width)
    return torch.transpose(x, 1, 2).contiguous().view(batch, -1, height, width)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("partial", [2, 4])
def test_partial_channels_are_mixed_by_a_shuffle(partial, stride):
    """PC-DARTS: one in K channels passes the candidates, the others pass by, pooled where edges stride."""
    module = make(partial=partial, stride=stride)
    entering, ops, edges = images(), random(5, 4), random(5)
    nodes = plain_nodes(module, entering, Blend(all_live(CELL), ops, edges), None)
    expected = 0.0
    for index, x in enumerate(entering):
        head, rest = x[:, : WIDTH // partial], x[:, WIDTH // partial :]
        mixed = sum(ops[index, place] * module.edges[index][name](head) for place, name in enumerate(OPS))
        rest = F.max_pool2d(rest, 2, 2) if stride == 2 else rest
        expected = expected + edges[index] * shuffled(torch.cat([mixed, rest], dim=1), partial)
    torch.testing.assert_close(nodes[2], expected)


def test_the_reference_calls_every_live_op_by_itself():
    space = networks.shrink(get_space("nb201"))
    net = networks.build(space, mix="plain")
    with networks.OpCalls(net) as calls:
        net(torch.randn(2, 3, 8, 8, dtype=torch.float64))
    assert sum(calls.count.values()) == 2 * 6 * 5
