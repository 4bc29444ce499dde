"""The reproductions that look at cells as graphs: nothing is trained."""

from pathlib import Path

import pytest

from dartboard.analysis.topology import ShapeDistribution, connection_shapes, rank_shapes
from dartboard.analysis.variants import random_connections, random_operations
from dartboard.space import get_published
from dartboard.space.catalog import XNAS_OPS
from dartboard_papers import (
    RunOptions,
    Verdict,
    understanding_figure_1,
    understanding_figure_2,
    understanding_table_2,
    understanding_table_3,
    xnas_table_4,
)
from dartboard_papers._popular_cells import NAMES, NORMAL, caption, normal_cell, popular
from dartboard_papers.base import Scale

SMALL = understanding_table_3.VariantSizes(cells=3, channels=2, variants=2, draws=2)

Costs = dict[understanding_table_3.Key, float]


@pytest.fixture(scope="module")
def costs() -> Costs:
    return understanding_table_3.op_sizes(SMALL)


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    return RunOptions(tmp_path)


def by_name(result) -> dict[str, tuple[object, object]]:
    return {row.what: (row.paper, row.here) for row in result.rows}


def test_widths_and_depths_of_figure_1_are_the_papers(options: RunOptions) -> None:
    found = understanding_figure_1.reproduce(options, Scale())
    shapes = [row for row in found.rows if row.what.endswith("width, depth")]
    assert [row.here for row in shapes] == ["5c, 2", "4c, 4", "5c, 2", "3.5c, 3", "4c, 2"]
    assert all(row.paper == row.here for row in shapes)
    assert found.verdict is Verdict.HELD
    assert [name for name in NAMES if not found.numbers[name]["pattern"]] == ["AmoebaNet"]
    assert "AmoebaNet is wider than 89%" in found.sentence


def test_shares_of_figure_1_are_those_of_a_direct_count(options: RunOptions) -> None:
    """DARTS: wider are the cells whose nodes 3, 4 and 5 read inputs alone."""
    found = by_name(understanding_figure_1.reproduce(options, Scale()))
    assert found["DARTS: connections that are wider, %"][1] == pytest.approx(
        100 * (2 / 3 * 2 / 4 * 2 / 5) ** 2
    )
    assert found["SNAS: connections that are wider, %"][1] == 0


def test_other_published_cells_are_looked_at() -> None:
    others = understanding_figure_1.later()
    assert not set(others) & set(NAMES.values())
    assert others["gdas"] is False
    assert others["gdas"] == rank_shapes(get_published("gdas"))[NORMAL].common
    assert understanding_figure_1.spread({"a": True, "b": False}) == "1 of 2"


def test_figure_2_is_in_order_and_counts_what_is_beyond(options: RunOptions) -> None:
    scale = understanding_figure_2.Draw(variants=6, draw=3)
    found = understanding_figure_2.reproduce(options, scale)
    shapes = found.numbers["shapes"]
    assert len(shapes) == 6
    assert [wide for wide, _ in shapes] == sorted((wide for wide, _ in shapes), reverse=True)
    rows = by_name(found)
    assert rows["drawn variants that are wider"] == (0, sum(wide > 3.5 for wide, _ in shapes))
    assert rows["drawn variants that are shallower"] == (0, sum(deep < 3 for _, deep in shapes))
    other = understanding_figure_2.reproduce(options, scale.model_copy(update={"draw": 4}))
    assert other.numbers["shapes"] != shapes


def test_figure_2_does_not_hold_where_a_variant_is_wider() -> None:
    original = normal_cell(popular("DARTS"))
    assert understanding_figure_2.beyond(original, [normal_cell(popular("SNAS"))]) == (1, 1)
    assert understanding_figure_2.beyond(original, [original]) == (0, 0)


def test_the_correlation_is_that_of_a_sample() -> None:
    assert understanding_figure_2.correlation(
        ShapeDistribution("", {(1.0, 3): 2, (2.0, 2): 2})
    ) == pytest.approx(-1)
    assert (
        understanding_figure_2.correlation(
            ShapeDistribution("", {(1.0, 3): 1, (2.0, 3): 1, (1.0, 2): 1, (2.0, 2): 1})
        )
        == 0
    )


def test_table_2_has_thirteen_variants_of_each() -> None:
    assert {len(understanding_table_2.paper(name)) for name in understanding_table_2.LINES} == {13}
    assert understanding_table_2.paper("ENAS") == understanding_table_2.paper("NASNet")
    for name, told in understanding_table_2.OWN.items():
        assert caption(normal_cell(popular(name))) == told


def test_table_2(options: RunOptions) -> None:
    found = understanding_table_2.reproduce(options, understanding_table_2.Draws(variants=5))
    assert {len(own) for own in found.numbers["drawn"].values()} == {5}
    assert len({tuple(own) for own in found.numbers["drawn"].values()}) == 4
    rows = by_name(found)
    assert rows["AmoebaNet: variants that are shallower"][0] == 5
    assert rows["DARTS: variants that are wider"] == (
        0,
        sum(w > 3.5 for w, _ in found.numbers["drawn"]["DARTS"]),
    )
    assert rows["DARTS: mean width, depth of all 14,400"][1].startswith("2.57c")  # 2/2 + 2/3 + 2/4 + 2/5


