from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard.viz.layout import Arrangement, Spot, Wire, arrange, layers

BOX = (0.4, 0.3)


@st.composite
def graphs(draw: st.DrawFn) -> list[Wire]:
    """Wires between up to six vertices, parallel ones too, with labels or without."""
    count = draw(st.integers(2, 6))
    pairs = st.sampled_from([(a, b) for b in range(1, count) for a in range(b)])
    chosen = draw(st.lists(pairs, min_size=1, max_size=12))
    label = st.sampled_from([(0.0, 0.0), (0.8, 0.2)])
    return [Wire(a, b, draw(label)) for a, b in [*chosen, (0, count - 1)]]


def placed(wires: list[Wire]) -> Arrangement:
    return arrange([BOX] * (1 + max(wire.target for wire in wires)), wires)


def overlap(one: Spot, other: Spot) -> bool:
    wide = (one.width + other.width) / 2 - abs(one.x - other.x)
    high = (one.height + other.height) / 2 - abs(one.y - other.y)
    return wide > 1e-6 and high > 1e-6


@settings(max_examples=40)
@given(wires=graphs())
def test_nothing_lies_on_anything_else(wires: list[Wire]) -> None:
    found = placed(wires)
    between = [spot for route in found.routes for spot in route.spots[1:-1]]
    assert not [pair for pair in combinations([*found.vertices, *between], 2) if overlap(*pair)]


@settings(max_examples=40)
@given(wires=graphs())
def test_wires_go_from_left_to_right_between_their_vertices(wires: list[Wire]) -> None:
    found = placed(wires)
    for wire, route in zip(wires, found.routes, strict=True):
        assert route.spots[0] == found.vertices[wire.source]
        assert route.spots[-1] == found.vertices[wire.target]
        ends = [(spot.x - spot.width / 2, spot.x + spot.width / 2) for spot in route.spots]
        assert all(left[1] < right[0] for left, right in pairwise(ends))


@settings(max_examples=40)
@given(wires=graphs())
def test_every_label_has_room_and_all_is_inside(wires: list[Wire]) -> None:
    found = placed(wires)
    for wire, route in zip(wires, found.routes, strict=True):
        assert (route.label is not None) == (wire.label[0] > 0)
        if route.label is not None:
            spot = route.spots[route.label]
            assert spot.width >= wire.label[0]
            assert spot.height == wire.label[1]
    for spot in [*found.vertices, *(spot for route in found.routes for spot in route.spots)]:
        assert spot.x - spot.width / 2 > -1e-9
        assert spot.y - spot.height / 2 > -1e-9
        assert spot.x + spot.width / 2 < found.width + 1e-9
        assert spot.y + spot.height / 2 < found.height + 1e-9


@settings(max_examples=10)
@given(wires=graphs())
def test_the_same_graph_gives_the_same_drawing(wires: list[Wire]) -> None:
    assert placed(wires) == placed(wires)


def test_a_vertex_is_as_far_right_as_its_longest_path_and_the_last_is_last() -> None:
    wires = [Wire(0, 1), Wire(1, 2), Wire(0, 2), Wire(0, 3), Wire(1, 4)]
    assert layers(5, wires) == [0, 1, 2, 1, 3]


def test_a_tangle_is_undone() -> None:
    """Three pairs in the reverse order have no need to cross."""
    wires = [Wire(0, 5), Wire(1, 4), Wire(2, 3), Wire(3, 6), Wire(4, 6), Wire(5, 6)]
    spots = placed(wires).vertices
    first, second = (sorted(own, key=lambda place: spots[place].y) for own in ((0, 1, 2), (3, 4, 5)))
    assert [5 - place for place in second] == first


def test_a_chain_is_level() -> None:
    spots = placed([Wire(0, 1, (0.8, 0.2)), Wire(1, 2, (0.8, 0.2))]).vertices
    assert spots[0].y == pytest.approx(spots[1].y) == pytest.approx(spots[2].y)


def test_room_gap_and_bend_are_heeded() -> None:
    wires = [Wire(0, 1), Wire(0, 2), Wire(1, 3), Wire(2, 3), Wire(0, 3)]
    usual = arrange([BOX] * 4, wires)
    assert arrange([BOX] * 4, wires, room=1.0).width == pytest.approx(usual.width + 2 * 0.66)
    assert arrange([BOX] * 4, wires, gap=0.3).height > usual.height
    assert arrange([BOX] * 4, wires, bend=0.5).height > usual.height
