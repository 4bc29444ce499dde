"""What the networks that NAS-Bench-101 trained cost, counted from their cells (Ying et al. 2019, section 2).

A stem of 128 channels, three stacks of three cells on images of 32x32, between the stacks half the size and
twice the channels, then the mean over the image and a classifier. A cell's output concatenates: its vertices
share the channels, and those that feed others have as many as the widest they feed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CHANNELS, SIDE, STACKS, CELLS, CLASSES = 128, 32, 3, 3, 10
KERNELS = (3, 1, 0)
"""The side of each op's kernel, in the order of `nb101_cells.LABELS`; pooling has none."""

Matrix = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Convolution:
    """A convolution of the network, without bias and followed by a batch-norm.

    Args:
        kernel: Side of its kernel.
        inputs: Channels that enter.
        outputs: Channels that leave.
        side: Of the image that leaves.
    """

    kernel: int
    inputs: int
    outputs: int
    side: int

    @property
    def weights(self) -> int:
        """Numbers in its kernels."""
        return self.kernel**2 * self.inputs * self.outputs


def count_parameters(matrix: Matrix, labels: Sequence[int]) -> int:
    """How many numbers the network of a cell learns.

    Args:
        matrix: The cell's edges as the benchmark has them, without loose ends.
        labels: The op of each inner vertex, a place in `nb101_cells.LABELS`.
    """
    learnt = sum(own.weights + 2 * own.outputs for own in convolutions(matrix, labels))
    return learnt + (_width(STACKS - 1) + 1) * CLASSES


def count_flops(matrix: Matrix, labels: Sequence[int]) -> int:
    """Operations of one image in the network of a cell, two a multiply-add; see `count_parameters`."""
    products = sum(own.weights * own.side**2 for own in convolutions(matrix, labels))
    return 2 * (products + _width(STACKS - 1) * CLASSES)


def convolutions(matrix: Matrix, labels: Sequence[int]) -> Iterator[Convolution]:
    """All convolutions of the network of a cell, from the stem on."""
    yield Convolution(3, 3, CHANNELS, SIDE)
    inputs = CHANNELS
    for stack in range(STACKS):
        for _ in range(CELLS):
            yield from _cell(matrix, labels, inputs, stack)
            inputs = _width(stack)


def _width(stack: int) -> int:
    return CHANNELS << stack


def _cell(matrix: Matrix, labels: Sequence[int], inputs: int, stack: int) -> Iterator[Convolution]:
    side = SIDE >> stack
    for vertex, width in enumerate(vertex_channels(matrix, _width(stack)), start=1):
        if matrix[0][vertex]:
            yield Convolution(1, inputs, width, side)
        kernel = KERNELS[labels[vertex - 1]] if vertex <= len(labels) else 0
        if kernel:
            yield Convolution(kernel, width, width, side)


def vertex_channels(matrix: Matrix, channels: int) -> list[int]:
    """The channels of every vertex after the input, the output's last.

    What does not divide evenly goes to the first of those that share it, one channel each.
    """
    output = len(matrix) - 1
    sharing = [vertex for vertex in range(1, output) if matrix[vertex][output]]
    widths = {
        vertex: channels // len(sharing) + (place < channels % len(sharing))
        for place, vertex in enumerate(sharing)
    }
    for vertex in reversed(range(1, output)):
        if vertex not in widths:
            widths[vertex] = max(
                widths[later] for later in range(vertex + 1, output) if matrix[vertex][later]
            )
    return [*(widths[vertex] for vertex in range(1, output)), channels]
