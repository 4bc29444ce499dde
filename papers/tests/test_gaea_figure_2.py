from pathlib import Path
from shutil import copy, copytree

import pytest

from dartboard.errors import OptionError, TableError
from dartboard_papers import REPRODUCTIONS, RunOptions
from dartboard_papers.gaea_figure_2 import (
    OneShot,
    check_table,
    find_benches,
    in_words,
    less_regret,
    regrets,
    reproduce,
)
from helpers.nb201_records import BEST, bench

RESULTS = Path(__file__).parents[2] / "results"


WORSE = [(0.90, 0), (0.91, 0), (0.89, 0), (0.9, 0), (0.92, 0)]
BETTER = [(0.94, 0), (0.93, 0), (0.94, 0), (0.92, 0), (0.935, 0)]


def test_less_regret_must_be_more_than_chance() -> None:
    part = less_regret(bench(pc_darts=WORSE, gaea_pc_darts=BETTER))
    assert part is not None
    assert part.held
    assert part.observed.startswith("+2.90 points")
    for other in (WORSE, [(0.88, 0), (0.95, 0), (0.9, 0), (0.91, 0), (0.9, 0)]):
        part = less_regret(bench(pc_darts=WORSE, gaea_pc_darts=other))
        assert part is not None
        assert not part.held
    assert less_regret(bench(pc_darts=WORSE)) is None
    assert regrets(bench(pc_darts=WORSE), "pc-darts")[0] == pytest.approx(100 * (BEST - 0.9))


def test_words() -> None:
    words = in_words({"oneshot2": bench(pc_darts=WORSE, gaea_pc_darts=BETTER)})
    assert words == "final regret in points: search space 2: 4.60 with PC-DARTS, 1.70 with GAEA PC-DARTS"


def test_a_space_without_records(tmp_path: Path) -> None:
    """The records of nano stand in for those of the first space."""
    copytree(RESULTS / "nano", tmp_path / "oneshot1")
    (tmp_path / "oneshot2").mkdir()
    copy(RESULTS / "oneshot2" / "bench.yaml", tmp_path / "oneshot2")
    result = reproduce(RunOptions(tmp_path), OneShot(records=str(tmp_path)))
    assert list(result.parts) == ["less regret with GAEA in search space 1"]
    assert "There are no searches of search space 2 and search space 3." in result.remarks
    assert [row.what for row in result.rows] == [
        "search space 1: regret of PC-DARTS",
        "search space 1: regret of GAEA PC-DARTS",
    ]
    assert result.rows[0].paper == "within 1"
    [axes] = result.figures["regret"].axes
    assert axes.get_title() == "search space 1"
    band = result.numbers["oneshot1"]["pc-darts"]
    assert len(band["epoch"]) == 8
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
