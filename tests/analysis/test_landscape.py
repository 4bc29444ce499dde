"""Values on grids around weights: exact, resumable, and as much memory for many points as for few."""

import gc
import json
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError

from dartboard.analysis import landscape as module
from dartboard.analysis.grid import PointEvaluator
from dartboard.analysis.landscape import (
    GridOptions,
    Landscape,
    basin,
    convexity,
    landscape,
    sharpness,
    steepness,
    summary,
)
from dartboard.analysis.measures import draw_direction, mean_gradient, weights_of
from dartboard.errors import DataError, OptionError, RunError
from dartboard.nn import Model
from dartboard.space import adopt, decode, get_space
from helpers.landscape_cases import displaced, gradients, images, normalized, random_model

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"grid": 3, "radius": 0.5, "examples": 24, "batch": 8}


def small(**more: object) -> GridOptions:
    return GridOptions.model_validate(SMALL | more)


def points(options: GridOptions) -> list[tuple[int, int, float, float]]:
    steps = options.steps.tolist()
    return [(row, column, a, b) for row, b in enumerate(steps) for column, a in enumerate(steps)]


@pytest.mark.parametrize("kind", [{}, {"kind": "gaussian"}, {"vectors": "drawn"}, {"seed": 5}])
def test_losses_are_those_of_moved_networks(kind: dict[str, object]) -> None:
    own, given = random_model(), images()
    options = small(**({"directions": kind["kind"]} if "kind" in kind else kind))
    found = landscape(own, given, options)
    for row, column, a, b in points(options):
        logits = displaced(own.net, a, b, **kind)(normalized(given))
        expected = F.cross_entropy(logits, given.labels).item()
        assert found.values[row, column] == pytest.approx(expected, rel=1e-10)
    assert found.center == pytest.approx(F.cross_entropy(own.net(normalized(given)), given.labels).item())


def test_fresh_statistics_are_those_of_the_training_images_at_the_point() -> None:
    own, given, train = random_model(), images(), images(16, seed=1)
    options = small(statistics="fresh", fresh=16, batch=16)
    found = landscape(own, given, options, train=train)
    for row, column, a, b in points(options):
        net = displaced(own.net, a, b)
        for norm in net.modules():
            if isinstance(norm, torch.nn.BatchNorm2d):
                norm.momentum = 1.0
        net.train()(normalized(train))
        expected = F.cross_entropy(net.eval()(normalized(given)), given.labels).item()
        assert found.values[row, column] == pytest.approx(expected, rel=1e-10)


def test_fresh_statistics_of_several_batches_are_their_mean() -> None:
    own, given, train = random_model(), images(), images(16, seed=1)
    options = small(statistics="fresh", fresh=16, batch=8)
    evaluator = PointEvaluator(module.make_problem(own, given, train, options), "cpu")
    first, second = evaluator.context.plane.fresh
    stem = evaluator.context.plane.at(0.0, 0.0).stem.stages[0]
    outputs = [stem[0](x) for x in (first, second)]
    mean = torch.stack([output.mean((0, 2, 3)) for output in outputs]).mean(0)
    torch.testing.assert_close(stem[1].running_mean, mean)
    assert stem[1].momentum == 0.1


def test_the_statistics_of_each_batch() -> None:
    own, given = random_model(), images(20)
    options = small(statistics="batch", batch=8)
    context = PointEvaluator(module.make_problem(own, given, None, options), "cpu").context
    assert [len(y) for _, y in context.batches] == [8, 8]  # the last 4 are not a whole batch
    found = landscape(own, given, options)
    for row, column, a, b in points(options):
        net = displaced(own.net, a, b).train()
        expected = np.mean([F.cross_entropy(net(x), y).item() for x, y in context.batches])
        assert found.values[row, column] == pytest.approx(expected, rel=1e-10)


def test_gradients_and_their_differences() -> None:
    own, given = random_model(), images()
    norms = landscape(own, given, small(of="gradient"))
    ratios = landscape(own, given, small(of="smoothness"))
    x, y, step = normalized(given), given.labels, 0.5
    weights = list(weights_of(own.net).values())
    lengths = [
        torch.cat([part.flatten() for part in draw_direction(weights, number)]).norm() for number in (1, 2)
    ]
    for row, column, a, b in points(norms.options):
        here = gradients(displaced(own.net, a, b), x, y)
        right, above = (gradients(displaced(own.net, *at), x, y) for at in ((a + step, b), (a, b + step)))
        assert norms.values[row, column] == pytest.approx(here.norm().item())
        expected = max((right - here).norm() / lengths[0], (above - here).norm() / lengths[1]) / step
        assert ratios.values[row, column] == pytest.approx(expected.item())


