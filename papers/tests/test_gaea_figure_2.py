from pathlib import Path
from shutil import copy, copytree

import pytest

from dartboard.errors import OptionError, TableError
from dartboard_papers import REPRODUCTIONS, RunOptions, Verdict
from dartboard_papers.gaea_figure_2 import OneShot, check_table, find_benches, in_words, is_lower, reproduce
from helpers.nb201_records import BEST, bench

RESULTS = Path(__file__).parents[2] / "results"


def test_the_lower_mean_counts() -> None:
    both = bench(pc_darts=[(0.9, 0), (0.92, 0)], gaea_pc_darts=[(0.94, 0), (0.89, 0)])
    assert is_lower(both) is True
    assert is_lower(bench(pc_darts=[(0.9, 0)], gaea_pc_darts=[(0.9, 0)])) is False
    assert is_lower(bench(pc_darts=[(0.9, 0)])) is None
    assert both.groups["pc-darts"][0].regret("cifar10") == pytest.approx(BEST - 0.9)


def test_words() -> None:
    words = in_words({"oneshot1": True, "oneshot2": False, "oneshot3": True})
    assert "in search space 1 and search space 3, of 3 that" in words
    assert "nowhere, of 1 that" in in_words({"oneshot2": False})


def test_a_space_without_records(tmp_path: Path) -> None:
    copytree(RESULTS / "oneshot1", tmp_path / "oneshot1")
    (tmp_path / "oneshot2").mkdir()
    copy(RESULTS / "oneshot2" / "bench.yaml", tmp_path / "oneshot2")
    result = reproduce(RunOptions(tmp_path), OneShot(records=str(tmp_path)))
    assert result.verdict is not Verdict.HELD
    assert "There are no searches of search space 2 and search space 3." in result.remarks
    assert [row.what for row in result.rows] == [
        "search space 1: regret of PC-DARTS",
        "search space 1: regret of GAEA PC-DARTS",
    ]
    assert result.rows[0].paper == "within 1"
    [axes] = result.figures["regret"].axes
    assert axes.get_title() == "search space 1"
    band = result.numbers["oneshot1"]["pc-darts"]
    assert len(band["epoch"]) == 10
    finals = band["final"].values()
    assert band["mean"][-1] == pytest.approx(sum(finals) / len(finals))


def test_no_records_at_all(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there are no records in its folders oneshot1, oneshot2, oneshot3"):
        find_benches(RunOptions(tmp_path), OneShot(records=str(tmp_path)))


def test_a_table_is_needed_for_searches(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"oneshot1 is looked up in nb101\.npz"):
        reproduce(RunOptions(tmp_path), OneShot())
    with pytest.raises(TableError, match=r"oneshot1 is looked up in nb101\.npz"):
        check_table(RunOptions(tmp_path), OneShot())
    told, done = REPRODUCTIONS["gaea-figure-2"], OneShot(records="kept")
    check_table(RunOptions(tmp_path), done)
    with pytest.raises(OptionError, match="leave out --full"):
        check_table(RunOptions(tmp_path, full=True), done)
    assert (
        told.missing_inputs(RunOptions(tmp_path), OneShot()),
        told.missing_inputs(RunOptions(tmp_path), done),
    ) == (("table",), ())
