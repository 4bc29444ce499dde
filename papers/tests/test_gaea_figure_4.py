from pathlib import Path

import pytest

from dartboard_papers import RunOptions, Verdict
from dartboard_papers._bench import BenchScale
from dartboard_papers._bench_summary import judge
from dartboard_papers.gaea_figure_4 import check, in_words, reproduce, rows
from helpers.nb201_records import bench

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize(
    ("darts", "gaea", "verdict"),
    [
        ([(0.54, 6), (0.6, 5)], [(0.93, 1), (0.9, 2)], Verdict.HELD),
        ([(0.54, 6), (0.6, 3)], [(0.93, 1), (0.9, 2)], Verdict.NOT_HELD),
        ([(0.54, 6), (0.6, 5)], [(0.93, 6), (0.9, 5)], Verdict.NOT_HELD),
        ([(0.94, 6), (0.93, 5)], [(0.93, 1), (0.9, 2)], Verdict.NOT_HELD),
    ],
)
def test_the_claim(darts: list[tuple[float, int]], gaea: list[tuple[float, int]], verdict: Verdict) -> None:
    assert judge(*check(bench(darts=darts, gaea_darts=gaea))) is verdict


def test_without_gaea_it_cannot_be_tested() -> None:
    alone = bench(darts=[(0.54, 6)])
    assert check(alone) == (True, None, None)
    assert judge(*check(alone)) is Verdict.NOT_TESTABLE
    assert in_words(alone, check(alone)).endswith("one is missing.")


def test_rows() -> None:
    found = rows(bench(darts=[(0.54, 6), (0.6, 5)], gaea_darts=[(0.93, 1)]))
    assert [(row.paper, row.here) for row in found] == [
        ("nearly all", 5.5),
        ("54.30 +- 0.00", "57.00 +- 4.24"),
        (None, "54.00, 6 of 6"),
        (None, "60.00, 5 of 6"),
        ("not nearly all", 1.0),
        ("91.63 +- 2.57", "93.00"),
        (None, "93.00, 1 of 6"),
    ]


def test_the_records_of_the_bench(tmp_path: Path) -> None:
    result = reproduce(RunOptions(tmp_path), BenchScale(records=str(RESULTS / "nb201")))
    assert result.seeds == 3
    assert len(result.numbers["darts"][0]["epoch"]) == 25
    assert result.verdict is Verdict.NOT_HELD
    assert "DARTS (bilevel) 4.0 and GAEA DARTS (bilevel) 3.0" in result.sentence
    assert list(tmp_path.iterdir()) == []