def test_table_2_heeds_its_numbers(options: RunOptions) -> None:
    usual = understanding_table_2.Draws(variants=4)
    base = understanding_table_2.reproduce(options, usual).numbers["drawn"]
    for change in ({"draw": 1}, {"repeats": False}):
        other = understanding_table_2.reproduce(options, usual.model_copy(update=change))
        assert other.numbers["drawn"] != base


def test_what_counts_as_wide_and_shallow_in_table_2() -> None:
    cell = normal_cell(popular("AmoebaNet"))  # 4c, 4
    assert understanding_table_2.is_wide_and_shallow(cell, [(4.0, 3), (2.0, 5)])
    assert not understanding_table_2.is_wide_and_shallow(cell, [(4.5, 3)])
    assert not understanding_table_2.is_wide_and_shallow(cell, [(1.0, 2)])


def test_the_strange_variant_of_table_2() -> None:
    """Width 1.5c at most and depth 3 at most, by drawing: about 68 in 518,400."""
    kind = connection_shapes(normal_cell(popular("AmoebaNet")))
    assert "68 of all 518,400" in understanding_table_2.unlikely(kind)
    drawn = random_connections(popular("AmoebaNet"), 300, seed=1, groups=[NORMAL])
    strange = [one for one in drawn if caption(normal_cell(one)) in ("1.5c, 3", "1c, 3")]
    assert len(strange) <= 1


@pytest.mark.parametrize("reductions", [True, False])
def test_sizes_of_ops_add_up_to_those_of_networks(costs: Costs, reductions: bool) -> None:
    scale = SMALL.model_copy(update={"reductions": reductions})
    groups = None if reductions else [NORMAL]
    sizes = understanding_table_3.sizes_of("NASNet", scale, costs)
    first = 3 * scale.draws
    for seed, own in zip((first, first + 1), sizes, strict=True):
        drawn = random_operations(popular("NASNet"), 2, seed=seed, groups=groups)
        direct = [understanding_table_3.millions(one, scale) for one in (popular("NASNet"), *drawn)]
        assert own == pytest.approx(direct, abs=1e-12)


def test_an_op_costs_what_its_weights_are(costs: Costs) -> None:
    """Separable convolutions: twice depthwise 3x3, pointwise and batch-norm, with 2, 4 and 8 channels."""

    def separable(c: int) -> int:
        return 2 * (9 * c + c * c + 2 * c)

    assert costs["normal", True, "sep_conv_3x3"] * 1e6 == pytest.approx(separable(2))
    assert costs["reduce", False, "sep_conv_3x3"] * 1e6 == pytest.approx(separable(4) + separable(8))
    assert costs["reduce", False, "skip_connect"] == 0 < costs["reduce", True, "skip_connect"]
    assert {op for _, _, op in costs} == set(XNAS_OPS)


def test_originals_of_table_3_have_the_papers_sizes() -> None:
    scale = understanding_table_3.VariantSizes()
    sizes = {
        name: understanding_table_3.millions(popular(name), scale) for name in understanding_table_3.PAPER
    }
    same = {name for name, own in sizes.items() if round(own, 2) == understanding_table_3.PAPER[name][0]}
    assert same == set(understanding_table_3.PAPER)


def test_table_3(options: RunOptions) -> None:
    found = understanding_table_3.reproduce(options, SMALL)
    assert {(len(own), len(own[0])) for own in found.numbers.values()} == {(2, 3)}
    assert found.seeds == 2
    assert by_name(found)["DARTS: gap, % (here the median of draws)"][0] == pytest.approx(30.4)
    assert understanding_table_3.gap([3.0, 4.0, 2.0]) == pytest.approx(0.5)


def test_table_3_heeds_its_numbers(costs: Costs) -> None:
    base = understanding_table_3.sizes_of("DARTS", SMALL, costs)
    for change in ({"draw": 1}, {"variants": 3}, {"draws": 1}, {"reductions": False}):
        other = SMALL.model_copy(update=change)
        assert understanding_table_3.sizes_of("DARTS", other, costs) != base
    sizes = [SMALL, *(SMALL.model_copy(update=change) for change in ({"channels": 3}, {"cells": 4}))]
    assert len({understanding_table_3.millions(popular("DARTS"), scale) for scale in sizes}) == 3


def test_table_4_of_xnas(options: RunOptions) -> None:
    found = xnas_table_4.reproduce(options, Scale())
    rows = by_name(found)
    assert {name for name, (paper, here) in rows.items() if paper != pytest.approx(here)} == {"SNAS", "PNAS"}
    assert rows["SNAS"] == (0.625, 0.5)
    assert rows["PNAS"] == (0.5, 1.0)
    assert found.verdict is Verdict.HELD
    assert "not SNAS 0.5 for 0.625 and PNAS 1 for 0.5" in found.sentence
    assert "gdas (1.625)" in found.remarks[0]
    assert xnas_table_4.remarks(9.0, found.numbers["others"]) == []
