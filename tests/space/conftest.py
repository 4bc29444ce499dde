import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import strategies as st

from dartboard.space import Cell, Contest, Edge, SearchSpace, Stack
from dartboard.space.catalog import stacked

OPS = ("none", "skip_connect", "sep_conv_3x3")


@pytest.fixture
def rng() -> Random:
    return Random(20)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with facts gathered from public sources, which is not part of the project."""
    folder = os.environ.get("DARTBOARD_DATA")
    if not folder:
        pytest.skip("DARTBOARD_DATA is not set; it names the folder with the data to compare with")
    return Path(folder)


@st.composite
def _small_cells(draw: st.DrawFn) -> Cell:
    """Cells with any edges, parallel ones too, any candidates, and contests at some nodes."""
    nodes = draw(st.integers(2, 4))
    pairs = [(source, target) for target in range(1, nodes) for source in range(target)]
    chosen = sorted(draw(st.lists(st.sampled_from(pairs), max_size=5)), key=lambda pair: pair[1])
    ops = st.lists(st.sampled_from(OPS), min_size=1, unique=True).map(tuple)
    edges = tuple(Edge(source, target, draw(ops)) for source, target in chosen)
    contests = []
    for node in range(1, nodes):
        entering = tuple(index for index, edge in enumerate(edges) if edge.target == node)
        winners = sum(edges[index].ops != ("none",) for index in entering)
        keep = draw(st.integers(0, winners))
        if keep:
            contests.append(Contest(entering, keep))
    output = tuple(draw(st.sets(st.integers(1, nodes - 1), min_size=1)))
    return Cell(1, nodes, edges, output, tuple(contests))


@pytest.fixture(scope="session")
def small_spaces() -> st.SearchStrategy[SearchSpace]:
    """Spaces of one small cell, whose architectures can be listed."""
    stack = Stack(cells=1, reduce="pool", stages=1)
    return _small_cells().map(lambda cell: stacked("small", cell, stack))
