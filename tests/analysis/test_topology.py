import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.analysis.topology import (
    RankFractions,
    Shape,
    connection_shapes,
    count_topologies,
    epoch_shapes,
    rank_shapes,
    shape_of,
    shapes_of,
    space_shapes,
    topologies,
)
from dartboard.analysis.variants import random_connections, widest
from dartboard.errors import GenotypeError, RunError
from dartboard.runs import Run
from dartboard.space import (
    GENOTYPE_FORMATS,
    PUBLISHED,
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

NB201 = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|none~2|"
NB101 = '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'


def plain(genotype: Genotype) -> object:
    return json.loads(GENOTYPE_FORMATS["json"].encode(genotype))


def test_the_shape_of_darts() -> None:
    assert shape_of(get_published("darts-v2").cells["normal"]) == Shape(3.5, 3, 0.625, 8, 7 / 8)


def test_none_is_no_connection() -> None:
    """Input to 1, 1 to 2 and input to 3, which leaves: 2 leads nowhere."""
    assert shapes_of(decode(NB201)) == {"cell": Shape(2.0, 2, 1 / 3, 3, 2 / 3)}


def test_ops_on_nodes_are_seen_as_drawn() -> None:
    """Input to the one vertex, both to the output: one connection besides those that collect."""
    assert shapes_of(decode(NB101)) == {"cell": Shape(1.0, 2, 0.0, 1, 1.0)}


def test_a_cell_without_connections_has_no_shape() -> None:
    nothing = decode("|none~0|+|none~0|none~1|+|none~0|none~1|none~2|")
    assert shapes_of(nothing) == {"cell": Shape(0.0, 0, 0.0, 0, 0.0)}


def test_all_published_cells() -> None:
    found = {name: shapes_of(told.genotype) for name, told in PUBLISHED.items()}
    assert all(list(shapes) == ["normal", "reduce"] for shapes in found.values())
    assert found["amoebanet-a"]["normal"] == shape_of(get_published("amoebanet-a").cells["normal"])


def test_a_search_over_its_epochs(tmp_path: Path) -> None:
    names = ("xnas", "darts-v2")
    with Run.create(tmp_path / "run", {}, space=get_space("darts")) as run:
        assert epoch_shapes(run.path) == []
        for epoch, name in enumerate(names):
            run.record(epoch, {"loss": 1.0}, {"genotype": plain(get_published(name))})
    found = epoch_shapes(tmp_path / "run")
    assert [one.epoch for one in found] == [0, 1]
    assert [one.genotype for one in found] == [get_published(name) for name in names]
    assert [one.shapes["normal"].depth for one in found] == [5, 3]


def test_a_training_has_nothing_to_choose(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"kind": "train", "cell": "darts-v2"}) as run:
        run.record(0, {"loss": 1.0}, {})
    with pytest.raises(RunError, match="dartboard train, which chooses no cell; name one of a search"):
        epoch_shapes(tmp_path / "run")
    with pytest.raises(RunError, match="is not a run"):
        epoch_shapes(tmp_path)


@pytest.mark.parametrize("damaged", [{}, {"genotype": 3}, {"genotype": {"cell": "?"}}])
def test_damaged_epochs_are_said_to_be_so(tmp_path: Path, damaged: dict[str, object]) -> None:
    with Run.create(tmp_path / "run", {"kind": "search"}) as run:
        run.record(0, {"loss": 1.0}, {"genotype": plain(get_published("xnas"))})
        run.record(1, {"loss": 1.0}, damaged)
    with pytest.raises(RunError, match="run is damaged: what its epoch 1 would choose cannot be read"):
        epoch_shapes(tmp_path / "run")


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
    assert rounded(space_shapes(space, "cell").ways) == measured(every)


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
    assert rounded(connection_shapes(cell, repeats=repeats).ways) == measured(every)


@pytest.mark.parametrize("name", [name for name in SPACES if name not in ("asm", "oneshot3")])
def test_no_cell_of_a_space_is_left_out(name: str) -> None:
    space = get_space(name)
    arch, cell = space.groups[0]
    kind = space_shapes(space, arch)
    assert kind.exact
    assert kind.total == count_cell(cell)


def test_darts_has_180_topologies() -> None:
    assert count_topologies(get_space("darts").cells["normal"]) == 1 * 3 * 6 * 10


