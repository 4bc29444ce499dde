from matplotlib.figure import Figure

from dartboard.analysis.topology import (
    EpochShapes,
    connection_shapes,
    plot_epochs,
    plot_shape_ranks,
    shapes_of,
)
from dartboard.space import depth, get_published, width
from dartboard.viz.plots import draw_bubbles, draw_stars

CELL = get_published("darts-v2").cells["normal"]


def test_circles_are_as_large_as_shares() -> None:
    kind = connection_shapes(CELL)
    axes = Figure().add_subplot()
    draw_bubbles(axes, kind.ways, largest=100)
    (drawn,) = axes.collections
    places = [tuple(own) for own in drawn.get_offsets().tolist()]
    assert places == [(float(wide), float(deep)) for wide, deep in kind.ways]
    most = max(kind.ways.values())
    assert [round(size, 6) for size in drawn.get_sizes()] == [
        round(100 * ways / most, 6) for ways in kind.ways.values()
    ]


def test_cells_of_one_place_share_a_star() -> None:
    axes = Figure().add_subplot()
    names = ("snas", "pc-darts", "snas-mild", "xnas")
    cells = {name: get_published(name).cells["normal"] for name in names}
    draw_stars(axes, {name: (width(cell), depth(cell)) for name, cell in cells.items()})
    assert len(axes.collections) == 2
    assert [text.get_text() for text in axes.texts] == ["snas\npc-darts\nsnas-mild", "xnas"]


def test_a_panel_for_each_kind() -> None:
    figure = plot_shape_ranks([("normal", connection_shapes(CELL), {"darts": CELL})] * 4)
    titles = [axes.get_title() for axes in figure.axes]
    assert [bool(title) for title in titles] == [True] * 4 + [False] * 2
    assert titles[0].startswith("normal: all 14,400 connections")


def test_lines_over_epochs() -> None:
    names = ("xnas", "gdas", "darts-v2")
    epochs = [EpochShapes(i, get_published(n), shapes_of(get_published(n))) for i, n in enumerate(names)]
    figure = plot_epochs(epochs)
    wide, deep, source = figure.axes
    assert [line.get_label() for line in deep.lines] == ["normal", "reduce"]
    assert list(deep.lines[0].get_ydata()) == [5, 5, 3]
    assert list(wide.lines[0].get_ydata()) == [2.5, 2, 3.5]
    assert list(source.lines[0].get_ydata()) == [1.375, 1.625, 0.625]
    assert wide.get_legend() is not None
