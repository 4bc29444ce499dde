from dataclasses import replace

import pytest

from benching import record
from dartboard.scoreboard.curves import by_epoch, by_seconds
from dartboard.viz.band import Band

BEST = 0.83


def made(band: Band | None) -> Band:
    assert band is not None
    return band


def test_the_mean_regret_of_every_epoch_and_its_deviation() -> None:
    band = made(by_epoch([record("a", 0, [0.5, 0.7]), record("a", 1, [0.6, 0.8])], "one"))
    assert band.x.tolist() == [1, 2]
    assert band.mean == pytest.approx([BEST - 0.55, BEST - 0.75])
    assert band.std == pytest.approx([0.05 * 2**0.5] * 2)


def test_regret_is_that_of_the_data_set() -> None:
    band = made(by_epoch([record("a", 0, [0.5])], "two"))
    assert band.mean == pytest.approx([BEST / 2 - 0.25])


def test_one_run_has_no_spread() -> None:
    assert made(by_epoch([record("a", 0, [0.5, 0.7])], "one")).std.tolist() == [0, 0]


def test_a_run_that_has_ended_keeps_its_last_cell() -> None:
    band = made(by_epoch([record("a", 0, [0.5]), record("a", 1, [0.5, 0.6, 0.7])], "one"))
    assert band.x.tolist() == [1, 2, 3]
    assert BEST - band.mean == pytest.approx([0.5, 0.55, 0.6])


def test_seconds_of_runs_are_joined_from_where_all_have_begun() -> None:
    slow, quick = record("a", 0, [0.5, 0.7], pace=3.0), record("a", 1, [0.6, 0.8], pace=2.0)
    band = made(by_seconds([slow, quick], "one"))
    assert band.x.tolist() == [3, 4, 6]
    assert BEST - band.mean == pytest.approx([0.55, 0.65, 0.75])


def test_the_last_epoch_gives_way_to_the_final_choice() -> None:
    own = record("a", 0, [0.5, 0.7])
    own = replace(own, final=replace(own.final, seconds=9.0, test={"one": 0.8, "two": 0.4}))
    assert BEST - made(by_epoch([own], "one")).mean == pytest.approx([0.5, 0.8])
    assert made(by_seconds([own], "one")).x.tolist() == [2, 9]


def test_a_method_that_trains_nothing_is_a_point() -> None:
    own = replace(record("a", 0, [0.5]), points=())
    assert made(by_epoch([own], "one")).x.tolist() == [1]


def test_runs_without_seconds_are_left_out_of_time() -> None:
    known, unknown = record("a", 0, [0.5], pace=2.0), record("a", 1, [0.7], pace=None)
    assert by_seconds([unknown], "one") is None
    assert BEST - made(by_seconds([known, unknown], "one")).mean == pytest.approx([0.5])
    assert by_epoch([], "one") is None
