import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from dartboard.tables.nb101 import CHANNELS, CLASSES, STACKS, convolutions, count_flops, vertex_channels
from dartboard.tables.nb101_table import LABELS, labels_of, matrix_of, read_table
from helpers.nb101_data import C1, C3, CELLS, MP, folder

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


def count_parameters(matrix, labels) -> int:
    """Kernels and batch-norms of the convolutions, and the classifier."""
    convolution = sum(conv.weights + 2 * conv.outputs for conv in convolutions(matrix, labels))
    return convolution + ((CHANNELS << STACKS - 1) + 1) * CLASSES


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