def test_the_extremes_the_paper_names() -> None:
    """understanding-cells 3.2: 4c and 2 with seven nodes, 5c and 2 with eight."""
    seven = space_shapes(get_space("darts"), "normal")
    eight = connection_shapes(get_published("nasnet-a").cells["normal"])
    assert (seven.widest, seven.shallowest) == (4, 2)
    assert (eight.widest, eight.shallowest, eight.total) == (5, 2, 518_400)


def test_where_darts_stands() -> None:
    """One of the 180 topologies is wider: the one in which every node reads both inputs."""
    found = rank_shapes(get_published("darts-v2"), get_space("darts"))["normal"]
    assert found.width.above == pytest.approx(1 / 180)
    assert found.depth.below == pytest.approx(1 / 180)
    assert found.beyond == pytest.approx(1 / 180)
    assert found.common
    assert not found.extreme
    assert found.exact


def test_among_its_own_connections() -> None:
    """Nodes 3, 4 and 5 read inputs alone with chance 4/9, 4/16 and 4/25."""
    found = rank_shapes(get_published("darts-v2"))["normal"]
    assert found.width.above == pytest.approx(4 / 9 * 4 / 16 * 4 / 25)
    assert found.total == 14_400
    differing = rank_shapes(get_published("darts-v2"), repeats=False)["normal"]
    assert differing.width.above == pytest.approx(1 / 3 * 1 / 6 * 1 / 10)
    assert "different nodes" in differing.among


@given(name=st.sampled_from(("nasnet-a", "darts-v2", "gdas", "xnas")))
def test_the_widest_has_the_pattern_and_none_beyond(name: str) -> None:
    for found in rank_shapes(widest(get_published(name))).values():
        assert found.extreme
        assert found.common
        assert found.beyond == found.width.above == found.depth.below == 0


def test_deep_and_narrow_cells_lack_the_pattern() -> None:
    assert not rank_shapes(get_published("gdas"), get_space("darts"))["normal"].common
    assert not rank_shapes(get_published("xnas"), get_space("darts"))["normal"].common


def test_shares_and_ties() -> None:
    share = RankFractions(0.2, 0.6, 0.2)
    assert share.percentile == pytest.approx(50)
    only = rank_shapes(next(enumerate_genotypes(get_space("s1"))), get_space("s1"))["normal"]
    assert only.width == only.depth == RankFractions(0.0, 1.0, 0.0)
    assert only.extreme
    assert not only.common


def test_many_are_sampled_and_agree_with_all() -> None:
    space = get_space("darts")
    all_, some = space_shapes(space, "normal"), space_shapes(space, "normal", max_topologies=10, samples=2000)
    assert (some.exact, some.total) == (False, 2000)
    for whole, part in zip(all_.mean(), some.mean(), strict=True):
        assert part == pytest.approx(whole, abs=0.1)
    assert (
        space_shapes(space, "normal", max_topologies=10, samples=50).ways
        == space_shapes(space, "normal", max_topologies=10, samples=50, seed=0).ways
    )
    assert (
        space_shapes(space, "normal", max_topologies=10, samples=50, seed=1).ways
        != space_shapes(space, "normal", max_topologies=10, samples=50).ways
    )


def test_draws_agree_with_what_is_counted() -> None:
    base = get_published("darts-v2")
    kind = connection_shapes(base.cells["normal"])
    drawn = [one.cells["normal"] for one in random_connections(base, 1000, seed=1)]
    wide, deep = kind.mean()
    assert sum(map(width, drawn)) / 1000 == pytest.approx(wide, abs=0.1)
    assert sum(map(depth, drawn)) / 1000 == pytest.approx(deep, abs=0.1)


def test_cells_of_elsewhere() -> None:
    with pytest.raises(GenotypeError, match="expected the output nodes"):
        rank_shapes(get_published("nasnet-a"), get_space("darts"))
    nb201 = decode("|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|none~2|")
    with pytest.raises(GenotypeError, match="cell: connections vary in cells with 2 inputs"):
        rank_shapes(nb201)
    assert rank_shapes(nb201, get_space("nb201"))["cell"].total == 15_625


def test_archs_are_told_apart() -> None:
    base = get_published("darts-v2")
    swapped = Genotype((("normal", base.cells["reduce"]), ("reduce", base.cells["normal"])))
    assert rank_shapes(swapped)["normal"] == rank_shapes(base)["reduce"] != rank_shapes(base)["normal"]


def test_drawing_says_how_far_it_is() -> None:
    told = list[tuple[str, int, int]]()
    space_shapes(
        get_space("nb201"), "cell", max_topologies=1, samples=250, progress=lambda *words: told.append(words)
    )
    assert told == [("cells of cell", done, 250) for done in (0, 100, 200)]
