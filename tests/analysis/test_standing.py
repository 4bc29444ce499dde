from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.analysis.standing import Share, cells_of, connections, stand
from dartboard.analysis.topologies import count_topologies, topologies
from dartboard.analysis.variants import random_connections, widest
from dartboard.errors import GenotypeError
from dartboard.space import (
    SPACES,
    Cell,
    Contest,
    Edge,
    Genotype,
    SearchSpace,
    Stack,
    count_cell,
    decode,
    depth,
    enumerate_genotypes,
    get_published,
    get_space,
    width,
)
from dartboard.space.catalog import stacked

OPS = ("none", "skip_connect", "sep_conv_3x3")


@st.composite
def spaces(draw: st.DrawFn) -> SearchSpace:
    """Spaces of one cell with free edges, contests and edges that are never there."""
    pairs = [(source, target) for target in range(1, 4) for source in range(target)]
    chosen = sorted(draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=5)), key=lambda pair: pair[1])
    ops = st.lists(st.sampled_from(OPS), min_size=1, unique=True).map(tuple)
    edges = tuple(Edge(source, target, draw(ops)) for source, target in chosen)
    contests = []
    for node in range(1, 4):
        own = tuple(index for index, edge in enumerate(edges) if edge.target == node)
        able = sum(edges[index].ops != ("none",) for index in own)
        if able and draw(st.booleans()):
            contests.append(Contest(own, draw(st.integers(1, able))))
    cell = Cell(1, 4, edges, output=(3,), contests=tuple(contests))
    return stacked("small", cell, Stack(1, reduce="residual", stages=1))


@st.composite
def discrete_cells(draw: st.DrawFn) -> Cell:
    """Cells with two inputs, up to three inner nodes with up to two edges each, some of them `none`."""
    inner = draw(st.integers(1, 3))
    targets = [node for node in range(2, 2 + inner) for _ in range(draw(st.integers(0, 2)))]
    edges = tuple(Edge(0, node, (draw(st.sampled_from(OPS)),)) for node in targets)
    output = draw(st.sets(st.integers(2, 1 + inner), min_size=1))
    return Cell(2, 2 + inner, edges, tuple(sorted(output)))


def measured(cells: list[Cell]) -> Counter[tuple[float, int]]:
    return Counter((round(width(cell), 9), depth(cell)) for cell in cells)


def rounded(ways: object) -> Counter[tuple[float, int]]:
    found: Counter[tuple[float, int]] = Counter()
    for (wide, deep), number in dict(ways).items():  # type: ignore[call-overload]
        found[round(wide, 9), deep] += number
    return found


@given(space=spaces())
def test_cells_of_a_space_are_counted_as_they_are_listed(space: SearchSpace) -> None:
    every = [genotype.cells["cell"] for genotype in enumerate_genotypes(space)]
    assert rounded(cells_of(space, "cell").ways) == measured(every)


@given(space=spaces())
def test_topologies_are_counted_as_they_are_listed(space: SearchSpace) -> None:
    assert count_topologies(space.cells["cell"]) == len(list(topologies(space.cells["cell"])))


@given(cell=discrete_cells(), repeats=st.booleans())
def test_connections_are_counted_as_they_are_listed(cell: Cell, repeats: bool) -> None:
    every = []
    for sources in product(*(range(edge.target) for edge in cell.edges)):
        edges = tuple(replace(e, source=s) for e, s in zip(cell.edges, sources, strict=True))
        pairs = [(edge.source, edge.target) for edge in edges]
        if repeats or len(set(pairs)) == len(pairs):
            every.append(replace(cell, edges=edges))
    assert rounded(connections(cell, repeats=repeats).ways) == measured(every)


@pytest.mark.parametrize("name", [name for name in SPACES if name not in ("asm", "oneshot3")])
def test_no_cell_of_a_space_is_left_out(name: str) -> None:
    space = get_space(name)
    arch, cell = space.archs[0]
    kind = cells_of(space, arch)
    assert kind.exact
    assert kind.total == count_cell(cell)


def test_darts_has_180_topologies() -> None:
    assert count_topologies(get_space("darts").cells["normal"]) == 1 * 3 * 6 * 10


