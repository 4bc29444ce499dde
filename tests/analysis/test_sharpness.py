import numpy as np
import pytest

from dartboard.analysis.landscape import GridOptions, Landscape
from dartboard.analysis.sharpness import basin, convexity, sharpness, steepness, summary


def made(function, grid=21, radius=1.0, of="loss"):
    options = GridOptions(grid=grid, radius=radius, of=of)
    across, along = np.meshgrid(options.steps, options.steps)
    return Landscape(options, function(across, along).astype(float))


def bowl(scale=1.0):
    return made(lambda a, b: scale * (a**2 + b**2) + 0.5)


def test_sharpness_is_the_rise_within_a_radius_in_percent():
    assert sharpness(bowl()) == pytest.approx(100 * 1.0 / 1.5)
    assert sharpness(bowl(), 0.5) == pytest.approx(100 * 0.25 / 1.5)
    assert sharpness(bowl(4.0), 0.5) == pytest.approx(100 * 1.0 / 1.5)


def test_the_basin_is_what_is_low_and_hangs_together_with_the_middle():
    expected = np.mean(bowl().distances ** 2 <= 0.64 + 1e-12)
    assert basin(bowl(), 0.64 + 1e-12) == pytest.approx(expected)
    walls = made(lambda a, b: np.where(np.abs(a) == 0.5, 9.0, 0.0) + 0 * b)
    assert basin(walls) == pytest.approx(9 / 21)


def test_steepness_is_the_largest_slope_between_neighbours():
    assert steepness(made(lambda a, b: 3 * a - 5 * b)) == pytest.approx(5.0)
    beyond = made(lambda a, b: np.where(a > 0.8, np.inf, b))
    assert steepness(beyond) == np.inf


@pytest.mark.parametrize(
    ("function", "share"),
    [
        (lambda a, b: a**2 + b**2, 1.0),
        (lambda a, b: a**2 - b**2, 0.0),
        (lambda a, b: a**2 + b**2 + 3 * a * b, 0.0),
        (lambda a, b: -(a**2) - b**2, 0.0),
        (lambda a, b: np.where(a < 0, 2 * a**2, -(a**2)) + 3 * b**2, 10 / 19),
    ],
)
def test_convexity_is_the_share_of_points_that_bend_upwards(function, share):
    assert convexity(made(function)) == pytest.approx(share)


def test_where_all_is_infinite_there_is_no_shape():
    nothing = made(lambda a, b: np.full_like(a + b, np.inf), grid=5)
    assert summary(nothing)["centre"] == np.inf
    for measure in (sharpness, basin, steepness):
        assert np.isnan(measure(nothing))


def test_what_is_said_depends_on_what_was_measured():
    said = summary(bowl())
    assert said.keys() == {"centre", "sharpness", "basin", "steepness", "convexity"}
    assert said["centre"] == 0.5
    other = summary(made(lambda a, b: a + b, of="gradient"))
    assert other["maximum"] == pytest.approx(2.0)
    assert other["mean"] == pytest.approx(0.0)
    assert other["median"] == pytest.approx(0.0)
