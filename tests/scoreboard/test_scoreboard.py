import csv
import io
import json
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard.errors import TableError
from dartboard.scoreboard.baselines import DIRECT, POPULATION, TRANSFER, Baseline
from dartboard.scoreboard.records import BenchRecord
from dartboard.scoreboard.scoreboard import (
    BETTER,
    ONE_SEED,
    UNCLEAR,
    WORSE,
    RowBuilder,
    ScoreboardRow,
    Table,
    difference,
    format_rows,
    in_ranges,
    make_scoreboard,
    row_values,
    verdict,
)
from dartboard.utils import statistics
from dartboard.utils.statistics import RESAMPLES, Difference, Summary, resampled_means
from helpers.bench_records import SmallOracle, accuracy, made_up_nb201, on_nb201, random_at, record

EXPECTED = {"good": [0, 1, 2], "bad": [0, 1, 2], "absent": [0, 1]}
RANDOM = random_at([0.70, 0.72, 0.74, 0.71])


def records() -> list[BenchRecord]:
    good = [record("good", seed, [0.6, 0.80 + 0.01 * seed]) for seed in range(3)]
    return [*good, *(record("bad", seed, [0.50 + 0.01 * seed]) for seed in (0, 2))]


@pytest.fixture
def table() -> Table:
    return make_scoreboard(EXPECTED, records(), SmallOracle(), [RANDOM])


def test_rows_stand_in_the_order_of_the_bench(table: Table) -> None:
    assert [row.label for row in table.rows] == ["good", "bad", "absent", "random", "best cell"]
    assert [row.done for row in table.rows] == [3, 2, 0, 4, 1]
    assert [row.missing for row in table.rows] == [(), (1,), (0, 1), (), ()]
    assert (table.oracle, table.architectures, table.datasets) == ("small", 216, ("one", "two"))


def test_what_all_are_compared_with_is_random(table: Table) -> None:
    gaps = {row.label: row.difference.mean for row in table.rows if row.difference}
    assert gaps == pytest.approx({"good": 0.81 - 0.7175, "bad": 0.51 - 0.7175})
    assert [row.verdict for row in table.rows] == ["better", "worse", "", "", ""]


def test_one_more_record_changes_its_row_alone(table: Table) -> None:
    more = make_scoreboard(EXPECTED, [*records(), record("absent", 1, [0.8])], SmallOracle(), [RANDOM])
    changed = [new.label for new, old in zip(more.rows, table.rows, strict=True) if new != old]
    assert changed == ["absent"]
    assert more.rows[2].missing == (0,)


def test_markdown_is_a_table_and_its_remarks(table: Table) -> None:
    lines = table.markdown().splitlines()
    assert lines[0].startswith("| method | seeds | test one | test two | regret | entropy | seconds |")
    assert lines[0].endswith("| Kendall | Spearman | to random |")
    assert lines[1] == "|---" + "|--:" * 9 + "|"
    assert lines[2].startswith(
        "| good | 3/3 | 81.00 +- 1.00 | 40.50 +- 0.50 | 2.00 +- 1.00 | 0.500 | 4 | 0.150 | 0.300 | +9.25 (+"
    )
    assert lines[2].endswith(", better |")
    assert lines[4] == "| absent | 0/2 | - | - | - | - | - | - | - | - |"
    assert lines[5].startswith("| random | 4 draws | 71.75 +- 1.71 |")
    assert lines[6] == "| best cell | - | 83.00 | 41.50 | 0.00 | - | - | - | - | - |"
    assert [line.count("|") for line in lines[:7]] == [11] * 7
    assert lines[8:] == [f"- {own}" for own in table.remarks]


