import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from dartboard.tables.nb101_cells import (
    LABELS,
    cell_key,
    count_flops,
    count_parameters,
    edge_bits,
    forward_orders,
    labels_of,
    matrix_of,
    ops_codes,
    vertex_channels,
)
from dartboard.tables.nb101_file import read_table
from nb101_data import C1, C3, CELLS, MP, SMALL, folder


@pytest.mark.parametrize("row", range(len(CELLS)))
def test_bits_and_codes_are_those_of_the_table(row):
    matrix, ops = CELLS[row]
    as_it_is = np.arange(len(matrix))[None]
    labels = [LABELS.index(op) for op in ops[1:-1]]
    assert edge_bits(matrix, as_it_is) == SMALL["adj_bits"][row]
    assert ops_codes(labels, as_it_is) == SMALL["ops_code"][row]
    assert matrix_of(int(SMALL["adj_bits"][row]), len(matrix)) == matrix
    assert labels_of(int(SMALL["ops_code"][row])) == labels


def test_two_vertices_side_by_side_have_two_orders_and_a_chain_has_one():
    side_by_side, chain = CELLS[2][0], CELLS[3][0]
    assert forward_orders(side_by_side).tolist() == [[0, 1, 2, 3], [0, 2, 1, 3]]
    assert forward_orders(chain).tolist() == [[0, 1, 2, 3]]


def test_five_vertices_side_by_side_have_every_order():
    matrix = np.zeros((7, 7), dtype=int)
    matrix[0, 1:6] = matrix[1:6, 6] = 1
    orders = forward_orders(matrix)
    assert len({tuple(order) for order in orders.tolist()}) == len(orders) == 120
    assert len(set(edge_bits(matrix, orders).tolist())) == 1
    assert len(set(ops_codes([0, 0, 1, 1, 2], orders).tolist())) == 30


def test_an_order_takes_edges_and_ops_along():
    matrix = [[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    orders = np.array([[0, 2, 1, 3]])
    assert ops_codes([0, 2], orders).tolist() == [9 + 3 * 2 + 0]
    assert ops_codes([[0, 2], [1, 0]], orders).tolist() == [[15], [9 + 0 + 1]]
    assert edge_bits(matrix, orders) == 0b110011


def test_a_spelling_tells_edges_and_ops_apart():
    largest_edges, largest_ops = (1 << 21) - 1, 2 * 3**5 - 1
    assert cell_key(np.array([largest_edges]), np.array([1])) < cell_key(np.array([0]), np.array([2]))
    assert cell_key(np.array([largest_edges]), np.array([largest_ops])) == largest_ops * 2**21 + largest_edges


# Three vertices share the output's channels, which 3 does not divide; one feeds two that differ in width.
WIDE = (
    [
        [0, 1, 0, 1, 0, 1],
        [0, 0, 1, 0, 1, 0],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0],
    ],
    ["input", C3, C1, MP, C3, "output"],
)


def block(inputs: int, outputs: int, kernel: int) -> nn.Module:
    own = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(own, nn.BatchNorm2d(outputs), nn.ReLU())


OPS = {
    C3: lambda width: block(width, width, 3),
    C1: lambda width: block(width, width, 1),
    MP: lambda _: nn.MaxPool2d(3, 1, 1),
}


class Built(nn.Module):
    """A cell as a network: what enters a vertex is added, cut to its width; the output concatenates."""

    def __init__(self, matrix, ops, inputs, widths):
        super().__init__()
        self.matrix, self.widths = matrix, widths
        last = len(ops) - 1
        self.projections = nn.ModuleDict(
            {str(v): block(inputs, widths[v - 1], 1) for v in range(1, last + 1) if matrix[0][v]}
        )
        self.ops = nn.ModuleList(OPS[op](width) for op, width in zip(ops[1:-1], widths, strict=False))

    def forward(self, x):
        outputs, last = {}, len(self.matrix) - 1
        for v in range(1, last):
            entering = [outputs[u][:, : self.widths[v - 1]] for u in range(1, v) if self.matrix[u][v]]
            outputs[v] = self.ops[v - 1](sum(entering + self.projected(x, v)))
        joined = [outputs[v] for v in range(1, last) if self.matrix[v][last]]
        return sum(([torch.cat(joined, 1)] if joined else []) + self.projected(x, last))

    def projected(self, x, vertex):
        return [self.projections[str(vertex)](x)] if self.matrix[0][vertex] else []


def network(matrix, ops):
    parts, inputs = [block(3, 128, 3)], 128
    for width in (128, 256, 512):
        if width > 128:
            parts.append(nn.MaxPool2d(2))
        for _ in range(3):
            parts.append(Built(matrix, ops, inputs, vertex_channels(matrix, width)))
            inputs = width
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


@pytest.mark.parametrize(("matrix", "ops"), [*CELLS, WIDE])
def test_counts_are_those_of_a_network_that_torch_counts(matrix, ops):
    with torch.device("meta"):
        net = network(matrix, ops).eval()
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            net(torch.empty(1, 3, 32, 32))
    labels = [LABELS.index(op) for op in ops[1:-1]]
    assert count_parameters(matrix, labels) == sum(own.numel() for own in net.parameters())
    assert count_flops(matrix, labels) == counter.get_total_flops()


def test_vertices_share_the_channels_and_feed_no_wider_ones():
    assert vertex_channels(WIDE[0], 128) == [43, 43, 43, 42, 128]
    assert vertex_channels(CELLS[0][0], 128) == [128]


def test_parameters_are_those_of_the_benchmark():
    columns = read_table(folder() / "nb101.npz").columns
    for row in np.random.default_rng(0).integers(len(columns["params"]), size=2000):
        vertices, edges, ops, expected = (
            columns[name][row].item() for name in ("vertices", "adj_bits", "ops_code", "params")
        )
        assert count_parameters(matrix_of(edges, vertices), labels_of(ops)) == expected
