from pathlib import Path

import pytest
from scipy.stats import binom

from dartboard.tables.nb201 import write_columns
from dartboard_papers import RunOptions, Verdict
from dartboard_papers._bench import BenchScale
from dartboard_papers.gaea_figure_5 import reproduce
from helpers.nb201_data import made_up
from helpers.protocol_cases import few_digits

RESULTS = Path(__file__).parents[2] / "results"
pytestmark = pytest.mark.usefixtures("one_thread")


def test_records_of_a_bench(tmp_path: Path) -> None:
    result = reproduce(RunOptions(tmp_path), BenchScale(records=str(RESULTS / "nano")))
    assert (result.seeds, result.rows[0].here) == (10, pytest.approx(0.4))
    assert result.verdict is Verdict.NOT_HELD
    assert "not nearly all" in result.sentence
    # random ops of six: at least 20 of 30 are skips
    (part,) = result.parts.values()
    assert part.chance == pytest.approx(binom.sf(19, 30, 1 / 6))


def test_searches(tmp_path: Path) -> None:
    write_columns(tmp_path / "nb201.csv.gz", made_up())
    options = RunOptions(tmp_path / "work", few_digits(tmp_path / "few.npz"), tmp_path)
    result = reproduce(options, BenchScale(seeds=1, epochs=2, batch=16, channels=2, pixels=8))
    assert result.rows[0].here in range(7)
    assert (result.verdict is Verdict.HELD) == (result.rows[0].here in (5, 6))
    assert result.size == "nb201 with 1 cell a stage and 2 channels; few.npz at 8x8 pixels; 2 epochs"
    assert len(result.numbers["xnas"][0]["skips"]) == 2