def test_csv_has_all_numbers(table: Table) -> None:
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(table.csv()))}
    assert list(rows) == [row.label for row in table.rows]
    good, bad, absent = rows["good"], rows["bad"], rows["absent"]
    assert float(good["test one"]) == pytest.approx(0.81)
    assert float(good["test one deviation"]) == pytest.approx(0.01)
    assert float(good["regret"]) == pytest.approx(0.02)
    assert float(good["to random low"]) < float(good["to random"]) < float(good["to random high"])
    assert (good["kind"], good["done"], good["missing"], good["verdict"]) == ("search", "3", "", "better")
    assert (bad["missing"], absent["missing"], absent["test one"]) == ("1", "0 1", "")
    assert float(good["kendall"]) == pytest.approx(0.15)
    assert [rows["random"][name] for name in ("to random", "verdict", "entropy")] == ["", "", ""]


def test_facts_are_json_and_hold_everything(table: Table) -> None:
    facts = json.loads(json.dumps(table.facts()))
    assert facts["remarks"] == list(table.remarks)
    good = facts["rows"][0]
    assert good["tests"]["two"] == {
        "mean": pytest.approx(0.405),
        "deviation": pytest.approx(0.005),
        "count": 3,
    }
    assert good["difference"]["mean"] == pytest.approx(0.0925)
    assert facts["rows"][1]["missing"] == [1]


def test_the_papers_columns_are_there_on_its_benchmark() -> None:
    oracle = made_up_nb201()
    found = make_scoreboard({"gdas": [0], "mine": [0]}, [on_nb201("gdas", 0, oracle)], oracle)
    head, gdas, mine, best = found.cells()
    assert head[-2:] == ("paper, transfer", "paper, direct")
    assert gdas[-2] == "93.61 +- 0.09 / 70.70 +- 0.30 / 41.71 +- 0.98"
    assert mine[-2:] == ("-", "-")
    assert best[-1] == "94.37 / 73.51 / 47.31"
    assert found.facts()["rows"][0]["direct"]["seconds"] == 27923


def test_records_that_are_not_expected_are_left_out_and_counted(table: Table) -> None:
    strange = [record("good", 7, [0.1]), record("other", 0, [0.1])]
    found = make_scoreboard(EXPECTED, [*records(), *strange], SmallOracle(), [RANDOM])
    assert found.rows == table.rows
    assert set(found.remarks) - set(table.remarks) == {
        "Records that are not asked for here, and left out: 2."
    }


def test_a_record_of_another_benchmark_is_refused() -> None:
    with pytest.raises(TableError, match="good with seed 0 is of the benchmark small, not nb201"):
        make_scoreboard(EXPECTED, records(), made_up_nb201())


def test_a_record_made_with_another_table_is_refused() -> None:
    changed = replace(records()[0], best={"one": 0.9, "two": 0.415})
    with pytest.raises(TableError, match=r"good with seed 0 was made with another table of small.*0\.9"):
        make_scoreboard(EXPECTED, [changed], SmallOracle())
    with pytest.raises(TableError, match="another table"):
        make_scoreboard(EXPECTED, [replace(changed, best={"one": 0.83})], SmallOracle())


def test_a_table_that_is_rounded_otherwise_is_the_same() -> None:
    changed = replace(records()[0], best={"one": 0.83004, "two": 0.415})
    assert make_scoreboard(EXPECTED, [changed], SmallOracle()).rows[0].done == 1


def test_two_records_of_one_search_are_refused() -> None:
    with pytest.raises(TableError, match="two records of good with seed 0"):
        make_scoreboard(EXPECTED, [*records(), records()[0]], SmallOracle())


samples = st.lists(st.floats(0, 1), min_size=2, max_size=12)


def coverage(seeds: int, times: int = 200) -> float:
    """How often the interval holds the true difference, 0.3, of normal values from 50 of random."""
    rng = np.random.default_rng(0)
    found = [
        difference(rng.normal(0.3, 1, seeds).tolist(), rng.normal(0, 1, 50).tolist()) for _ in range(times)
    ]
    return float(np.mean([(own.low or 0) <= 0.3 <= (own.high or 0) for own in found]))


def test_intervals_from_many_seeds_hold_the_truth_as_often_as_they_say() -> None:
    assert 0.90 <= coverage(30) <= 0.99


