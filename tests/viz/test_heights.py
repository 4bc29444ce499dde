from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.viz.heights import Item, place_heights


def wired(items: list[Item], *wires: tuple[int, int]) -> list[Item]:
    for source, target in wires:
        items[source].after.append(target)
        items[target].before.append(source)
    return items


def test_a_chain_is_level() -> None:
    items = wired([Item(layer, 1.0, 0.3) for layer in range(3)], (0, 1), (1, 2))
    assert place_heights(items, [[0], [1], [2]], 0.1) == pytest.approx([0.0, 0.0, 0.0])


def test_one_between_two_is_in_their_middle() -> None:
    items = wired([Item(0, 1.0, 0.3), Item(0, 1.0, 0.3), Item(1, 1.0, 0.3)], (0, 2), (1, 2))
    first, second, last = place_heights(items, [[0, 1], [2]], 0.1)
    assert first - second == pytest.approx(0.4)
    assert last == pytest.approx((first + second) / 2)


def test_what_is_stiff_pulls_more() -> None:
    """Bends on both ends of a wire count eight times a wire between vertices."""
    items = [Item(0, 1.0, 0.3), Item(0, 1.0, 0.3, stiff=True), Item(1, 1.0, 0.3, stiff=True)]
    first, second, last = place_heights(wired(items, (0, 2), (1, 2)), [[0, 1], [2]], 0.1)
    assert abs(last - second) < abs(last - first) / 3


@given(
    sizes=st.lists(st.floats(0.05, 2), min_size=2, max_size=5),
    ends=st.lists(st.integers(0, 9), min_size=5, max_size=5),
)
def test_the_order_and_the_gaps_are_kept(sizes: list[float], ends: list[int]) -> None:
    count = len(sizes)
    items = [Item(0, 1.0, size) for size in sizes] + [Item(1, 1.0, size) for size in sizes]
    wired(items, *((source, count + end % count) for source, end in zip(range(count), ends, strict=False)))
    rows = [list(range(count)), list(range(count, 2 * count))]
    heights = place_heights(items, rows, 0.1)
    for row in rows:
        for upper, lower in pairwise(row):
            least = (items[upper].height + items[lower].height) / 2 + 0.1
            assert heights[upper] - heights[lower] >= least - 1e-9
