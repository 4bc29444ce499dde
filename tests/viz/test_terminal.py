import random
from collections import Counter

import pytest
from rich.text import Text

from dartboard.space import (
    NONE,
    PUBLISHED,
    SPACES,
    Cell,
    Contest,
    Edge,
    decode,
    get_published,
    get_space,
    sample,
)
from dartboard.space.graph import live_edges
from dartboard.viz.terminal import ASCII, UNICODE, Glyphs, Row, cell_rows, draw_cell, glyphs_for, side_by_side

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


def drawn(cell: Cell, glyphs: Glyphs = UNICODE) -> str:
    return "\n".join(line.plain for line in draw_cell(cell, glyphs))


def test_a_published_cell() -> None:
    assert drawn(get_published("darts-v2").cells["normal"]) == DARTS_V2_NORMAL


def test_none_is_no_connection() -> None:
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


def read_back(drawing: str, glyphs: Glyphs) -> Counter[tuple[str, str, str]]:
    """Source, target and words of every connection, connections by following the characters of a drawing."""
    rows = [line.ljust(200) for line in drawing.splitlines()]
    connections: Counter[tuple[str, str, str]] = Counter()
    for y, row in enumerate(rows):
        if glyphs.dot not in row:
            continue
        x = row.index(glyphs.dot)
        end = next(i for i in range(x + 1, 200) if row[i] not in (glyphs.wire, glyphs.cross))
        assert row[end] in (glyphs.turn, glyphs.join)
        up = next(
            rows[i] for i in range(y - 1, -1, -1) if rows[i][x] not in (glyphs.lane, glyphs.cross, glyphs.dot)
        )
        down = next(rows[i] for i in range(y + 1, len(rows)) if rows[i][end] != glyphs.join)
        connections[up[x:].split()[0], down[end:].split()[0], row[end + 1 :].strip()] += 1
    return connections


def connections_of(cell: Cell) -> Counter[tuple[str, str, str]]:
    return Counter((str(edge.source), str(edge.target), edge.ops[0]) for edge in live_edges(cell))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_following_the_connections_gives_the_cell_back(name: str, glyphs: Glyphs) -> None:
    for cell in get_published(name).cells.values():
        assert read_back(drawn(cell, glyphs), glyphs) == connections_of(cell)


@pytest.mark.parametrize("name", [name for name in SPACES if not name.startswith("oneshot")])
def test_following_the_connections_of_sampled_cells(name: str) -> None:
    rng = random.Random(0)
    for _ in range(10):
        for cell in sample(get_space(name), rng).cells.values():
            assert read_back(drawn(cell), UNICODE) == connections_of(cell)


@pytest.mark.parametrize("name", ["oneshot1", "oneshot2", "oneshot3"])
def test_following_the_connections_between_vertices(name: str) -> None:
    (cell,) = sample(get_space(name), random.Random(1)).cells.values()
    pairs = [(edge.source // 2, (edge.target + 1) // 2) for edge in cell.edges if edge.target % 2]
    assert read_back(drawn(cell), UNICODE) == Counter((str(a), str(b), "") for a, b in pairs)


def test_more_than_ten_nodes_keep_their_lanes() -> None:
    edges = tuple(Edge(source, target, ("a",)) for target in range(1, 14) for source in range(target))
    cell = Cell(1, 14, edges, output=(13,))
    assert read_back(drawn(cell), UNICODE) == connections_of(cell)


@pytest.mark.parametrize(
    ("encoding", "glyphs"),
    [("utf-8", UNICODE), ("UTF-16", UNICODE), ("latin-1", ASCII), ("ascii", ASCII), ("?", ASCII)],
)
def test_the_glyphs_fit_the_encoding(encoding: str, glyphs: Glyphs) -> None:
    assert glyphs_for(encoding) == glyphs


def test_ascii_glyphs_are_ascii() -> None:
    cell = get_published("nasnet-a").cells["normal"]
    assert drawn(cell, ASCII).isascii()


def block(*lines: str) -> list[Text]:
    return [Text(line) for line in lines]


def test_blocks_stand_side_by_side_where_there_is_room() -> None:
    blocks = [block("aa", "a"), block("b", "bb", "b"), block("ccc")]
    assert [line.plain for line in side_by_side(blocks, 8, gap=2)] == ["aa  b", "a   bb", "    b", "", "ccc"]
    assert [line.plain for line in side_by_side(blocks, 11, gap=2)] == ["aa  b   ccc", "a   bb", "    b"]


def test_blocks_too_wide_stand_below_each_other() -> None:
    assert [line.plain for line in side_by_side([block("aaa"), block("bbb")], 2)] == ["aaa", "", "bbb"]


def test_parallel_edges_are_two_connections_in_order_of_source() -> None:
    edges = (Edge(1, 2, ("b",)), Edge(0, 2, ("a",)), Edge(1, 2, ("c",)))
    rows = cell_rows(Cell(2, 3, edges, output=(2,)))
    assert rows == [
        Row(0, label="c(k-2)"),
        Row(1, label="c(k-1)"),
        Row(2, ((0, "a"), (1, "b"), (1, "c")), output=True),
    ]


def test_a_lane_ends_after_its_last_use() -> None:
    edges = (Edge(0, 1, ("a",)), Edge(0, 2, ("a",)), Edge(1, 2, ("a",)), Edge(0, 3, ("a",)))
    lines = drawn(Cell(1, 4, edges, output=(2, 3)), ASCII).splitlines()
    assert lines == [
        "0 in",
        "*---+ a",
        "|   1",
        "*---|---+ a",
        "|   *---+ a",
        "|       2 -> out",
        "*---+ a",
        "    3 -> out",
    ]


def test_node_and_op_are_one_row_where_ops_sit_on_nodes() -> None:
    rows = cell_rows(get_space("oneshot1").cells["cell"])
    assert [row.number for row in rows] == [0, 1, 2, 3, 4, 5]
    assert [[source for source, _ in row.inputs] for row in rows] == [
        list(range(vertex)) for vertex in range(6)
    ]
    assert rows[3].label == "one of 3 ops, keeps 2 of 3"
    assert [row.output for row in rows] == [False] * 5 + [True]


def test_a_contest_that_keeps_all_goes_without_saying() -> None:
    edges = (Edge(0, 1, ("a", "b")), Edge(0, 2, ("a", "b")), Edge(1, 2, ("a", "b")))
    all_kept = Cell(1, 3, edges, (2,), (Contest((1, 2), 2),))
    one_kept = Cell(1, 3, edges, (2,), (Contest((1, 2), 1),))
    assert cell_rows(all_kept)[2].label == ""
    assert cell_rows(one_kept)[2].label == "keeps 1 of 2"