def test_intervals_from_three_seeds_are_too_narrow() -> None:
    assert 0.65 <= coverage(3) <= 0.85


def test_the_width_is_that_of_the_normal_approximation() -> None:
    one, other = np.random.default_rng(1).normal(size=(2, 400))
    found = difference(one.tolist(), other.tolist())
    assert found.mean == pytest.approx(one.mean() - other.mean())
    error = np.sqrt((one.var() + other.var()) / 400)
    assert found.low == pytest.approx(found.mean - 1.96 * error, abs=0.05 * error)
    assert found.high == pytest.approx(found.mean + 1.96 * error, abs=0.05 * error)


def test_of_two_values_every_resample_is_known() -> None:
    means = resampled_means(np.array([0.0, 1.0]), np.random.default_rng(0))
    assert means.shape == (RESAMPLES,)
    shares = [np.mean(means == value) for value in (0.0, 0.5, 1.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.02)


@pytest.mark.parametrize("block", [1, 70, 333, 1_000_000])
def test_blocks_of_any_size_draw_the_same(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(size=7)
    whole = values[np.random.default_rng(0).integers(7, size=(RESAMPLES, 7))].mean(axis=1)
    monkeypatch.setattr(statistics, "BLOCK", block)
    assert np.array_equal(resampled_means(values, np.random.default_rng(0)), whole)


def test_many_values_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "BLOCK", 10_000)
    values = np.arange(1000, dtype=np.float64)
    tracemalloc.start()
    try:
        resampled_means(values, np.random.default_rng(0))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


@given(samples, samples)
@settings(max_examples=25, deadline=None)
def test_worse_by_as_much_is_the_mirror_image(one: list[float], other: list[float]) -> None:
    found = difference(one, other)
    mirrored = difference([-value for value in one], [-value for value in other])
    assert (mirrored.mean, mirrored.low, mirrored.high) == pytest.approx(
        (-found.mean, -(found.high or 0), -(found.low or 0)), abs=1e-12
    )


@given(samples, samples)
@settings(max_examples=25, deadline=None)
def test_the_interval_stays_within_what_resamples_can_reach(one: list[float], other: list[float]) -> None:
    found = difference(one, other)
    assert found.low is not None
    assert found.high is not None
    tiny = 1e-9
    assert min(one) - max(other) - tiny <= found.low <= found.high <= max(one) - min(other) + tiny


def test_sides_change_places_up_to_chance() -> None:
    one, other = np.random.default_rng(2).normal(size=(2, 40))
    there, back = difference(one.tolist(), other.tolist()), difference(other.tolist(), one.tolist())
    assert there.low == pytest.approx(-(back.high or 0), abs=0.02)
    assert there.high == pytest.approx(-(back.low or 0), abs=0.02)


def test_twice_the_same_is_the_same() -> None:
    assert difference([0.1, 0.4, 0.3], [0.2, 0.1]) == difference([0.1, 0.4, 0.3], [0.2, 0.1])


@pytest.mark.parametrize(("one", "other"), [([0.5], [0.1, 0.2]), ([0.5, 0.6], [0.1]), ([0.5], [0.1])])
def test_one_value_has_no_interval(one: list[float], other: list[float]) -> None:
    found = difference(one, other)
    assert (found.low, found.high) == (None, None)
    assert found.mean == pytest.approx(np.mean(one) - np.mean(other))
    assert verdict(found) == ONE_SEED


def test_without_spread_the_interval_is_a_point() -> None:
    found = difference([0.75, 0.75], [0.5, 0.5, 0.5])
    assert (found.mean, found.low, found.high) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, 0.2, BETTER),
        (-0.2, -0.1, WORSE),
        (-0.1, 0.1, UNCLEAR),
        (0.0, 0.2, UNCLEAR),
        (-0.2, 0.0, UNCLEAR),
    ],
)
def test_what_an_interval_says(low: float, high: float, expected: str) -> None:
    assert verdict(Difference(0.0, low, high)) == expected


