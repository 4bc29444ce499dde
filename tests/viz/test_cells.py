from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon

from dartboard.errors import OptionError
from dartboard.space import Cell, Edge, Genotype, decode, get_published, get_space, sample
from dartboard.viz.cell_graph import FAMILY_COLORS, op_label
from dartboard.viz.cells import PAPER, PLAIN, DrawnLine, cell_diagram, cell_figure, draw_cell
from dartboard.viz.figures import save_figure

NB201 = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|avg_pool_3x3~2|"


def drawn(cell: Cell, **options: object):
    axes = Figure((6, 3)).add_subplot()
    draw_cell(axes, cell, **options)  # type: ignore[arg-type]
    return axes


def boxes(axes) -> tuple[list[FancyBboxPatch], list[FancyBboxPatch]]:
    """The boxes of vertices, and the white ones behind labels."""
    found = [patch for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    labels = [box for box in found if box.get_zorder() == 3]
    return [box for box in found if box not in labels], labels


@pytest.mark.parametrize("arch", ["normal", "reduce"])
@pytest.mark.parametrize("name", ["nasnet-a", "amoebanet-a", "enas", "darts-v2", "gdas", "xnas"])
def test_no_line_passes_a_box_or_the_label_of_another(name: str, arch: str) -> None:
    axes = drawn(get_published(name).cells[arch])
    vertices, labels = boxes(axes)
    for line in axes.lines:
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())

        def inside(box: FancyBboxPatch, x=x, y=y) -> bool:
            left, low, wide, high = (getattr(box, f"get_{part}")() for part in ("x", "y", "width", "height"))
            beside = (x > left + 1e-6) & (x < left + wide - 1e-6)
            return bool((beside & (y > low) & (y < low + high)).any())

        assert not [box for box in vertices if inside(box)]
        assert sum(map(inside, labels)) <= 1  # its own


def test_what_is_on_a_drawing() -> None:
    """Seven boxes and eight labels with letters, twelve lines with a tip each."""
    axes = drawn(get_published("darts-v2").cells["normal"])
    vertices, labels = boxes(axes)
    letters = [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    tips = [patch for patch in axes.patches if isinstance(patch, Polygon)]
    assert (len(vertices), len(labels), len(letters), len(axes.lines), len(tips)) == (7, 8, 15, 12, 12)
    assert not axes.axison


def test_topology_alone() -> None:
    axes = drawn(get_published("darts-v2").cells["normal"], labels=False)
    assert boxes(axes) == ([], [])
    assert sum(isinstance(patch, Circle) for patch in axes.patches) == 7
    assert not [patch for patch in axes.patches if isinstance(patch, PathPatch)]
    assert len({line.get_color() for line in axes.lines}) == 1


def thickness(axes, color: str) -> float:
    """How thick the strands of a color are together, where they begin."""
    strands = [p for p in axes.patches if isinstance(p, Polygon) and len(p.get_xy()) > 4]
    own = [p.get_xy() for p in strands if np.allclose(p.get_facecolor(), _rgba(color))]
    return float(sum(abs(points[0][1] - points[-2][1]) for points in own))


def _rgba(color: str):
    from matplotlib.colors import to_rgba

    return to_rgba(color)


@settings(max_examples=10)
@given(first=st.floats(0.1, 0.9))
def test_strands_are_as_thick_as_their_weights(first: float) -> None:
    cell = get_space("nano").cells["cell"]
    ops = cell.edges[0].ops
    weights = [[first if op == "sep_conv_3x3" else (1 - first) / (len(ops) - 1) for op in ops]] * 3
    axes = drawn(cell, weights=weights)
    separable, skip = (thickness(axes, FAMILY_COLORS[name]) for name in ("separable", "skip"))
    assert separable / skip == pytest.approx(first / ((1 - first) / (len(ops) - 1)))


def test_a_figure_has_each_different_cell_once() -> None:
    base = get_published("darts-v2")
    assert [axes.get_title(loc="left") for axes in cell_figure(base).axes] == ["normal", "reduce"]
    same = Genotype((("normal", base.cells["normal"]), ("reduce", base.cells["normal"])))
    assert [axes.get_title(loc="left") for axes in cell_figure(same).axes] == ["normal, reduce"]
    assert len(cell_figure(get_space("asm")).axes) == 1


def test_weights_bring_a_legend_and_a_drawing_for_each() -> None:
    space = get_space("darts")
    weights = {arch: [[1 / 8] * 8] * 14 for arch in space.cells}
    figure = cell_figure(space, weights=weights)
    assert len(figure.axes) == 2
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "none",
        "pooling",
        "skip",
        "separable",
        "dilated",
    ]
    assert not cell_figure(space).legends


