from dataclasses import replace
from pathlib import Path

import pytest

from dartboard_papers import PAPERS, REPRODUCTIONS, Setting, in_order
from reproducing import LAPTOP, PAPER, Small, finding, registered, usual


def test_paper_and_part_are_in_the_name() -> None:
    with registered(name="asm-nas-table-99") as told:
        assert (told.paper, told.part) == ("asm-nas", "table 99")
        assert REPRODUCTIONS["asm-nas-table-99"] is told
        assert (told.laptop, told.full, told.work) == (LAPTOP, PAPER, usual)


@pytest.mark.parametrize(
    ("name", "part"),
    [("gaea-section-4-98", "section 4.98"), ("amended-darts-a98", "a98"), ("xnas-table-97", "table 97")],
)
def test_numbers_of_parts_have_dots_between(name: str, part: str) -> None:
    with registered(name=name) as told:
        assert told.part == part


def test_what_it_needs_and_is_not_given() -> None:
    bare = Setting(Path())
    with registered(takes=("data", "table"), needs=("table",)) as told:
        assert told.lacks(bare, LAPTOP) == ("table",)
        assert told.lacks(replace(bare, table=Path("t.npz")), LAPTOP) == ()
        assert told.lacks(bare, Done()) == ()


class Done(Small):
    @property
    def asks(self) -> bool:
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
        names = [told.name for told in in_order()]
        assert names.index("xnas-figure-100") == names.index("xnas-figure-99") + 1
    places = [list(PAPERS).index(told.paper) for told in in_order()]
    assert places == sorted(places)
    assert {told.name for told in in_order()} == set(REPRODUCTIONS)


def test_a_finding_has_no_remarks_unless_it_is_given_some() -> None:
    assert finding(remarks=()).remarks == ()