RANDOM_TESTS = [0.70, 0.72, 0.74, 0.71]


@pytest.fixture
def rows() -> RowBuilder:
    return RowBuilder(SmallOracle(), RANDOM_TESTS)


def test_the_row_of_searches_is_about_what_was_chosen_at_the_end(rows: RowBuilder) -> None:
    found = {0: record("a", 0, [0.8, 0.6]), 2: record("a", 2, [0.5, 0.7], entropy=0.1)}
    row = rows.of_searches("a", [0, 1, 2, 3], found)
    assert (row.label, row.kind, row.done, row.missing) == ("a", "search", 2, (1, 3))
    assert row.tests["one"].mean == pytest.approx(0.65)
    assert row.tests["one"].deviation == pytest.approx(0.05 * 2**0.5)
    assert row.tests["two"].mean == pytest.approx(0.325)
    assert row.regret is not None
    assert row.regret.mean == pytest.approx(accuracy(215) - 0.65)
    assert row.regret.deviation == pytest.approx(0.05 * 2**0.5)
    assert (row.entropy, row.seconds) == (pytest.approx(0.3), pytest.approx(4.0))
    assert row.difference == difference([0.6, 0.7], RANDOM_TESTS)


def test_rank_correlations_are_of_those_that_were_measured(rows: RowBuilder) -> None:
    found = {seed: record("a", seed, [0.6]) for seed in (0, 1, 2)}
    row = rows.of_searches("a", [0, 1, 2], found)
    assert (row.kendall, row.spearman) == (pytest.approx(0.15), pytest.approx(0.3))
    assert rows.of_searches("a", [0], found).kendall is None


def test_what_no_record_knows_is_not_known(rows: RowBuilder) -> None:
    row = rows.of_searches("a", [0], {0: record("a", 0, [0.6], entropy=None, pace=None)})
    assert (row.entropy, row.seconds, row.kendall, row.spearman) == (None, None, None, None)


def test_records_of_other_seeds_do_not_count(rows: RowBuilder) -> None:
    found = {seed: record("a", seed, [0.1 * seed]) for seed in (3, 4, 5)}
    row = rows.of_searches("a", [3, 4], found)
    assert row.done == 2
    assert row.tests["one"].mean == pytest.approx(0.35)


def test_a_method_without_a_record_has_a_row_all_the_same(rows: RowBuilder) -> None:
    row = rows.of_searches("a", [0, 1], {})
    assert (row.done, row.missing, row.tests, row.regret) == (0, (0, 1), {}, None)
    assert (row.difference, row.verdict) == (None, "")


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        ([0.80, 0.82, 0.81], "better"),
        ([0.50, 0.52, 0.51], "worse"),
        ([0.60, 0.85, 0.71], "no difference shown"),
        ([0.82], "one seed"),
    ],
)
def test_a_method_is_compared_with_random(rows: RowBuilder, tests: list[float], verdict: str) -> None:
    found = {seed: record("a", seed, [test]) for seed, test in enumerate(tests)}
    assert rows.of_searches("a", range(len(tests)), found).verdict == verdict


def test_a_single_draw_of_random_is_not_blamed_on_the_method() -> None:
    found = {seed: record("a", seed, [0.6]) for seed in range(3)}
    row = RowBuilder(SmallOracle(), [0.5]).of_searches("a", range(3), found)
    assert row.verdict == "one draw of random"
    assert row.difference is not None
    assert (row.difference.mean, row.difference.low) == (pytest.approx(0.1), None)


def test_without_random_nothing_is_compared() -> None:
    row = RowBuilder(SmallOracle(), []).of_searches("a", [0], {0: record("a", 0, [0.6])})
    assert (row.difference, row.verdict) == (None, "")
    assert row.tests["one"].mean == 0.6


