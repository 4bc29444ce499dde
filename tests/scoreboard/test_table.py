import csv
import io
import json
from dataclasses import replace

import pytest

from benching import SmallOracle, made_up_nb201, on_nb201, random_at, record
from dartboard.errors import TableError
from dartboard.scoreboard.records import BenchRecord
from dartboard.scoreboard.table import Table, make_table

EXPECTED = {"good": [0, 1, 2], "bad": [0, 1, 2], "absent": [0, 1]}
RANDOM = random_at([0.70, 0.72, 0.74, 0.71])


def records() -> list[BenchRecord]:
    good = [record("good", seed, [0.6, 0.80 + 0.01 * seed]) for seed in range(3)]
    return [*good, *(record("bad", seed, [0.50 + 0.01 * seed]) for seed in (0, 2))]


@pytest.fixture
def table() -> Table:
    return make_table(EXPECTED, records(), SmallOracle(), [RANDOM])


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
    more = make_table(EXPECTED, [*records(), record("absent", 1, [0.8])], SmallOracle(), [RANDOM])
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
    found = make_table({"gdas": [0], "mine": [0]}, [on_nb201("gdas", 0, oracle)], oracle)
    head, gdas, mine, best = found.cells()
    assert head[-2:] == ("paper, transfer", "paper, direct")
    assert gdas[-2] == "93.61 +- 0.09 / 70.70 +- 0.30 / 41.71 +- 0.98"
    assert mine[-2:] == ("-", "-")
    assert best[-1] == "94.37 / 73.51 / 47.31"
    assert found.facts()["rows"][0]["direct"]["seconds"] == 27923


def test_records_that_are_not_expected_are_left_out_and_counted(table: Table) -> None:
    strange = [record("good", 7, [0.1]), record("other", 0, [0.1])]
    found = make_table(EXPECTED, [*records(), *strange], SmallOracle(), [RANDOM])
    assert found.rows == table.rows
    assert set(found.remarks) - set(table.remarks) == {
        "Records that are not asked for here, and left out: 2."
    }


def test_a_record_of_another_benchmark_is_refused() -> None:
    with pytest.raises(TableError, match="good with seed 0 is of the benchmark small, not nb201"):
        make_table(EXPECTED, records(), made_up_nb201())


def test_a_record_made_with_another_table_is_refused() -> None:
    changed = replace(records()[0], best={"one": 0.9, "two": 0.415})
    with pytest.raises(TableError, match=r"good with seed 0 was made with another table of small.*0\.9"):
        make_table(EXPECTED, [changed], SmallOracle())
    with pytest.raises(TableError, match="another table"):
        make_table(EXPECTED, [replace(changed, best={"one": 0.83})], SmallOracle())


def test_a_table_that_is_rounded_otherwise_is_the_same() -> None:
    changed = replace(records()[0], best={"one": 0.83004, "two": 0.415})
    assert make_table(EXPECTED, [changed], SmallOracle()).rows[0].done == 1


def test_two_records_of_one_search_are_refused() -> None:
    with pytest.raises(TableError, match="two records of good with seed 0"):
        make_table(EXPECTED, [*records(), records()[0]], SmallOracle())