def test_the_extremes_the_paper_names() -> None:
    """understanding-cells 3.2: 4c and 2 with seven nodes, 5c and 2 with eight."""
    seven = cells_of(get_space("darts"), "normal")
    eight = connections(get_published("nasnet-a").cells["normal"])
    assert (seven.widest, seven.shallowest) == (4, 2)
    assert (eight.widest, eight.shallowest, eight.total) == (5, 2, 518_400)


def test_where_darts_stands() -> None:
    """One of the 180 topologies is wider: the one in which every node reads both inputs."""
    found = stand(get_published("darts-v2"), get_space("darts"))["normal"]
    assert found.width.above == pytest.approx(1 / 180)
    assert found.depth.below == pytest.approx(1 / 180)
    assert found.beyond == pytest.approx(1 / 180)
    assert found.common
    assert not found.extreme
    assert found.exact


def test_among_its_own_connections() -> None:
    """Nodes 3, 4 and 5 read inputs alone with chance 4/9, 4/16 and 4/25."""
    found = stand(get_published("darts-v2"))["normal"]
    assert found.width.above == pytest.approx(4 / 9 * 4 / 16 * 4 / 25)
    assert found.total == 14_400
    differing = stand(get_published("darts-v2"), repeats=False)["normal"]
    assert differing.width.above == pytest.approx(1 / 3 * 1 / 6 * 1 / 10)
    assert "different nodes" in differing.among


@given(name=st.sampled_from(("nasnet-a", "darts-v2", "gdas", "xnas")))
def test_the_widest_has_the_pattern_and_none_beyond(name: str) -> None:
    for found in stand(widest(get_published(name))).values():
        assert found.extreme
        assert found.common
        assert found.beyond == found.width.above == found.depth.below == 0


def test_deep_and_narrow_cells_lack_the_pattern() -> None:
    assert not stand(get_published("gdas"), get_space("darts"))["normal"].common
    assert not stand(get_published("xnas"), get_space("darts"))["normal"].common


def test_shares_and_ties() -> None:
    share = Share(0.2, 0.6, 0.2)
    assert share.percentile == pytest.approx(50)
    only = stand(next(enumerate_genotypes(get_space("s1"))), get_space("s1"))["normal"]
    assert only.width == only.depth == Share(0.0, 1.0, 0.0)
    assert only.extreme
    assert not only.common


def test_many_are_sampled_and_agree_with_all() -> None:
    space = get_space("darts")
    all_, some = cells_of(space, "normal"), cells_of(space, "normal", listed=10, drawn=2000)
    assert (some.exact, some.total) == (False, 2000)
    for whole, part in zip(all_.mean(), some.mean(), strict=True):
        assert part == pytest.approx(whole, abs=0.1)
    assert (
        cells_of(space, "normal", listed=10, drawn=50).ways
        == cells_of(space, "normal", listed=10, drawn=50, seed=0).ways
    )
    assert (
        cells_of(space, "normal", listed=10, drawn=50, seed=1).ways
        != cells_of(space, "normal", listed=10, drawn=50).ways
    )


def test_draws_agree_with_what_is_counted() -> None:
    base = get_published("darts-v2")
    kind = connections(base.cells["normal"])
    drawn = [one.cells["normal"] for one in random_connections(base, 1000, seed=1)]
    wide, deep = kind.mean()
    assert sum(map(width, drawn)) / 1000 == pytest.approx(wide, abs=0.1)
    assert sum(map(depth, drawn)) / 1000 == pytest.approx(deep, abs=0.1)


def test_cells_of_elsewhere() -> None:
    with pytest.raises(GenotypeError, match="expected the output nodes"):
        stand(get_published("nasnet-a"), get_space("darts"))
    nb201 = decode("|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|none~2|")
    with pytest.raises(GenotypeError, match="cell: connections vary in cells with 2 inputs"):
        stand(nb201)
    assert stand(nb201, get_space("nb201"))["cell"].total == 15_625


def test_archs_are_told_apart() -> None:
    base = get_published("darts-v2")
    swapped = Genotype((("normal", base.cells["reduce"]), ("reduce", base.cells["normal"])))
    assert stand(swapped)["normal"] == stand(base)["reduce"] != stand(base)["normal"]


def test_drawing_says_how_far_it_is() -> None:
    told = list[tuple[str, int, int]]()
    cells_of(get_space("nb201"), "cell", listed=1, drawn=250, tell=lambda *words: told.append(words))
    assert told == [("cells of cell", done, 250) for done in (0, 100, 200)]