def test_the_row_of_a_baseline(rows: RowBuilder) -> None:
    row = rows.of_baseline(random_at([0.8, 0.82], "evolution", seconds=3.0))
    assert (row.kind, row.done, row.missing, row.seconds) == ("baseline", 2, (), 6.0)
    assert row.verdict == "better"
    assert row.tests["two"].mean == pytest.approx(0.405)
    assert rows.of_baseline(random_at([0.8, 0.82], "evolution")).seconds is None


def test_random_is_not_compared_with_itself(rows: RowBuilder) -> None:
    row = rows.of_baseline(random_at(RANDOM_TESTS))
    assert (row.difference, row.verdict) == (None, "")
    assert row.regret is not None
    assert row.regret.mean == pytest.approx(accuracy(215) - 0.7175)


def test_the_best_cell_has_no_regret(rows: RowBuilder) -> None:
    row = rows.of_best()
    assert (row.label, row.kind, row.difference, row.verdict) == ("best cell", "best", None, "")
    assert row.regret is not None
    assert row.regret.mean == 0
    assert {name: own.mean for name, own in row.tests.items()} == pytest.approx({"one": 0.83, "two": 0.415})


def test_the_papers_numbers_stand_beside_its_own_benchmark_alone(rows: RowBuilder) -> None:
    oracle = made_up_nb201()
    row = RowBuilder(oracle, []).of_searches("gdas", [0], {0: on_nb201("gdas", 0, oracle)})
    assert (row.transfer, row.direct) == (TRANSFER["gdas"], DIRECT["gdas"])
    assert RowBuilder(oracle, []).of_searches("mine", [0], {}).transfer is None
    assert RowBuilder(oracle, []).of_best().transfer == TRANSFER["best cell"]
    assert rows.of_searches("gdas", [0], {}).transfer is None


ROW = ScoreboardRow(
    "a",
    "search",
    2,
    missing=(4,),
    tests={"one": Summary(0.5, 0.01, 2)},
    regret=Summary(0.25, None, 1),
    entropy=1.0,
    seconds=12345.6,
    kendall=0.25,
    spearman=-0.5,
    difference=Difference(0.1, -0.2, 0.4),
    verdict="no difference shown",
)


def texts(row: ScoreboardRow) -> dict[str, str]:
    head, found = format_rows([row], ["one"])
    return dict(zip(head, found, strict=True))


def test_texts_are_in_percent() -> None:
    assert texts(ROW) == {
        "method": "a",
        "seeds": "2/3",
        "test one": "50.00 +- 1.00",
        "regret": "25.00",
        "entropy": "1.000",
        "seconds": "12,346",
        "Kendall": "0.250",
        "Spearman": "-0.500",
        "to random": "+10.00 (-20.00 to +40.00), no difference shown",
    }


def test_numbers_are_shares() -> None:
    found = row_values(ROW, ["one"])
    assert (found["test one"], found["test one deviation"]) == (0.5, 0.01)
    assert (found["regret"], found["regret deviation"]) == (0.25, None)
    assert (found["to random"], found["to random low"], found["to random high"]) == (0.1, -0.2, 0.4)
    assert (found["seconds"], found["missing"], found["spearman"]) == (12345.6, "4", -0.5)


def test_a_row_without_anything_is_dashes_and_nones() -> None:
    bare = ScoreboardRow("b", "search", 0, missing=(0,))
    assert list(texts(bare).values()) == ["b", "0/1", *["-"] * 7]
    known = {name for name, value in row_values(bare, ["one"]).items() if value is not None}
    assert known == {"method", "kind", "done", "missing", "verdict"}


def test_a_single_seed_has_no_interval() -> None:
    row = ScoreboardRow("a", "search", 1, difference=Difference(-0.1, None, None), verdict="one seed")
    assert texts(row)["to random"] == "-10.00, one seed"


@pytest.mark.parametrize(("kind", "expected"), [("search", "7/7"), ("baseline", "7 draws"), ("best", "-")])
def test_what_is_counted(kind: str, expected: str) -> None:
    assert texts(ScoreboardRow("a", kind, 7))["seeds"] == expected  # type: ignore[arg-type]


