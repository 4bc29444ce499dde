import pytest

from dartboard.cli.facts import Build, CellFacts, NetworkFacts, space_facts
from dartboard.cli.report import print_cell, print_space
from dartboard.space import SearchSpace, adopt, get_published, get_space
from dartboard.space.catalog import darts_cell, stacked
from dartboard.space.spec import Stack


def shown(capsys: pytest.CaptureFixture[str], space: SearchSpace) -> list[str]:
    print_space(space, space_facts(space))
    return capsys.readouterr().out.splitlines()


def test_cells_that_are_the_same_are_drawn_once(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, get_space("asm"))
    assert sum("c(k-2)" in line for line in lines) == 1
    assert any(line.startswith("cell00 to cell14  each 6 nodes, 14 edges") for line in lines)


def test_cells_that_differ_are_drawn_each(capsys: pytest.CaptureFixture[str]) -> None:
    normal, reduce = darts_cell(("a", "b")), darts_cell(("a", "b", "c"))
    lines = shown(capsys, SearchSpace("two", (("normal", normal), ("reduce", reduce)), Stack(cells=8)))
    assert sum("c(k-2)" in line for line in lines) == 2
    assert any(line.startswith("reduce  6 nodes") for line in lines)


def test_long_counts_are_given_by_their_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, get_space("asm"))[1] == "architectures  about 4.5e189"


def test_one_cell_is_no_plural(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        shown(capsys, get_space("nano"))[2]
        == "stack          1 cell a stage, 2 stages joined by residual blocks"
    )
    pooled = stacked("pooled", get_space("oneshot1").cells["cell"], Stack(cells=2, reduce="pool"))
    assert shown(capsys, pooled)[2] == "stack          2 cells a stage, 3 stages joined by max-pooling"


def test_shapes_that_agree_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    space = adopt(get_space("darts"), get_published("snas"))
    cells = {"normal": CellFacts(4.0, 2, 0.5), "reduce": CellFacts(4.0, 3, 1.25)}
    print_cell("a/file", space, Build(36, 10, (3, 32, 32)), NetworkFacts(1000, 2000, 4000), cells)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == [
        "stack          darts, 8 cells, 3 stages joined by reduction cells",
        "network        36 channels, 10 classes, input 3x32x32",
        "parameters     1,000 (2,000 with the auxiliary head)",
        "FLOPs          4,000 an image, or 2,000 multiply-adds",
        "width          4c",
        "depth          normal 2, reduce 3",
        "mean source    normal 0.5, reduce 1.25",
    ]


def test_narrow_terminals_get_one_drawing_below_the_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    space = adopt(get_space("darts"), get_published("snas"))
    print_cell(
        "snas", space, Build(36, 10, (3, 32, 32)), NetworkFacts(1, 1, 2), {"normal": CellFacts(4, 2, 0.5)}
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("0 c(k-2)") == 2
