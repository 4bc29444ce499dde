from dataclasses import replace
from pathlib import Path

import pytest

from dartboard_papers._bench import BenchScale, read_bench
from dartboard_papers._bench_summary import (
    accuracies,
    curve,
    edges,
    is_cut_off,
    remarks,
    size,
    skips,
    spread,
)
from dartboard_papers.base import Row, RunOptions
from dartboard_papers.gaea_figure_4 import draw, final_skips, nearly_all, numbers, seed_rows
from helpers.nb201_records import bench, search

RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("count", range(7))
def test_skip_connections_are_counted(count: int) -> None:
    record = search("darts", 0, [0.5], [count])
    assert skips(record.final) == count
    assert edges(record) == 6


def test_skip_connections_of_nano() -> None:
    found = read_bench(
        RESULTS / "nano", ["xnas"], RunOptions(Path()), BenchScale(records=str(RESULTS / "nano"))
    )
    assert edges(found.records[0]) == 3
    for own in found.records:
        assert skips(own.final) == own.final.cell.count("skip_connect")


@pytest.mark.parametrize(
    ("cell", "cut"),
    [
        ("|skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|", True),
        ("|nor_conv_1x1~0|+|none~0|nor_conv_1x1~1|+|none~0|none~1|none~2|", True),
        ("|none~0|+|none~0|skip_connect~1|+|none~0|none~1|skip_connect~2|", True),
        ("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|", False),
        ("|skip_connect~0|+|none~0|none~1|+|none~0|avg_pool_3x3~1|none~2|", False),
    ],
)
def test_cells_that_nothing_passes(cell: str, cut: bool) -> None:
    assert is_cut_off(replace(search("gdas", 0, [0.1], [0]).final, cell=cell)) is cut


def test_what_was_chosen_at_the_end_is_the_last_point() -> None:
    record = search("darts", 0, [0.5, 0.6], [1, 2])
    other = replace(record, final=replace(record.final, test={"cifar10": 0.9}))
    assert [point.test["cifar10"] for point in curve(other)] == [0.5, 0.9]
    assert accuracies([record, other], "cifar10").mean == pytest.approx(0.75)


def test_accuracies_in_words() -> None:
    found = bench(darts=[(0.9, 1), (0.92, 1)])
    assert spread(accuracies(found.groups["darts"], "cifar10")) == "91.00 +- 1.41"
    assert spread(accuracies(found.groups["darts"][:1], "cifar10")) == "90.00"


def test_sizes_in_words() -> None:
    found = bench(darts=[(0.9, 1)])
    assert size(found) == "nb201 with 2 cells a stage and 4 channels; few.npz at 8x8 pixels; 2 epochs"
    longer = replace(found, groups={**found.groups, "gdas": (search("gdas", 0, [0.5] * 3, [0] * 3),)})
    assert size(longer).endswith("2 to 3 epochs")


def test_remarks() -> None:
    found = bench(darts=[(0.9, 1), (0.9, 2)])
    assert list(remarks(found)) == []
    assert list(remarks(replace(found, missing=("darts-s2",), folder=Path("kept")))) == [
        "Searches that are not there: darts-s2.",
        "The 2 searches were done before, with kept/bench.yaml, and took 4 min.",
    ]


@pytest.mark.parametrize(("counts", "alike"), [((5, 5), True), ((6, 4), True), ((5, 4), False)])
def test_nearly_all_is_all_but_one(counts: tuple[int, int], alike: bool) -> None:
    records = bench(xnas=[(0.9, count) for count in counts]).groups["xnas"]
    assert final_skips(records) == sum(counts) / 2
    assert nearly_all(records) is alike


def test_learning_curves() -> None:
    found = bench(darts=[(0.9, 5), (0.8, 6)], gaea_darts=[(0.94, 1)])
    assert numbers(found)["darts"][1] == {"seed": 1, "epoch": [1, 2], "test": [0.5, 0.8], "skips": [0, 6]}
    assert seed_rows("darts", found.groups["darts"][:1], "cifar10") == [
        Row("DARTS (bilevel), seed 0: test accuracy and skip connections", None, "90.00, 5 of 6")
    ]
    left, right = draw(found).axes
    assert [list(line.get_ydata()) for line in left.lines] == [[50, 90], [50, 80], [50, 94]]
    assert [round(float(line.get_ydata()[-1])) for line in right.lines[:3]] == [5, 6, 1]
