import json
import math
from dataclasses import replace

import pytest
from pydantic import ValidationError

from dartboard.arch.optim.expert_advice import theoretical_lr
from dartboard_papers import REPRODUCTIONS, RunOptions, Verdict
from dartboard_papers.theory.expert_problems import Gaussian
from dartboard_papers.theory.forecasters import Forecaster, Standing, stand
from dartboard_papers.xnas_figure_8 import (
    BEST_GD,
    BEST_XNAS,
    FALLS,
    GD,
    GROWTH,
    LESS,
    NAMES,
    UNIT,
    XNAS,
    GridPoint,
    MonteCarlo,
    RegretCurve,
    below,
    chance_of_fall,
    chance_of_shape,
    conclude,
    measure,
    misfit,
    reproduce,
)

TINY = MonteCarlo(runs=20, steps=30, experts=(2, 4, 8), noises=(0.5, 1.0), among=4, rates=(0.1, 1.0))


def curve(regrets: dict[str, list[float]]) -> RegretCurve:
    """Experts 2, 8 and 32 with these regrets; the more regret, the fewer correct selections."""
    found = [
        {name: Standing(name, n, 0.1, own[place], 0.0, 1 / own[place]) for name, own in regrets.items()}
        for place, n in enumerate((2, 8, 32))
    ]
    return RegretCurve("experts", (2, 8, 32), found)


def test_misfit_is_zero_for_a_multiple_and_one_for_what_is_across():
    assert misfit([2.0, 4.0], [1.0, 2.0]) == pytest.approx(0)
    assert misfit([1.0, -1.0], [1.0, 1.0]) == pytest.approx(1)
    assert misfit([3.0, 4.0], [1.0, 0.0]) == pytest.approx(0.8)


def test_a_point_has_the_best_of_the_rates(tmp_path):
    found = {own.forecaster: own for own in measure(GridPoint(4, 2.0, TINY, tmp_path, "cpu"))}
    assert set(found) == set(NAMES)
    bound = 3 * math.sqrt(5)
    assert found[XNAS].lr == found[GD].lr == theoretical_lr(4, 30, bound)
    assert found[UNIT].lr == theoretical_lr(4, 30, 1.0)
    every = [
        stand("", Gaussian(20, 4, 30, noise=2.0), Forecaster(lr, bound, softmax=True)) for lr in (0.1, 1.0)
    ]
    assert found[BEST_GD].regret == min(own.regret for own in every)
    assert found[BEST_XNAS].lr in (0.1, 1.0)


def test_what_is_measured_is_not_measured_again(tmp_path):
    point = GridPoint(4, 2.0, TINY, tmp_path, "cpu")
    measure(point)
    kept = json.loads(point.file.read_text())
    kept[0]["regret"] = 12345.0
    point.file.write_text(json.dumps(kept))
    assert measure(point)[0].regret == 12345.0
    assert GridPoint(4, 2.0, TINY.model_copy(update={"seed": 1}), tmp_path, "cpu").file != point.file


def test_the_claim_is_held_where_regrets_are_as_the_paper_says():
    slow, fast = (
        [10 * shape(n) for n in (2, 8, 32)] for shape in (lambda n: math.sqrt(math.log(n)), math.sqrt)
    )
    as_said = {XNAS: slow, GD: fast, BEST_XNAS: slow, BEST_GD: fast, UNIT: slow}
    parts, sentence, rows, _ = conclude(curve(as_said), curve(as_said), 1000)
    assert all(part.held for part in parts.values())
    assert list(parts) == list(REPRODUCTIONS["xnas-figure-8"].rules)
    assert "nearest to sqrt(ln N), GD's to sqrt(N)" in sentence
    assert rows[0].here == pytest.approx(0)
    xnas_grows, gd_grows = GROWTH
    for changed, failed in (
        ({XNAS: fast, GD: [2 * own for own in fast]}, xnas_grows),
        ({BEST_XNAS: fast, BEST_GD: slow}, LESS),
        ({GD: [20 * own for own in slow]}, gd_grows),
    ):
        other = curve(as_said | changed)
        parts = conclude(other, other, 1000)[0]
        assert [name for name, part in parts.items() if not part.held] == [failed]


