import pytest

from benching import SmallOracle, accuracy, made_up_nb201, on_nb201, random_at, record
from dartboard.scoreboard.published import DIRECT, TRANSFER
from dartboard.scoreboard.rows import RowBuilder
from dartboard.scoreboard.statistics import difference

RANDOM = [0.70, 0.72, 0.74, 0.71]


@pytest.fixture
def rows() -> RowBuilder:
    return RowBuilder(SmallOracle(), RANDOM)


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
    assert row.difference == difference([0.6, 0.7], RANDOM)


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
    row = rows.of_baseline(random_at(RANDOM))
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
