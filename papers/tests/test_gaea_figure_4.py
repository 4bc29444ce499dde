from pathlib import Path

import pytest

from dartboard_papers import REPRODUCTIONS, RunOptions
from dartboard_papers._bench import BenchScale
from dartboard_papers.gaea_figure_4 import BETTER, SKIPS, check, reproduce, rows
from helpers.nb201_records import bench

RESULTS = Path(__file__).parents[2] / "results"


BAD, GOOD = [0.54, 0.6, 0.55, 0.58, 0.57], [0.93, 0.9, 0.91, 0.94, 0.92]


@pytest.mark.parametrize(
    ("darts", "gaea", "held"),
    [
        ([6, 5, 5, 6, 5], [1, 2, 2, 1, 2], [True, True, True]),
        ([6, 3, 5, 4, 5], [1, 2, 2, 1, 2], [False, True, True]),
        ([6, 5, 5, 6, 5], [6, 5, 5, 6, 5], [True, False, True]),
        ([6, 6, 6, 6, 6], [5, 5, 5, 5, 5], [True, False, True]),
        ([4, 3, 4, 4, 4], [4, 4, 3, 4, 4], [False, False, True]),
    ],
)
def test_skip_connections_and_accuracy(darts: list[int], gaea: list[int], held: list[bool]) -> None:
    found = bench(darts=list(zip(BAD, darts, strict=True)), gaea_darts=list(zip(GOOD, gaea, strict=True)))
    parts = check(found)
    assert [part.held for part in parts.values()] == held
    assert list(parts) == list(REPRODUCTIONS["gaea-figure-4"].rules)
    other = bench(darts=list(zip(GOOD, darts, strict=True)), gaea_darts=list(zip(BAD, gaea, strict=True)))
    assert not check(other)[BETTER].held


def test_chance_of_skips_is_that_of_cells_dealt_at_random() -> None:
    """Half of ten cells have all skips: five that average 5 are all of those, one of 252 deals."""
    found = bench(darts=[(own, 5) for own in BAD], gaea_darts=[(own, 0) for own in GOOD])
    assert check(found)[SKIPS].chance == pytest.approx(1 / 252, abs=0.003)


def test_without_gaea_it_cannot_be_tested() -> None:
    assert check(bench(darts=[(0.54, 6)])) == {}


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


def test_records_of_a_bench(tmp_path: Path) -> None:
    result = reproduce(RunOptions(tmp_path), BenchScale(records=str(RESULTS / "nano")))
    assert result.seeds == 10
    assert len(result.numbers["darts"][0]["epoch"]) == 8
    assert result.sentence.startswith("DARTS (bilevel): 0.2 of 3 edges are skip connections at the end, ")
    assert list(tmp_path.iterdir()) == []
