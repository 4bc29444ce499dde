"""Pictures of landscapes: what they show, and what they cut off."""

import numpy as np
import pytest

from dartboard.analysis.landscape import GridOptions, Landscape, surfaces
from dartboard.viz.figures import save_figure
from dartboard.viz.plots import plot_contours, plot_heat, plot_surfaces


def made(scale, of="loss"):
    options = GridOptions(grid=9, of=of)
    across, along = np.meshgrid(options.steps, options.steps)
    values = 0.2 + scale * (across**2 + along**2) ** 2
    values[0, 0] = np.inf
    return Landscape(options, values)


@pytest.fixture
def both():
    return {"one": made(1.0), "other": made(50.0)}


def test_all_panels_have_one_scale_and_huge_values_are_cut(both):
    own = surfaces(both)
    every = np.concatenate([np.delete(found.values.ravel(), 0) for found in both.values()])
    assert own.top == pytest.approx(4 * np.median(every))
    assert own.is_cut
    assert own.norm.vmin == pytest.approx(0.2)
    assert own.levels[0] == pytest.approx(0.2)
    assert own.levels[-1] == pytest.approx(own.top)
    assert surfaces(both, top=3.0).top == 3.0


def test_of_variances_the_root_is_surfaces():
    own = surfaces({"one": made(1.0, of="variance")})
    assert own.values["one"][4, 4] == pytest.approx(0.2**0.5)
    assert own.label == "standard deviation of the gradients"


def test_little_is_not_cut():
    flat = Landscape(GridOptions(grid=3), np.arange(1.0, 10).reshape(3, 3))
    own = surfaces({"flat": flat})
    assert own.top == 9.0
    assert not own.is_cut


@pytest.mark.parametrize("plot", [plot_contours, plot_heat, plot_surfaces])
def test_every_landscape_has_a_panel_that_says_what_is_cut(plot, both, tmp_path):
    figure = plot(surfaces(both, top=2.0))
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["one", "other"]
    png = save_figure(figure, tmp_path / "picture")[1]
    assert png.stat().st_size > 10_000
    words = [axes.get_ylabel() for axes in figure.axes] + [text.get_text() for text in figure.texts]
    assert any("2" in word and ("above" in word or "cut at" in word) for word in words)


@pytest.mark.parametrize(("scale", "words"), [(1.0, "mean loss"), (1e4, "log10 of the mean loss")])
def test_surfaces_of_huge_ratios_are_of_logarithms(scale, words):
    figure = plot_surfaces(surfaces({"one": made(scale)}, top=2.0 * scale))
    assert figure.texts[0].get_text().startswith(words)
    assert figure.axes[0].get_zlim()[1] == pytest.approx(np.log10(2e4) if scale > 1 else 2.0)


PLOTS = pytest.mark.parametrize("plot", [plot_contours, plot_heat, plot_surfaces])


def alike(value):
    return np.full((5, 5), value)


def lone():
    values = alike(np.inf)
    values[2, 2] = 1.5
    return values


@PLOTS
@pytest.mark.parametrize(
    ("values", "radius"),
    [
        (alike(2.0), 1e-38),
        (alike(2.0) + np.spacing(2.0) * np.arange(5), 1.0),
        (alike(0.0), 1.0),
        (alike(np.inf), 1.0),
        (lone(), 1e38),
    ],
    ids=["same", "nearly", "zero", "infinite", "lone"],
)
def test_values_without_a_range_are_drawn_as_well(plot, values, radius, tmp_path):
    figure = plot(surfaces({"one": Landscape(GridOptions(grid=5, radius=radius), values)}))
    assert save_figure(figure, tmp_path / "picture")[1].stat().st_size > 5_000


@PLOTS
def test_a_top_below_all_values_cuts_all_of_them(plot, both, tmp_path):
    assert surfaces(both, top=0.1).is_cut
    save_figure(plot(surfaces(both, top=0.1)), tmp_path / "picture")


@pytest.mark.parametrize(("value", "top"), [(2.0, 2.0), (0.0, 0.0), (np.inf, 1.0)])
def test_levels_rise_even_if_values_do_not(value, top):
    own = surfaces({"one": Landscape(GridOptions(grid=5), alike(value))})
    assert own.top == top
    assert (np.diff(own.levels) > 0).all()
    assert own.is_cut == np.isinf(value)
