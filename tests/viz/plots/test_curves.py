import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from dartboard.viz.band import Band
from dartboard.viz.line_styles import line_styles
from dartboard.viz.plots import curves
from dartboard.viz.plots.curves import CROWDED, ReferenceCurve, plot_regret

RANDOM = ReferenceCurve("random, best of 2", [0.3, 0.2])


def band(regret: float, *, spread: float = 0.01) -> Band:
    """Three points that fall to a regret."""
    mean = np.array([4 * regret, 2 * regret, regret])
    return Band(np.array([1.0, 2.0, 4.0]), mean, np.full(3, spread))


def named(axes: Axes) -> dict[str, list[float]]:
    """The heights of the lines, by label."""
    return {str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()}


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.subfigs[0].legends[0].get_texts()]


def test_a_line_a_method_and_dashes_for_random() -> None:
    figure = plot_regret({"a": band(0.02), "b": band(0.01)}, "epochs", "one", RANDOM)
    (axes,) = figure.axes
    lines = named(axes)
    assert lines["a"] == pytest.approx([8, 4, 2])
    assert lines["b"] == pytest.approx([4, 2, 1])
    assert lines["random, best of 2"] == [20, 20]
    assert axes.get_ylabel() == "test regret on one (points)"
    assert (axes.get_xlabel(), axes.get_xscale()) == ("epochs", "linear")


def test_the_legend_begins_with_the_lowest_regret() -> None:
    figure = plot_regret({"a": band(0.02), "b": band(0.01)}, "epochs", "one", RANDOM)
    assert legend(figure) == ["b", "a", "random, best of 2"]


def test_bands_are_one_standard_deviation_and_never_below_zero() -> None:
    figure = plot_regret({"a": band(0.02, spread=0.03)}, "epochs", "one", RANDOM)
    (filled,) = figure.axes[0].collections
    heights = filled.get_paths()[0].vertices[:, 1]  # type: ignore[index]
    assert (heights.min(), heights.max()) == (0, pytest.approx(8 + 3))


def test_seconds_are_logarithmic_and_random_a_curve_where_its_time_is_known() -> None:
    timed = ReferenceCurve("random, best of 2", [0.3, 0.2], [5.0, 10.0])
    (axes,) = plot_regret({"a": band(0.02)}, "seconds", "one", timed).axes
    assert axes.get_xscale() == "log"
    (dashes,) = [line for line in axes.get_lines() if line.get_label() == "random, best of 2"]
    assert np.asarray(dashes.get_xdata()).tolist() == [5, 10]
    assert np.asarray(dashes.get_ydata()).tolist() == [30, 20]
    (flat,) = plot_regret({"a": band(0.02)}, "seconds", "one", RANDOM).axes
    assert named(flat)["random, best of 2"] == [20, 20]


def test_a_method_without_a_band_is_not_drawn_and_changes_no_style() -> None:
    alone = plot_regret({"a": None, "b": band(0.01)}, "seconds", "one", RANDOM).axes[0]
    both = plot_regret({"a": band(0.02), "b": band(0.01)}, "seconds", "one", RANDOM).axes[0]
    colors = [{str(own.get_label()): own.get_color() for own in axes.get_lines()} for axes in (alone, both)]
    assert "a" not in colors[0]
    assert colors[0]["b"] == colors[1]["b"] != colors[1]["a"]


@pytest.mark.parametrize("count", [CROWDED + 1, 14])
def test_many_methods_have_panels_of_their_own(count: int) -> None:
    bands = {f"m{place}": band(0.01 * (1 + place)) for place in range(count)}
    first, *panels = plot_regret(bands, "epochs", "one", RANDOM).axes
    assert not first.collections
    shown = [axes for axes in panels if axes.axison]
    assert [axes.get_title() for axes in shown] == list(bands)
    for axes, label in zip(shown, bands, strict=True):
        assert set(named(axes)) == {label, "random, best of 2"}
        assert len(axes.collections) == 1
        assert axes.get_ylim()[1] >= 4 * count  # nobody's line is cut off


def test_few_methods_share_one_panel() -> None:
    bands = {f"m{place}": band(0.01) for place in range(CROWDED)}
    (axes,) = plot_regret(bands, "epochs", "one", RANDOM).axes
    assert len(axes.collections) == CROWDED


def test_legends_say_what_bands_are() -> None:
    """Of one standard deviation over seeds, in every figure that has bands; nothing where there are none."""
    x, flat = np.arange(1.0, 4.0), np.zeros(3)
    wide, narrow = Band(x, flat + 0.5, flat + 0.1), Band(x, flat + 0.5, flat)
    for band, expected in ((wide, "bands: mean +- 1 std over seeds"), (narrow, "")):
        figures = (
            curves.plot_band_grid({"loss": {"lr 1": {"a": band}}}),
            curves.plot_band_panels({name: {"a": band} for name in "xyz"}, line_styles(["a"])),
            curves.plot_regret({"a": band}, "epochs", "few", curves.ReferenceCurve("random", [0.1])),
        )
        for figure in figures:
            [own] = [thing for thing in figure.findobj(Legend) if thing.get_texts()]
            assert own.get_title().get_text() == expected


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7])
def test_any_number_of_panels_has_epochs_below_each_column(count: int) -> None:
    panels = {f"metric {number}": {"a": band(0.1)} for number in range(count)}
    figure = curves.plot_band_panels(panels, line_styles(["a"]))
    figure.canvas.draw()
    assert [axes.get_ylabel() for axes in figure.axes] == list(panels)
    lowest = figure.axes[-3:]
    for axes in figure.axes:
        has_numbers = any(label.get_visible() and label.get_text() for label in axes.get_xticklabels())
        assert (axes.get_xlabel() == "epochs") == has_numbers == (axes in lowest)
