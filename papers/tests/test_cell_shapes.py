"""The reproductions that look at cells as graphs: nothing is trained."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dartboard.analysis.topology import ShapeDistribution, connection_shapes, rank_shapes
from dartboard.analysis.variants import random_connections
from dartboard.space import get_published
from dartboard_papers import (
    RunOptions,
    Verdict,
    understanding_figure_1,
    understanding_figure_2,
    understanding_table_2,
    understanding_table_3,
    xnas_table_4,
)
from dartboard_papers._popular_cells import (
    NAMES,
    NORMAL,
    caption,
    chance_of_standing,
    normal_cell,
    popular,
)
from dartboard_papers.base import Scale


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


def test_the_pattern_of_figure_1_is_no_accident_of_five_cells(options: RunOptions) -> None:
    kind = connection_shapes(normal_cell(popular("DARTS")))
    drawn = random_connections(popular("DARTS"), 400, seed=3, groups=[NORMAL])
    common = [kind.rank(normal_cell(variant)).common for variant in drawn]
    assert understanding_figure_1.pattern_share(kind) == pytest.approx(np.mean(common), abs=0.07)
    assert understanding_figure_1.chance_of_most([0.5, 0.5, 0.5]) == pytest.approx(0.5)
    assert understanding_figure_1.chance_of_most([0.5, 1.0, 0.0]) == pytest.approx(0.5)
    found = understanding_figure_1.reproduce(options, Scale()).parts[understanding_figure_1.PATTERN]
    assert found.chance is not None
    assert 0.1 < found.chance < 0.15


@pytest.mark.parametrize("slack", [0, 1])
def test_the_chance_of_standing_out_is_that_of_draws(slack: int) -> None:
    kind = ShapeDistribution("", {(1.0, 3): 1, (2.0, 2): 2, (2.0, 3): 1})
    shapes = [shape for shape, ways in kind.ways.items() for _ in range(ways)]
    exact = np.mean(
        [
            all(wide <= first[0] and deep >= first[1] - slack for wide, deep in others)
            for first, *others in product(shapes, repeat=4)
        ]
    )
    assert chance_of_standing(kind, 3, slack=slack) == pytest.approx(exact)


def test_figure_2_is_in_order_and_counts_what_is_beyond(options: RunOptions) -> None:
    found = understanding_figure_2.reproduce(options, Scale())
    shapes = found.numbers["shapes"]
    assert len(shapes) == 10
    assert [wide for wide, _ in shapes] == sorted((wide for wide, _ in shapes), reverse=True)
    rows = by_name(found)
    assert rows["drawn variants that are wider"] == (0, sum(wide > 3.5 for wide, _ in shapes))
    assert rows["drawn variants that are shallower"] == (0, sum(deep < 3 for _, deep in shapes))
    assert found.verdict is Verdict.HELD


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
    found = understanding_table_2.reproduce(options, Scale())
    assert {len(own) for own in found.numbers["drawn"].values()} == {10}
    rows = by_name(found)
    assert rows["AmoebaNet: variants that are shallower"][0] == 5
    assert rows["DARTS: variants that are wider"] == (0, 0)
    assert rows["DARTS: mean width, depth of all 14,400"][1].startswith("2.57c")  # 2/2 + 2/3 + 2/4 + 2/5
    assert found.verdict is Verdict.HELD


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


def test_sizes_of_table_3_are_counted_for_the_authors_variants(options: RunOptions) -> None:
    found = understanding_table_3.reproduce(options, Scale())
    same = {
        f"{name} C{index}"
        for name, paper in understanding_table_3.PAPER.items()
        for index, size in enumerate(paper)
        if round(found.numbers[name][index], 2) == size
    }
    every = {f"{name} C{index}" for name in understanding_table_3.PAPER for index in range(11)}
    others = {f"DARTS C{index}" for index in range(1, 6)} | {"ENAS C10", "AmoebaNet C9"}
    assert every - same == others
    assert by_name(found)["AmoebaNet C9, M"] == ("3.42", "3.24")
    assert "37 of 44 sizes" in found.sentence
    assert found.verdict is Verdict.NOT_HELD


def test_gaps_are_shares_of_the_largest() -> None:
    assert understanding_table_3.gap([3.0, 4.0, 2.0]) == pytest.approx(0.5)


def test_table_4_of_xnas(options: RunOptions) -> None:
    found = xnas_table_4.reproduce(options, Scale())
    rows = by_name(found)
    assert {name for name, (paper, here) in rows.items() if paper != pytest.approx(here)} == {"SNAS", "PNAS"}
    assert rows["SNAS"] == (0.625, 0.5)
    assert rows["PNAS"] == (0.5, 1.0)
    assert found.verdict is Verdict.PARTLY
    assert "not SNAS 0.5 for 0.625 and PNAS 1 for 0.5" in found.sentence
    assert "gdas (1.625)" in found.remarks[0]
    assert xnas_table_4.remarks(9.0, found.numbers["others"]) == []
