import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from dartboard.viz.line_styles import line_styles
from dartboard.viz.plots.accuracies import BINS, axis_positions, plot_accuracies

ALL = np.linspace(0.4, 0.83, 216)


def bars(axes: Axes, color: str) -> dict[int, float]:
    """The heights of the bars of a color, by bin."""
    gray = [patch for patch in axes.patches if to_hex(patch.get_facecolor()) == to_hex(color)]
    heights = [patch.get_height() for patch in gray]  # type: ignore[attr-defined]
    return {place: height for place, height in enumerate(heights) if height}


def test_a_panel_a_method_with_its_share_of_cells_in_each_bin() -> None:
    figure = plot_accuracies({"a": [0.83, 0.83, 0.4, 0.83], "b": [0.6]}, "one", ALL)
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("a (4)", "b (1)")
    styles = line_styles("ab")
    assert bars(first, styles["a"].color) == pytest.approx({0: 0.25, BINS - 1: 0.75})
    assert list(bars(second, styles["b"].color).values()) == [1.0]


def test_behind_is_the_whole_space() -> None:
    (axes,) = plot_accuracies({"a": [0.83]}, "one", ALL).axes
    assert sum(bars(axes, "0.7").values()) == pytest.approx(1)
    assert bars(axes, "0.7")[BINS - 1] == pytest.approx(1 / 216)


def test_the_axis_is_finer_towards_the_best() -> None:
    near, far = np.diff(axis_positions(np.array([0.40, 0.41, 0.82, 0.83]), 0.83))[[2, 0]]
    assert near > 10 * far > 0


def test_ticks_are_accuracies_below_the_best() -> None:
    (axes,) = plot_accuracies({"a": [0.83]}, "one", ALL).axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "83.0", "82.7", "82.0", "80.0", "73.0", "53.0"
    ]  # fmt: skip
    narrow = np.array([0.825, 0.83])
    (axes,) = plot_accuracies({"a": [0.83]}, "one", narrow).axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["83.0", "82.7"]


def test_a_space_where_all_are_equal_can_be_drawn() -> None:
    (axes,) = plot_accuracies({"a": [0.5]}, "one", np.array([0.5, 0.5])).axes
    assert sum(bars(axes, "0.7").values()) == pytest.approx(1)


def test_panels_without_a_method_are_empty() -> None:
    figure = plot_accuracies({str(place): [0.8] for place in range(6)}, "one", ALL)
    assert [axes.axison for axes in figure.axes] == [True] * 6 + [False] * 2