def test_the_papers_column_is_there_if_it_has_something() -> None:
    head, first, second = format_rows(
        [ScoreboardRow("gdas", "search", 0, transfer=TRANSFER["gdas"]), ROW], ["one"]
    )
    assert head[-1] == "paper, transfer"
    assert (first[-1], second[-1]) == ("93.61 +- 0.09 / 70.70 +- 0.30 / 41.71 +- 0.98", "-")
    assert "paper, direct" not in head


def said(
    tests: dict[str, Sequence[float]], baselines: Sequence[Baseline] = (RANDOM,), seeds: int | None = None
) -> tuple[str, ...]:
    """The remarks on methods whose seeds came to those accuracies."""
    records = [record(label, seed, [test]) for label, own in tests.items() for seed, test in enumerate(own)]
    expected = {label: range(seeds or len(own)) for label, own in tests.items()}
    return make_scoreboard(expected, records, SmallOracle(), baselines).remarks


def test_who_beat_random_who_did_not_and_who_was_worse() -> None:
    found = said(
        {"a": [0.80, 0.81] * 5, "b": [0.5, 0.51] * 5, "c": [0.6, 0.83] * 5, "d": [0.8], "e": [0.81, 0.82] * 5}
    )
    assert found[:4] == (
        "Better than random here: a, e.",
        "No difference to random shown: c.",
        "Worse than random here: b.",
        "One seed alone shows nothing: d.",
    )
    assert len(found) == 5  # and one on random


def test_nobody_is_named_as_none() -> None:
    found = said({"c": [0.6, 0.83] * 5})
    assert found[0] == "Better than random here: none."
    assert found[2] == "Worse than random here: none."
    assert not any("One seed" in own for own in found)


@pytest.mark.parametrize(("seeds", "few"), [(1, False), (2, True), (9, True), (10, False)])
def test_intervals_of_few_seeds_are_named(seeds: int, few: bool) -> None:
    found = said({"a": [0.8 + 0.001 * seed for seed in range(seeds)]})
    assert (
        any(own.startswith("Intervals from fewer than 10") and own.endswith(": a.") for own in found) == few
    )


def test_without_random_there_is_nothing_to_say_of_it() -> None:
    assert said({"a": [0.8, 0.81]}, []) == (
        "Nothing is compared with random, which is not among the baselines.",
    )


def test_missing_seeds_are_listed() -> None:
    found = said({"a": [0.8, 0.81], "b": []}, seeds=4)
    assert "Missing seeds: a 2-3; b 0-3." in found
    assert not any("Missing" in own for own in said({"a": [0.8, 0.81]}))


def test_what_baselines_chose_by() -> None:
    assert said({"a": [0.8]})[-1] == "random: the best of 2 by validation accuracy; 4 times."
    blind = replace(RANDOM, judge="test", queries=1234)
    assert said({"a": [0.8]}, [blind])[-1] == (
        "random: the best of 1,234 by test accuracy, for the benchmark has no validation accuracies; 4 times."
    )


@pytest.mark.parametrize(("queries", "random"), [(POPULATION, True), (POPULATION + 1, False)])
def test_evolution_without_time_to_evolve_is_named(queries: int, random: bool) -> None:
    evolution = replace(random_at([0.8, 0.82], "evolution"), queries=queries)
    found = said({"a": [0.8]}, [RANDOM, evolution])
    assert any(own.startswith("evolution is random") for own in found) == random
    assert found[0] == "Better than random here: evolution."


@pytest.mark.parametrize(
    ("seeds", "text"), [((), ""), ((4,), "4"), ((0, 2, 3, 4, 7), "0, 2-4, 7"), ((1, 2, 5, 6), "1-2, 5-6")]
)
def test_seeds_in_a_row_are_a_range(seeds: tuple[int, ...], text: str) -> None:
    assert in_ranges(seeds) == text
