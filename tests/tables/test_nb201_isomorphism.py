from collections import Counter

import pytest

from dartboard.tables.nb201 import all_cells
from dartboard.tables.nb201_isomorphism import unique_text

OPS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


def cell(*ops: str) -> str:
    return "|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|".format(*ops)


def test_the_benchmark_has_so_many_different_cells() -> None:
    assert len({unique_text(text) for text in all_cells()}) == 6_466


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # node 1 is the input, so it does not matter from which of the two an op comes
        (
            cell(OPS[1], OPS[3], OPS[2], OPS[0], OPS[0], OPS[1]),
            cell(OPS[1], OPS[2], OPS[3], OPS[0], OPS[0], OPS[1]),
        ),
        # nothing enters node 1: what leaves it is nothing
        (
            cell(OPS[0], OPS[3], OPS[4], OPS[1], OPS[2], OPS[3]),
            cell(OPS[0], OPS[3], OPS[0], OPS[1], OPS[1], OPS[3]),
        ),
    ],
)
def test_cells_that_are_one(first: str, second: str) -> None:
    assert unique_text(first) == unique_text(second)


@pytest.mark.parametrize("op", OPS)
def test_an_op_matters_where_it_is_alone(op: str) -> None:
    texts = [unique_text(cell(*["none"] * 3, other, "none", "none")) for other in OPS]
    assert Counter(texts)[unique_text(cell(*["none"] * 3, op, "none", "none"))] == 1


def test_a_formula_reads_like_one() -> None:
    text = cell("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "none", "nor_conv_1x1")
    assert unique_text(text) == "#+(#+(0)@nor_conv_3x3)@nor_conv_1x1+(0)@avg_pool_3x3"
