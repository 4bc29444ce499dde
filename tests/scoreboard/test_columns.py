import pytest

from dartboard.scoreboard.columns import cells, numbers
from dartboard.scoreboard.published import TRANSFER
from dartboard.scoreboard.rows import ScoreboardRow
from dartboard.utils.statistics import Difference, Summary

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
    head, found = cells([row], ["one"])
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
    found = numbers(ROW, ["one"])
    assert (found["test one"], found["test one deviation"]) == (0.5, 0.01)
    assert (found["regret"], found["regret deviation"]) == (0.25, None)
    assert (found["to random"], found["to random low"], found["to random high"]) == (0.1, -0.2, 0.4)
    assert (found["seconds"], found["missing"], found["spearman"]) == (12345.6, "4", -0.5)


def test_a_row_without_anything_is_dashes_and_nones() -> None:
    bare = ScoreboardRow("b", "search", 0, missing=(0,))
    assert list(texts(bare).values()) == ["b", "0/1", *["-"] * 7]
    known = {name for name, value in numbers(bare, ["one"]).items() if value is not None}
    assert known == {"method", "kind", "done", "missing", "verdict"}


def test_a_single_seed_has_no_interval() -> None:
    row = ScoreboardRow("a", "search", 1, difference=Difference(-0.1, None, None), verdict="one seed")
    assert texts(row)["to random"] == "-10.00, one seed"


@pytest.mark.parametrize(("kind", "expected"), [("search", "7/7"), ("baseline", "7 draws"), ("best", "-")])
def test_what_is_counted(kind: str, expected: str) -> None:
    assert texts(ScoreboardRow("a", kind, 7))["seeds"] == expected  # type: ignore[arg-type]


def test_the_papers_column_is_there_if_it_has_something() -> None:
    head, first, second = cells([ScoreboardRow("gdas", "search", 0, transfer=TRANSFER["gdas"]), ROW], ["one"])
    assert head[-1] == "paper, transfer"
    assert (first[-1], second[-1]) == ("93.61 +- 0.09 / 70.70 +- 0.30 / 41.71 +- 0.98", "-")
    assert "paper, direct" not in head
