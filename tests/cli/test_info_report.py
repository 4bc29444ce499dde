from random import Random

import pytest

from dartboard.cli.info import Build, CellFacts, NetworkFacts, print_cell, print_space, space_facts
from dartboard.cli.render import Terminal, draw_cells, fit_cells
from dartboard.space import Genotype, SearchSpace, adopt, decode, get_published, get_space, sample
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


class Paper(Terminal):
    """A terminal of a given width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width


def fitted(genotype: Genotype, width: int, height: int) -> list[str]:
    return [line.plain for line in fit_cells(genotype.archs, Paper(width), height)]


def test_drawings_where_they_fit() -> None:
    cells = get_published("darts-v2")
    assert fitted(cells, 80, 15) == [line.plain for line in draw_cells(cells.archs, Paper(80))]
    assert len(fitted(cells, 80, 15)) == 15


@pytest.mark.parametrize(("width", "height"), [(80, 14), (50, 20), (20, 40)])
def test_lines_where_drawings_do_not_fit(width: int, height: int) -> None:
    lines = fitted(get_published("darts-v2"), width, height)
    assert [line.split()[0] for line in lines] == ["normal", "reduce"]
    assert all(len(line) <= width for line in lines)


def test_the_commonest_op_comes_first_and_the_rarest_are_cut() -> None:
    cells = get_published("darts-v2")
    assert fitted(cells, 80, 2) == [
        "normal  5 sep_conv_3x3, 2 skip_connect, 1 dil_conv_3x3",
        "reduce  5 max_pool_3x3, 3 skip_connect",
    ]
    assert fitted(cells, 50, 2)[0] == "normal  5 sep_conv_3x3, 2 skip_connect, ..."


def test_many_cells_are_counted_where_their_lines_do_not_fit() -> None:
    genotype = sample(get_space("asm"), Random(0))
    assert len(fitted(genotype, 80, 15)) == 15
    assert fitted(genotype, 80, 10)[-1] == "and 6 more"
    assert len(fitted(genotype, 80, 10)) == 10
    assert fitted(genotype, 80, 0) == ["and 15 more"]


def test_ops_on_vertices_are_counted_without_the_wires() -> None:
    cell = decode(
        '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'
    )
    assert fitted(cell, 80, 1) == ["cell  1 conv_bn_relu_3x3"]


def test_a_cell_without_ops() -> None:
    assert fitted(decode("|none~0|+|none~0|none~1|"), 80, 1) == ["cell  nothing"]
