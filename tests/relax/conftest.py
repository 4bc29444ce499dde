"""A space whose edges differ in every way that matters to a relaxation."""

import pytest
import torch

from dartboard.space import Cell, Contest, Edge, SearchSpace, Stack

CELL = Cell(
    inputs=1,
    nodes=4,
    edges=(
        Edge(0, 1, ("none", "skip_connect", "nor_conv_1x1")),
        Edge(0, 2, ("nor_conv_1x1",)),
        Edge(1, 2, ("skip_connect", "avg_pool_3x3")),
        Edge(0, 3, ("skip_connect", "nor_conv_3x3")),
        Edge(1, 3, ("skip_connect",)),
        Edge(2, 3, ("none", "avg_pool_3x3", "nor_conv_1x1")),
    ),
    output=(3,),
    contests=(Contest((3, 4, 5), keep=2),),
    adapt=False,
)


@pytest.fixture
def ragged() -> SearchSpace:
    """One to three candidates an edge, a contest at the last node; two slots that share the cell."""
    stack = Stack(cells=1, reduce="residual", stages=2, stem=1, head_norm=True, pool_norm=False)
    return SearchSpace("ragged", (("cell", CELL),), stack)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)
