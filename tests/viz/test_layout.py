from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard.viz.layout import (
    Item,
    Layout,
    LayoutEdge,
    Rect,
    layered_layout,
    longest_path_layers,
    place_heights,
)

BOX = (0.4, 0.3)


@st.composite
def graphs(draw: st.DrawFn) -> list[LayoutEdge]:
    """Edges between up to six vertices, parallel ones too, with labels or without."""
    count = draw(st.integers(2, 6))
    pairs = st.sampled_from([(a, b) for b in range(1, count) for a in range(b)])
    chosen = draw(st.lists(pairs, min_size=1, max_size=12))
    label = st.sampled_from([(0.0, 0.0), (0.8, 0.2)])
    return [LayoutEdge(a, b, draw(label)) for a, b in [*chosen, (0, count - 1)]]


def placed(edges: list[LayoutEdge]) -> Layout:
    return layered_layout([BOX] * (1 + max(edge.target for edge in edges)), edges)


def overlap(one: Rect, other: Rect) -> bool:
    wide = (one.width + other.width) / 2 - abs(one.x - other.x)
    high = (one.height + other.height) / 2 - abs(one.y - other.y)
    return wide > 1e-6 and high > 1e-6


@settings(max_examples=40)
@given(edges=graphs())
def test_nothing_lies_on_anything_else(edges: list[LayoutEdge]) -> None:
    layout = placed(edges)
    between = [rect for route in layout.routes for rect in route.rects[1:-1]]
    assert not [pair for pair in combinations([*layout.vertices, *between], 2) if overlap(*pair)]


@settings(max_examples=40)
@given(edges=graphs())
def test_edges_go_from_left_to_right_between_their_vertices(edges: list[LayoutEdge]) -> None:
    layout = placed(edges)
    for edge, route in zip(edges, layout.routes, strict=True):
        assert route.rects[0] == layout.vertices[edge.source]
        assert route.rects[-1] == layout.vertices[edge.target]
        ends = [(rect.x - rect.width / 2, rect.x + rect.width / 2) for rect in route.rects]
        assert all(left[1] < right[0] for left, right in pairwise(ends))


@settings(max_examples=40)
@given(edges=graphs())
def test_every_label_has_room_and_all_is_inside(edges: list[LayoutEdge]) -> None:
    layout = placed(edges)
    for edge, route in zip(edges, layout.routes, strict=True):
        assert (route.label is not None) == (edge.label[0] > 0)
        if route.label is not None:
            rect = route.rects[route.label]
            assert rect.width >= edge.label[0]
            assert rect.height == edge.label[1]
    for rect in [*layout.vertices, *(rect for route in layout.routes for rect in route.rects)]:
        assert rect.x - rect.width / 2 > -1e-9
        assert rect.y - rect.height / 2 > -1e-9
        assert rect.x + rect.width / 2 < layout.width + 1e-9
        assert rect.y + rect.height / 2 < layout.height + 1e-9


@settings(max_examples=10)
@given(edges=graphs())
def test_the_same_graph_gives_the_same_drawing(edges: list[LayoutEdge]) -> None:
    assert placed(edges) == placed(edges)


def test_a_vertex_is_as_far_right_as_its_longest_path_and_the_last_is_last() -> None:
    edges = [LayoutEdge(0, 1), LayoutEdge(1, 2), LayoutEdge(0, 2), LayoutEdge(0, 3), LayoutEdge(1, 4)]
    assert longest_path_layers(5, edges) == [0, 1, 2, 1, 3]


def test_a_tangle_is_undone() -> None:
    """Three pairs in the reverse order have no need to cross."""
    edges = [
        LayoutEdge(0, 5),
        LayoutEdge(1, 4),
        LayoutEdge(2, 3),
        LayoutEdge(3, 6),
        LayoutEdge(4, 6),
        LayoutEdge(5, 6),
    ]
    rects = placed(edges).vertices
    first, second = (sorted(own, key=lambda place: rects[place].y) for own in ((0, 1, 2), (3, 4, 5)))
    assert [5 - place for place in second] == first


def test_a_chain_is_level() -> None:
    rects = placed([LayoutEdge(0, 1, (0.8, 0.2)), LayoutEdge(1, 2, (0.8, 0.2))]).vertices
    assert rects[0].y == pytest.approx(rects[1].y) == pytest.approx(rects[2].y)


def test_layer_gap_gap_and_bend_change_the_layout() -> None:
    edges = [LayoutEdge(0, 1), LayoutEdge(0, 2), LayoutEdge(1, 3), LayoutEdge(2, 3), LayoutEdge(0, 3)]
    usual = layered_layout([BOX] * 4, edges)
    assert layered_layout([BOX] * 4, edges, layer_gap=1.0).width == pytest.approx(usual.width + 2 * 0.66)
    assert layered_layout([BOX] * 4, edges, gap=0.3).height > usual.height
    assert layered_layout([BOX] * 4, edges, bend=0.5).height > usual.height


def connected(items: list[Item], *edges: tuple[int, int]) -> list[Item]:
    for source, target in edges:
        items[source].after.append(target)
        items[target].before.append(source)
    return items


def test_heights_of_a_chain_are_level() -> None:
    items = connected([Item(layer, 1.0, 0.3) for layer in range(3)], (0, 1), (1, 2))
    assert place_heights(items, [[0], [1], [2]], 0.1) == pytest.approx([0.0, 0.0, 0.0])


def test_one_between_two_is_in_their_middle() -> None:
    items = connected([Item(0, 1.0, 0.3), Item(0, 1.0, 0.3), Item(1, 1.0, 0.3)], (0, 2), (1, 2))
    first, second, last = place_heights(items, [[0, 1], [2]], 0.1)
    assert first - second == pytest.approx(0.4)
    assert last == pytest.approx((first + second) / 2)


def test_bends_and_labels_pull_more_than_vertices() -> None:
    """Bends on both ends of a edge count eight times a edge between vertices."""
    items = [Item(0, 1.0, 0.3), Item(0, 1.0, 0.3, on_edge=True), Item(1, 1.0, 0.3, on_edge=True)]
    first, second, last = place_heights(connected(items, (0, 2), (1, 2)), [[0, 1], [2]], 0.1)
    assert abs(last - second) < abs(last - first) / 3


@given(
    sizes=st.lists(st.floats(0.05, 2), min_size=2, max_size=5),
    ends=st.lists(st.integers(0, 9), min_size=5, max_size=5),
)
def test_the_order_and_the_gaps_are_kept(sizes: list[float], ends: list[int]) -> None:
    count = len(sizes)
    items = [Item(0, 1.0, size) for size in sizes] + [Item(1, 1.0, size) for size in sizes]
    connected(
        items, *((source, count + end % count) for source, end in zip(range(count), ends, strict=False))
    )
    layers = [list(range(count)), list(range(count, 2 * count))]
    heights = place_heights(items, layers, 0.1)
    for layer in layers:
        for upper, lower in pairwise(layer):
            least = (items[upper].height + items[lower].height) / 2 + 0.1
            assert heights[upper] - heights[lower] >= least - 1e-9
