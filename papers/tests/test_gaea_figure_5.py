from pathlib import Path

import pytest

from dartboard.tables.nb201 import write_columns
from dartboard_papers import RunOptions, Verdict
from dartboard_papers._bench import BenchScale
from dartboard_papers.gaea_figure_5 import reproduce
from helpers.nb201_data import made_up
from helpers.protocol_cases import few_digits

RESULTS = Path(__file__).parents[2] / "results"
pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_records_of_the_bench(tmp_path: Path) -> None:
    result = reproduce(RunOptions(tmp_path), BenchScale(records=str(RESULTS / "nb201")))
    assert result.rows[0].here == pytest.approx(14 / 3)
    assert [row.here for row in result.rows[2:]] == ["86.27, 3 of 6", "54.30, 6 of 6", "80.49, 5 of 6"]
    assert result.verdict is Verdict.NOT_HELD
    assert "not nearly all" in result.sentence


def test_searches(tmp_path: Path) -> None:
    write_columns(tmp_path / "nb201.csv.gz", made_up())
    options = RunOptions(tmp_path / "work", few_digits(tmp_path / "few.npz"), tmp_path)
    result = reproduce(options, BenchScale(seeds=1, epochs=2, batch=16, channels=2, pixels=8))
    assert result.rows[0].here in range(7)
    assert (result.verdict is Verdict.HELD) == (result.rows[0].here in (5, 6))
    assert result.size == "nb201 with 1 cell a stage and 2 channels; few.npz at 8x8 pixels; 2 epochs"
    assert len(result.numbers["xnas"][0]["skips"]) == 2
