import pytest

from dartboard_papers import RunOptions, Verdict
from dartboard_papers.gaea_section_4_1 import BASE, FULL, GAEA, Drop, DropSearches, less_lost, plan, reproduce

TINY = DropSearches(channels=4, epochs=3, batch=300, seeds=1)


def drop(before, after):
    return Drop([50.0, before], [10.0, after], [1.0, 0.5])


@pytest.mark.parametrize(
    ("gaea", "held"), [([30, 28, 31, 29, 30], True), ([50, 58, 61, 39, 60], False), ([80] * 5, False)]
)
def test_gaea_must_lose_less_by_more_than_chance(gaea, held):
    drops = {
        BASE: [drop(70.0, 70.0 - lost) for lost in (50, 60, 55, 52, 58)],
        GAEA: [drop(80.0, 80.0 - lost) for lost in gaea],
    }
    part = less_lost(drops)
    assert part.held is held
    assert part.observed.startswith(f"{55 - sum(gaea) / 5:+.2f} points, p ")


def test_rates_make_the_papers_path(tmp_path):
    """Half of 1,500 images in batches of 300 are 2 steps an epoch, in two of three epochs."""
    rates = {method: plan(RunOptions(tmp_path), TINY, method).method.options for method in (BASE, GAEA)}
    assert rates[BASE] == {"warmup": 1, "lr": pytest.approx(2.06 / 4)}
    assert rates[GAEA] == {"warmup": 1, "lr": pytest.approx(392 / 4)}
    steps = 25_000 / FULL.batch
    assert steps * 35 * 6e-4 == pytest.approx(FULL.travel, rel=0.01)
    assert steps * 40 * 0.1 == pytest.approx(FULL.gaea_travel, rel=0.01)
    assert (FULL.images, FULL.pad, FULL.flip) == ("cifar10", 4, True)


def test_accuracies_before_and_after_are_those_of_the_searches(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY)
    here = {row.what: row.here for row in result.rows}
    for method in (BASE, GAEA):
        (own,) = result.numbers[method]
        assert here[f"{method}: before, %"] == own["mixed"][-1]
        assert here[f"{method}: lost, points"] == pytest.approx(own["mixed"][-1] - own["discrete"][-1])
        assert len(own["entropy"]) == TINY.epochs
    gain = here["pc-darts: lost, points"] - here["gaea-pc-darts: lost, points"]
    assert here["GAEA loses less, points"] == pytest.approx(gain)
    assert result.verdict is Verdict.NOT_HELD  # one seed tells nothing from chance


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cells", 4),
        ("channels", 8),
        ("epochs", 4),
        ("batch", 200),
        ("lr", 0.2),
        ("travel", 1.0),
        ("images", "cluttered-digits"),
        ("pad", 1),
        ("flip", True),
    ],
)
def test_every_number_changes_the_searches(tmp_path, key, value):
    usual, other = (
        plan(RunOptions(tmp_path), TINY.model_copy(update=own), BASE) for own in ({}, {key: value})
    )
    assert usual != other


def test_the_path_of_gaea_is_its_own(tmp_path):
    other = TINY.model_copy(update={"gaea_travel": 1.0})
    assert plan(RunOptions(tmp_path), TINY, GAEA) != plan(RunOptions(tmp_path), other, GAEA)