def test_the_same_cell_gives_the_same_file(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        svg, _ = save_figure(cell_figure(get_published("gdas")), tmp_path / name / "cell")
        files.append(svg.read_bytes())
    assert files[0] == files[1]


def test_labels_change_the_figure() -> None:
    base = get_published("gdas")
    bare, full = cell_figure(base, labels=False), cell_figure(base)
    assert bare.get_size_inches()[0] < full.get_size_inches()[0]


def test_the_diagram_of_a_cell_of_darts() -> None:
    cell = get_published("darts-v2").cells["normal"]
    boxes, lines = cell_diagram(cell)
    assert [box.text for box in boxes] == ["$c_{k-2}$", "$c_{k-1}$", "2", "3", "4", "5", "$c_k$"]
    assert [(line.source, line.target) for line in lines[:8]] == [(e.source, e.target) for e in cell.edges]
    assert [line.text for line in lines[:8]] == [op_label(edge.ops[0]) for edge in cell.edges]
    assert lines[8:] == [DrawnLine(node, 6) for node in (2, 3, 4, 5)]


def test_a_node_that_leads_nowhere_is_idle_and_none_is_not_drawn() -> None:
    boxes, lines = cell_diagram(decode(NB201).cells["cell"])
    assert [box.text for box in boxes] == ["in", "1", "2", "out"]
    assert len(lines) == 5
    cell = get_published("amoebanet-a").cells["normal"]
    edges = tuple(Edge(edge.source % 2, edge.target, edge.ops) for edge in cell.edges)
    boxes, _ = cell_diagram(Cell(2, 7, edges, cell.output))
    assert [box.text for box in boxes if box.idle] == ["2", "3"]


def test_ops_on_nodes_are_in_the_boxes() -> None:
    space = get_space("oneshot1")
    cell = sample(space, Random(1)).cells["cell"]
    boxes, lines = cell_diagram(cell)
    assert [box.text for box in boxes[1:-1]] == [
        op_label(edge.ops[0]) for edge in cell.edges if edge.target % 2 == 0
    ]
    assert all(line.text == "" and line.strands == ((PLAIN, None),) for line in lines)
    boxes, _ = cell_diagram(space.cells["cell"])
    assert [(box.text, box.face) for box in boxes[1:-1]] == [("3 ops", PAPER)] * 4


def test_candidates_are_counted_where_they_differ() -> None:
    _, lines = cell_diagram(get_space("darts").cells["normal"])
    assert {line.text for line in lines} == {""}
    edges = (Edge(0, 2, ("skip_connect", "none")), Edge(1, 2, ("skip_connect", "max_pool_3x3", "none")))
    _, lines = cell_diagram(Cell(2, 3, edges, (2,)))
    assert [line.text for line in lines] == ["2 ops", "3 ops"]


def test_weights_become_strands_and_the_strongest_is_named() -> None:
    edges = (Edge(0, 2, ("skip_connect", "max_pool_3x3")), Edge(1, 2, ("sep_conv_3x3",)))
    _, lines = cell_diagram(Cell(2, 3, edges, (2,)), [[0.3, 0.7], [1.0]])
    assert lines[0].text == op_label("max_pool_3x3")
    assert lines[0].strands == ((FAMILY_COLORS["skip"], 0.3), (FAMILY_COLORS["pooling"], 0.7))
    space = get_space("oneshot1").cells["cell"]
    weights = [[0.1] * (len(edge.ops) - 1) + [0.8] for edge in space.edges]
    boxes, lines = cell_diagram(space, weights)
    assert [box.text for box in boxes[1:-1]] == [op_label("max_pool_3x3")] * 4
    assert {line.strands for line in lines} == {((PLAIN, 0.8),)}


def test_weights_must_be_those_of_the_ops() -> None:
    with pytest.raises(OptionError, match=r"expected weights for \[1, 1, .*\] ops, got \[1\]"):
        cell_diagram(get_published("darts-v2").cells["normal"], [[1.0]])
