from dataclasses import replace
from pathlib import Path

import pytest

from dartboard_papers import PAPERS, REPRODUCTIONS, PartResult, RunOptions, Verdict, in_order
from reproducing import LAPTOP, PAPER, Small, registered, result, usual


def test_paper_and_part_are_in_the_name() -> None:
    with registered(name="asm-nas-table-99") as reproduction:
        assert (reproduction.paper, reproduction.part) == ("asm-nas", "table 99")
        assert REPRODUCTIONS["asm-nas-table-99"] is reproduction
        assert (reproduction.laptop, reproduction.full, reproduction.work) == (LAPTOP, PAPER, usual)


@pytest.mark.parametrize(
    ("name", "part"),
    [("gaea-section-4-98", "section 4.98"), ("amended-darts-a98", "a98"), ("xnas-table-97", "table 97")],
)
def test_numbers_of_parts_have_dots_between(name: str, part: str) -> None:
    with registered(name=name) as reproduction:
        assert reproduction.part == part


def test_what_it_needs_and_is_not_given() -> None:
    bare = RunOptions(Path())
    with registered(takes=("data", "table"), needs=("table",)) as reproduction:
        assert reproduction.missing_inputs(bare, LAPTOP) == ("table",)
        assert reproduction.missing_inputs(replace(bare, table=Path("t.npz")), LAPTOP) == ()
        assert reproduction.missing_inputs(bare, Done()) == ()


class Done(Small):
    @property
    def needs_inputs(self) -> bool:
        return False


def test_a_name_begins_with_a_paper() -> None:
    said = "a name begins with one of xnas, .*, unlike 'xnasty-figure-1'"
    with pytest.raises(ValueError, match=said), registered(name="xnasty-figure-1"):
        pass


def test_a_name_is_taken_once() -> None:
    with registered() as first:
        register = REPRODUCTIONS.register(first.name)
        with pytest.raises(ValueError, match="registered already"):
            register(first)


def test_the_order_is_that_of_papers_and_of_numbers() -> None:
    with registered(name="xnas-figure-99"), registered(name="xnas-figure-100"):
        names = [reproduction.name for reproduction in in_order()]
        assert names.index("xnas-figure-100") == names.index("xnas-figure-99") + 1
    places = [list(PAPERS).index(reproduction.paper) for reproduction in in_order()]
    assert places == sorted(places)
    assert {reproduction.name for reproduction in in_order()} == set(REPRODUCTIONS)


def test_a_finding_has_no_remarks_unless_it_is_given_some() -> None:
    assert result(remarks=()).remarks == ()


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        ((), Verdict.NOT_TESTABLE),
        ((None,), Verdict.NOT_TESTABLE),
        ((True, True), Verdict.HELD),
        ((False,), Verdict.NOT_HELD),
        ((True, False), Verdict.PARTLY),
        ((True, None), Verdict.PARTLY),
    ],
)
def test_the_verdict_follows_from_the_parts(held: tuple[bool | None, ...], verdict: Verdict) -> None:
    parts = {f"part {index}": PartResult(own, "seen", None) for index, own in enumerate(held)}
    assert result(parts=parts).verdict is verdict