@pytest.mark.parametrize("statistics", ["kept", "batch"])
def test_variances_on_the_grid(statistics: str) -> None:
    own, given = random_model(), images(12)
    options = small(of="variance", statistics=statistics, batch=4)
    found = landscape(own, given, options)
    batches = PointEvaluator(module.make_problem(own, given, None, options), "cpu").context.batches
    for row, column, a, b in points(options)[:4]:
        net = displaced(own.net, a, b)
        if statistics == "kept":
            singles = zip(normalized(given).split(1), given.labels.split(1), strict=True)
            rows, scale = torch.stack([gradients(net, *one) for one in singles]), 1.0
        else:
            rows = torch.stack([gradients(net.train(), x, y) for x, y in batches])
            scale = 4 * 11 / 12 * 3 / 2
        expected = scale * (rows - rows.mean(0)).square().sum(1).mean().item()
        assert found.values[row, column] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "other",
    [
        {"radius": 0.6},
        {"directions": "gaussian"},
        {"vectors": "drawn"},
        {"statistics": "batch"},
        {"statistics": "fresh"},
        {"statistics": "fresh", "fresh": 8},
        {"statistics": "batch", "batch": 6},
        {"examples": 10},
        {"seed": 1},
        {"of": "gradient"},
    ],
)
def test_every_option_matters(other: dict[str, object]) -> None:
    own, given, train = random_model(), images(), images(16, seed=1)
    usual = {"fresh": 16} | {key: value for key, value in other.items() if key == "statistics"}
    usual = usual if len(other) > 1 else {}
    before = landscape(own, given, small(**usual), train=train)
    after = landscape(own, given, small(**(usual | other)), train=train)
    assert not np.allclose(before.values, after.values)


def test_the_network_stays_as_it_is() -> None:
    own = random_model(dtype=torch.float32)
    before = {name: value.clone() for name, value in own.net.state_dict().items()}
    for statistics in ("kept", "batch", "fresh"):
        landscape(own, images(), small(statistics=statistics), train=images(8))
    assert all(torch.equal(value, before[name]) for name, value in own.net.state_dict().items())
    assert not own.net.training


class Killed(Exception):  # noqa: N818
    """Ends a landscape from inside."""


def test_what_was_stopped_goes_on_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, given, options = random_model(dtype=torch.float32), images(), small(grid=5)
    expected = landscape(own, given, options)
    counted: list[object] = []
    call = PointEvaluator.__call__
    monkeypatch.setattr(
        PointEvaluator, "__call__", lambda self, place: counted.append(place) or call(self, place)
    )

    def stop(what: str, done: int, total: int) -> None:
        assert (what, total) == ("loss", 25)
        if done in (7, 16):
            raise Killed

    for _ in range(2):
        with pytest.raises(Killed):
            landscape(own, given, options, folder=tmp_path, progress=stop)
    found = landscape(own, given, options, folder=tmp_path)
    assert len(counted) == len(set(counted)) == 25
    assert np.array_equal(found.values, expected.values)
    again = landscape(own, given, options, folder=tmp_path)
    assert len(counted) == 25
    assert np.array_equal(again.values, expected.values)


def test_several_processes_give_the_same(tmp_path: Path) -> None:
    own, given, options = random_model(dtype=torch.float32), images(), small(grid=5)
    told: list[tuple[str, int, int]] = []
    found = landscape(
        own, given, options, folder=tmp_path, jobs=2, progress=lambda *words: told.append(words)
    )
    assert np.array_equal(found.values, landscape(own, given, options).values)
    assert told == [("loss", done, 25) for done in range(1, 26)]


