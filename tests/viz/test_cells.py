from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon

from dartboard.space import Cell, Genotype, get_published, get_space
from dartboard.viz.cells import cell_figure, draw_cell
from dartboard.viz.figures import save_figure


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


def thickness(axes, colour: str) -> float:
    """How thick the strands of a colour are together, where they begin."""
    strands = [p for p in axes.patches if isinstance(p, Polygon) and len(p.get_xy()) > 4]
    own = [p.get_xy() for p in strands if np.allclose(p.get_facecolor(), _rgba(colour))]
    return float(sum(abs(points[0][1] - points[-2][1]) for points in own))


def _rgba(colour: str):
    from matplotlib.colors import to_rgba

    return to_rgba(colour)


@settings(max_examples=10)
@given(first=st.floats(0.1, 0.9))
def test_strands_are_as_thick_as_their_weights(first: float) -> None:
    from dartboard.viz.cell_diagram import FAMILIES

    cell = get_space("nano").cells["cell"]
    ops = cell.edges[0].ops
    weights = [[first if op == "sep_conv_3x3" else (1 - first) / (len(ops) - 1) for op in ops]] * 3
    axes = drawn(cell, weights=weights)
    separable, skip = (thickness(axes, FAMILIES[name]) for name in ("separable", "skip"))
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
