import os
from pathlib import Path

import pytest

from dartboard.errors import OptionError, TableError
from dartboard.report.load import load_runs
from dartboard.report.ranks import find_tables
from dartboard.space import get_space
from dartboard.tables import load_table
from helpers.report_runs import found_cell, make_search


def test_the_rank_that_the_shipped_benchmark_tells(tmp_path: Path) -> None:
    run = make_search(tmp_path / "s", "nano")
    searches = load_runs([run.path]).searches
    (rank,) = find_tables(searches, None).ranks(searches[0])
    nano = load_table("nano")
    test = nano.query(found_cell(run), nano.datasets[0]).test
    assert (rank.test, rank.size) == (test, 216)
    assert rank.rank == nano.ranking(nano.datasets[0]).standing(test).rank
    first = searches[0].epochs[0].genotype
    assert (
        find_tables(searches, None).ranks(searches[0], first)[0].test == nano.query(first, rank.dataset).test
    )


def test_no_rank_where_no_benchmark_knows_the_space_or_the_cell(tmp_path: Path) -> None:
    searches = load_runs([make_search(tmp_path / "s", "darts").path]).searches
    assert find_tables(searches, None).ranks(searches[0]) == []
    odd = get_space("nano").without("none")
    less = load_runs(
        [make_search(tmp_path / "l", odd).path, make_search(tmp_path / "e", epochs=0, finish=False).path]
    )
    found = find_tables(less.searches, None)
    assert len(found.ranks(less.searches[0])) == 1
    assert found.ranks(less.searches[1]) == []


def test_a_table_that_is_of_no_use(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("?")
    searches = load_runs([make_search(tmp_path / "s", "darts").path]).searches
    with pytest.raises(OptionError, match=r"the spaces searched are darts; there are benchmarks for .*nb201"):
        find_tables(searches, table)
    searches = load_runs([make_search(tmp_path / "n", "nb201").path]).searches
    with pytest.raises(TableError):
        find_tables(searches, table)


def test_a_table_that_does_not_ship(tmp_path: Path) -> None:
    table = Path(os.environ.get("DARTBOARD_DATA", "nowhere")) / "nb201.csv.gz"
    if not table.is_file():
        pytest.skip("DARTBOARD_DATA does not name a folder with nb201.csv.gz")
    searches = load_runs([make_search(tmp_path / "s", "nb201").path]).searches
    assert find_tables(searches, None).ranks(searches[0]) == []
    ranks = find_tables(searches, table).ranks(searches[0])
    assert [own.dataset for own in ranks] == list(load_table("nb201", table).datasets)
    assert all(own.size == 15_625 for own in ranks)