class Threads:
    """Measures how many threads there are."""

    def __init__(self, *_: object) -> None:
        """Whatever the site, wherever."""

    def __call__(self, _: object) -> float:
        return float(torch.get_num_threads())


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_thread_computes_and_the_others_come_back(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PointEvaluator", Threads)
    own, given, options = random_model(), images(), small()
    monkeypatch.setattr(module.Grid, "missing", lambda _: [(0, 0)])  # which several jobs leave to this one
    torch.set_num_threads(3)
    assert landscape(own, given, options, jobs=jobs).values[0, 0] == 1
    assert torch.get_num_threads() == 3


def test_a_point_that_overflows_spoils_no_other() -> None:
    own, given, train = random_model(dtype=torch.float32), images(), images(16, seed=1)
    options = small(statistics="fresh", fresh=16, radius=1e38)
    evaluator = PointEvaluator(module.make_problem(own, given, train, options), "cpu")
    alone = evaluator((1, 1))
    assert np.isfinite(alone)
    assert not np.isfinite(evaluator((0, 0)))
    assert evaluator((1, 1)) == alone


DEAD = "|nor_conv_3x3~0|+|none~0|none~1|+|none~0|none~1|nor_conv_1x1~2|"
"""A cell whose last node reads one that is always zero, while the first feeds nothing."""


@pytest.mark.parametrize(
    "more",
    [{"of": "gradient"}, {"of": "smoothness"}, {"of": "variance"}, {"of": "variance", "statistics": "batch"}],
)
def test_nodes_that_feed_nothing(more: dict[str, object]) -> None:
    whole = get_space("nb201")
    own = random_model(space=adopt(whole, decode(DEAD)), mix="plain")
    assert np.isfinite(landscape(own, images(), small(**more)).values).all()


def test_the_gradient_is_zero_where_nothing_is_fed() -> None:
    own, given = random_model(space=adopt(get_space("nb201"), decode(DEAD)), mix="plain"), images()
    x, y, weights = normalized(given), given.labels, list(weights_of(own.net).values())
    found = mean_gradient(own.net, weights, [(x, y)])
    loss = F.cross_entropy(own.net(x), y)
    expected = torch.autograd.grad(loss, weights, allow_unused=True)
    assert None in expected
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other)


def test_values_of_something_else_are_refused(tmp_path: Path) -> None:
    own, given = random_model(), images()
    landscape(own, given, small(), folder=tmp_path)
    other = Model(displaced(own.net, 0.1, 0.0), own.classes, own.mean, own.std)
    for arguments, what in (
        ((other, given, small()), "another network"),
        ((own, images(seed=3), small()), "other images"),
        ((own, given, small(radius=2.0)), "radius=0.5"),
        ((own, given, small(grid=5)), "grid=3"),
    ):
        with pytest.raises(RunError, match=f"loss.json was made with {what}; name another folder"):
            landscape(*arguments, folder=tmp_path)
    (tmp_path / "loss.json").write_text("{")
    with pytest.raises(RunError, match="is damaged; remove it"):
        landscape(own, given, small(), folder=tmp_path)


def test_losses_that_overflow_are_infinite_and_stay_so(tmp_path: Path) -> None:
    own, options = random_model(dtype=torch.float32), small(radius=1e38)
    found = landscape(own, images(), options, folder=tmp_path)
    assert np.isinf(found.values).any()
    assert np.isfinite(found.center)
    assert np.array_equal(landscape(own, images(), options, folder=tmp_path).values, found.values)
    facts = json.loads(json.dumps(found.facts(), allow_nan=False))
    assert None in facts["values"][0]


def live_bytes() -> int:
    """Of all tensors that there are and that have memory of their own: other tests leave others behind."""
    every = [thing for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor)]
    owned = [own for own in every if own.layout == torch.strided and own.device.type == "cpu"]
    storages = {own.untyped_storage().data_ptr(): own.untyped_storage().nbytes() for own in owned}
    return sum(storages.values())


def test_many_points_take_no_more_memory_than_few() -> None:
    own, given = random_model(dtype=torch.float32, channels=32), images(4)
    weights = sum(4 * weight.numel() for weight in own.net.parameters())
    gc.collect()
    before, seen = live_bytes(), list[int]()

    def look(_: str, done: int, total: int) -> None:
        if done == total:
            seen.append(live_bytes() - before)

    for grid in (3, 9):
        landscape(own, given, small(grid=grid), progress=look)
    few, many = seen
    assert few == many
    assert 3 * weights < many < 3.1 * weights + 10_000  # a network and two directions, and the images


def test_a_grid_without_a_middle() -> None:
    with pytest.raises(ValidationError, match="grid must be odd"):
        GridOptions(grid=4)


@pytest.mark.parametrize("radius", [0.0, 1e-39, 1e39, float("inf"), float("nan")])
def test_a_radius_that_numbers_cannot_hold(radius: float) -> None:
    with pytest.raises(ValidationError, match="radius"):
        GridOptions(radius=radius)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(OptionError, match="statistics=fresh takes statistics from training images"):
        landscape(random_model(), images(), small(statistics="fresh"))
    with pytest.raises(DataError, match="no images"):
        landscape(random_model(), images(0), small())
    with pytest.raises(OptionError, match="at least two"):
        landscape(random_model(), images(8), small(of="variance", statistics="batch", batch=8))


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
    steps = bowl().steps
    expected = np.mean(steps[:, None] ** 2 + steps**2 <= 0.64 + 1e-12)
    assert basin(bowl(), 0.64 + 1e-12) == pytest.approx(expected)
    walls = made(lambda a, b: np.where(np.abs(a) == 0.5, 9.0, 0.0) + 0 * b)
    assert basin(walls) == pytest.approx(9 / 21)


def test_steepness_is_the_largest_slope_between_neighbors():
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
