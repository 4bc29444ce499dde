import random
from collections import Counter

import pytest
from rich.text import Text

from dartboard.cli.draw import ASCII, UNICODE, Pen, beside, draw_cell, pen_for
from dartboard.space import NONE, PUBLISHED, SPACES, Cell, Edge, decode, get_published, get_space, sample
from dartboard.space.graph import live_edges

DARTS_V2_NORMAL = """\
0 c(k-2)
│   1 c(k-1)
●───┼───╮ sep_conv_3x3
│   ●───┤ sep_conv_3x3
│   │   2 ─▸ out
●───┼───┼───╮ sep_conv_3x3
│   ●───┼───┤ sep_conv_3x3
│   │   │   3 ─▸ out
●───┼───┼───╮ skip_connect
│   ●───┼───┤ sep_conv_3x3
│       │   4 ─▸ out
●───────┼───╮ skip_connect
        ●───┤ dil_conv_3x3
            5 ─▸ out"""

NB201 = """\
0 in
*---+ nor_conv_3x3
|   1
|   *---+ skip_connect
|       2
*-------|---+ avg_pool_3x3
        *---+ nor_conv_1x1
            3 -> out"""

NB101 = """\
0 in
●───╮
│   1 conv_bn_relu_3x3
│   ●───╮
│       2 max_pool_3x3
●───────┼───╮
        ●───┤
            3 ─▸ out"""


def drawn(cell: Cell, pen: Pen = UNICODE) -> str:
    return "\n".join(line.plain for line in draw_cell(cell, pen))


def test_a_published_cell() -> None:
    assert drawn(get_published("darts-v2").cells["normal"]) == DARTS_V2_NORMAL


def test_none_is_no_wire() -> None:
    genotype = decode("|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|none~1|nor_conv_1x1~2|")
    assert drawn(genotype.cells["cell"], ASCII) == NB201


def test_ops_on_nodes_stand_at_the_nodes() -> None:
    matrix = [[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    ops = ["input", "conv3x3-bn-relu", "maxpool3x3", "output"]
    genotype = decode(f'{{"matrix": {matrix}, "ops": {ops}}}'.replace("'", '"'))
    assert drawn(genotype.cells["cell"]) == NB101


def test_contests_and_candidates_are_named() -> None:
    lines = drawn(get_space("darts").cells["normal"]).splitlines()
    assert lines[-1].strip() == "5 keeps 2 of 5 ─▸ out"
    assert lines[2] == "●───┼───╮"  # every edge has the same candidates: not repeated
    assert "1 one of 3 ops" in drawn(get_space("oneshot1").cells["cell"])


def test_candidates_are_named_where_they_differ() -> None:
    cell = Cell(1, 3, (Edge(0, 1, ("a", "b")), Edge(0, 2, ("a", "b", "c")), Edge(1, 2, ("c",))), (2,))
    assert drawn(cell).splitlines() == [
        "0 in",
        "●───╮ one of 2 ops",
        "│   1",
        "●───┼───╮ one of 3 ops",
        "    ●───┤ c",
        "        2 ─▸ out",
    ]


def test_a_node_that_nothing_enters_says_so() -> None:
    cell = Cell(1, 3, (Edge(0, 1, ("a",)), Edge(0, 2, (NONE,))), output=(1, 2))
    assert drawn(cell).splitlines()[-1] == "2 nothing enters ─▸ out"


def read_back(drawing: str, pen: Pen) -> Counter[tuple[str, str, str]]:
    """Source, target and words of every wire, found by following the characters of a drawing."""
    rows = [line.ljust(200) for line in drawing.splitlines()]
    found: Counter[tuple[str, str, str]] = Counter()
    for y, row in enumerate(rows):
        if pen.dot not in row:
            continue
        x = row.index(pen.dot)
        end = next(i for i in range(x + 1, 200) if row[i] not in (pen.wire, pen.cross))
        assert row[end] in (pen.turn, pen.join)
        up = next(rows[i] for i in range(y - 1, -1, -1) if rows[i][x] not in (pen.lane, pen.cross, pen.dot))
        down = next(rows[i] for i in range(y + 1, len(rows)) if rows[i][end] != pen.join)
        found[up[x:].split()[0], down[end:].split()[0], row[end + 1 :].strip()] += 1
    return found


def wires_of(cell: Cell) -> Counter[tuple[str, str, str]]:
    return Counter((str(edge.source), str(edge.target), edge.ops[0]) for edge in live_edges(cell))


@pytest.mark.parametrize("pen", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_following_the_wires_gives_the_cell_back(name: str, pen: Pen) -> None:
    for cell in get_published(name).cells.values():
        assert read_back(drawn(cell, pen), pen) == wires_of(cell)


@pytest.mark.parametrize("name", [name for name in SPACES if not name.startswith("oneshot")])
def test_following_the_wires_of_sampled_cells(name: str) -> None:
    rng = random.Random(0)
    for _ in range(10):
        for cell in sample(get_space(name), rng).cells.values():
            assert read_back(drawn(cell), UNICODE) == wires_of(cell)


@pytest.mark.parametrize("name", ["oneshot1", "oneshot2", "oneshot3"])
def test_following_the_wires_between_vertices(name: str) -> None:
    (cell,) = sample(get_space(name), random.Random(1)).cells.values()
    pairs = [(edge.source // 2, (edge.target + 1) // 2) for edge in cell.edges if edge.target % 2]
    assert read_back(drawn(cell), UNICODE) == Counter((str(a), str(b), "") for a, b in pairs)


def test_more_than_ten_nodes_keep_their_lanes() -> None:
    edges = tuple(Edge(source, target, ("a",)) for target in range(1, 14) for source in range(target))
    cell = Cell(1, 14, edges, output=(13,))
    assert read_back(drawn(cell), UNICODE) == wires_of(cell)


@pytest.mark.parametrize(
    ("encoding", "pen"),
    [("utf-8", UNICODE), ("UTF-16", UNICODE), ("latin-1", ASCII), ("ascii", ASCII), ("?", ASCII)],
)
def test_the_pen_fits_the_encoding(encoding: str, pen: Pen) -> None:
    assert pen_for(encoding) == pen


def test_plain_pens_are_plain() -> None:
    cell = get_published("nasnet-a").cells["normal"]
    assert drawn(cell, ASCII).isascii()


def block(*lines: str) -> list[Text]:
    return [Text(line) for line in lines]


def test_blocks_stand_side_by_side_where_there_is_room() -> None:
    blocks = [block("aa", "a"), block("b", "bb", "b"), block("ccc")]
    assert [line.plain for line in beside(blocks, 8, gap=2)] == ["aa  b", "a   bb", "    b", "", "ccc"]
    assert [line.plain for line in beside(blocks, 11, gap=2)] == ["aa  b   ccc", "a   bb", "    b"]


def test_blocks_too_wide_stand_below_each_other() -> None:
    assert [line.plain for line in beside([block("aaa"), block("bbb")], 2)] == ["aaa", "", "bbb"]
