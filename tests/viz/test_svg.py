from itertools import combinations

import pytest

from dartboard.space import SPACES, get_space
from dartboard.viz.svg import LABEL_HEIGHT, svg_cell


@pytest.mark.parametrize("name", SPACES)
def test_boxes_and_labels_lie_apart_and_inside(name: str) -> None:
    for cell in set(get_space(name).cells.values()):
        drawing = svg_cell(cell)
        boxes = [(item["x"], item["y"], item["w"], item["h"]) for item in drawing["boxes"]]
        labels = [
            (item["lx"] - 10, item["ly"] - LABEL_HEIGHT / 2, 20.0, LABEL_HEIGHT)
            for item in drawing["lines"]
            if item["lx"] is not None
        ]
        for one, other in combinations(boxes + labels, 2):
            assert not overlap(one, other)
        for x, y, wide, high in boxes + labels:
            assert x >= 0 <= y
            assert x + wide <= drawing["width"]
            assert y + high <= drawing["height"]


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(
        one[axis] < other[axis] + other[axis + 2] - 0.2 and other[axis] < one[axis] + one[axis + 2] - 0.2
        for axis in (0, 1)
    )


@pytest.mark.parametrize("name", ["darts", "nb201", "oneshot1"])
def test_every_choice_is_drawn_once(name: str) -> None:
    for cell in get_space(name).cells.values():
        drawing = svg_cell(cell)
        drawn = [item["edge"] for item in (*drawing["lines"], *drawing["boxes"]) if item["edge"] is not None]
        assert sorted(drawn) == list(range(len(cell.edges)))