def test_less_regret_is_less_by_two_standard_errors() -> None:
    def measured(error: float) -> list[RegretCurve]:
        own = curve({name: [10.0, 11.0, 12.0] if "XNAS" in name else [12.0, 13.0, 14.0] for name in NAMES})
        noisy = [{name: replace(each, error=error) for name, each in at.items()} for at in own.standings]
        return [replace(own, standings=noisy)]

    assert below(measured(0.7), XNAS, GD, 2.0) == (3, 3)
    assert below(measured(0.8), XNAS, GD, 2.0) == (0, 3)
    assert below(measured(0.8), XNAS, GD) == (3, 3)


def test_chance_of_a_shape_grows_with_errors() -> None:
    own = curve({name: [10 * math.sqrt(math.log(n)) for n in (2, 8, 32)] for name in NAMES})
    wild = [{name: replace(each, error=1e4) for name, each in at.items()} for at in own.standings]
    assert chance_of_shape(own, XNAS, "sqrt(ln N)", draws=99) == 1 / 100
    assert 0.2 < chance_of_shape(replace(own, standings=wild), XNAS, "sqrt(ln N)", draws=999) < 0.8


def test_chance_of_a_fall_is_that_of_an_order() -> None:
    """One order in six of three values that differ falls all the way."""
    own = curve({name: [1.0, 2.0, 4.0] for name in NAMES})
    assert chance_of_fall(own, XNAS, 10**9) == pytest.approx(1 / 6, abs=0.02)


@pytest.mark.parametrize(
    ("runs", "rise", "verdict"),
    [(1000, 0.01, Verdict.HELD), (1000, 0.05, Verdict.NOT_HELD), (100_000, 0.01, Verdict.NOT_HELD)],
)
def test_correct_selection_may_rise_by_chance_alone(runs, rise, verdict):
    slow, fast = (
        [10 * shape(n) for n in (2, 8, 32)] for shape in (lambda n: math.sqrt(math.log(n)), math.sqrt)
    )
    own = curve({XNAS: slow, GD: fast, BEST_XNAS: slow, BEST_GD: fast, UNIT: slow})
    shares = (0.9, 0.8, 0.8 + rise)
    found = [
        {name: replace(each, correct=share) for name, each in at.items()}
        for at, share in zip(own.standings, shares, strict=True)
    ]
    two = 2 * math.sqrt((0.8 * 0.2 + shares[2] * (1 - shares[2])) / runs)
    assert (rise <= two) == (verdict is Verdict.HELD)
    told, sentence, _, remarks = conclude(replace(own, standings=found), replace(own, standings=found), runs)
    assert told[FALLS].held is (verdict is Verdict.HELD)
    assert sentence.endswith("falls." if verdict is Verdict.HELD else "does not always fall.")
    assert "Without that allowance it does not always fall." in remarks


@pytest.mark.parametrize(
    "wrong",
    [{"rates": []}, {"rates": [0.0]}, {"experts": []}, {"experts": [1, 2]}, {"among": 1}, {"noises": [-1.0]}],
)
def test_grids_that_cannot_be(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        MonteCarlo.model_validate(wrong)


def test_it_runs_at_a_small_scale(tmp_path):
    told = []
    result = reproduce(RunOptions(tmp_path, tell=lambda *own: told.append(own)), TINY)
    assert told[-1] == ("points of the grids", 4, 4)  # four experts with noise 1 are in both grids
    assert len(result.rows) == 4 + 2 * (3 + 2)
    assert result.numbers["noise"]["grid"] == [0.5, 1.0]
    assert result.seeds == 20
    one = result.numbers["experts"]["forecasters"][XNAS][1]
    assert one == result.numbers["noise"]["forecasters"][XNAS][1]


@pytest.mark.parametrize("change", [{"noise": 3.0}, {"among": 5}, {"steps": 20}, {"runs": 10}, {"seed": 4}])
def test_every_number_of_the_scale_counts(tmp_path, change):
    small = TINY.model_copy(update={"experts": (2,), "noises": (0.5,)})
    one, other = (
        reproduce(RunOptions(tmp_path), own).numbers for own in (small, small.model_copy(update=change))
    )
    assert one != other
