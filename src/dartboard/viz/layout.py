"""Layered layout of a drawn graph (Sugiyama): vertices from left to right, edges and labels in between.

A vertex is in the layer of the longest path that leads to it. An edge has a place of its own in every layer
that it passes, and labels have layers of their own, so nothing overlaps. Sweeps over the layers look for an
order with few crossings; heights that keep edges straight come from least squares under that order. The same
graph always gives the same layout. Lengths are in any unit: inches for pictures, pixels for pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

GAP = 0.1
"""Distance between neighbors of a layer."""
BEND = 0.06
"""Height of an edge that passes a layer."""
ORDER_SWEEPS = 12
HEIGHT_SWEEPS = 40
STIFFNESS = {0: 1.0, 1: 2.0, 2: 8.0}
"""Weight of a piece of an edge in the least squares, by how many of its ends are bends or labels."""
PORT_SPAN = 0.7
"""Fraction of a box's side over which edges are spread."""


@dataclass(frozen=True)
class LayoutEdge:
    """An edge by the indices of its vertices, with the size of its label; (0, 0) for none."""

    source: int
    target: int
    label: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Rect:
    """A rectangle by its center and size; y grows upwards."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Route:
    """The way of an edge from its source through the layers that it passes to its target.

    `label` is the index of the label's rectangle, None without one; `ports` are the heights at which it
    leaves its source and enters its target.
    """

    rects: tuple[Rect, ...]
    label: int | None
    ports: tuple[float, float]

    def corners(self, arrow: float) -> list[tuple[float, float]]:
        """Points along the edge, level inside layers, ending an arrow's length before its target."""
        first, *between, last = self.rects
        points = [(first.x + first.width / 2, self.ports[0])]
        for rect in between:
            points += [(rect.x - rect.width / 2, rect.y), (rect.x + rect.width / 2, rect.y)]
        return [*points, (last.x - last.width / 2 - arrow, self.ports[1])]


@dataclass(frozen=True)
class Layout:
    """Rectangles of vertices and routes of edges, in the order of the arguments, and the total size."""

    vertices: tuple[Rect, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


@dataclass
class Item:
    """Something with a place in a layer: a vertex, a label, or the bend of an edge that passes.

    `on_edge` is True for bends and labels, whose edge should be level; `before` and `after` are the indices
    of the items that edges come from and lead to.
    """

    layer: int
    width: float
    height: float
    on_edge: bool = False
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


def layered_layout(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[LayoutEdge],
    *,
    gap: float = GAP,
    bend: float = BEND,
    layer_gap: float = 0.34,
) -> Layout:
    """Lays out vertices by their width and height; the last one is alone in the last layer.

    Edges go from earlier to later vertices. `gap` is the distance between neighbors of a layer, `layer_gap`
    that between layers, `bend` the height of an edge that passes a layer.
    """
    items, chains, labels = _make_items(sizes, edges, bend)
    layers: list[list[int]] = [[] for _ in range(1 + max(item.layer for item in items))]
    for index, item in enumerate(items):
        layers[item.layer].append(index)
    layers = _reduce_crossings(items, layers)
    rects = _make_rects(items, layers, place_heights(items, layers, gap), layer_gap)
    paths = [tuple(rects[item] for item in chain) for chain in chains]
    starts, ends = _ports(paths, 0), _ports(paths, -1)
    routes = tuple(map(Route, paths, labels, zip(starts, ends, strict=True)))
    width = max(rect.x + rect.width / 2 for rect in rects)
    height = max(rect.y + rect.height / 2 for rect in rects)
    return Layout(tuple(rects[: len(sizes)]), routes, width, height)


def longest_path_layers(count: int, edges: Sequence[LayoutEdge]) -> list[int]:
    """The layer of each vertex: the length of the longest path to it; the last is after all others."""
    layers = [0] * count
    for edge in sorted(edges, key=lambda edge: (edge.source, edge.target)):
        layers[edge.target] = max(layers[edge.target], layers[edge.source] + 1)
    layers[-1] = 1 + max(layers[:-1], default=-1)
    return layers


def place_heights(items: Sequence[Item], layers: Sequence[Sequence[int]], gap: float) -> list[float]:
    """The y of each item: near its neighbors, in the order of its layer, and without overlap.

    `layers` has the indices of the items of each layer from top to bottom, which are at least `gap` apart.
    """
    heights = [0.0] * len(items)
    offsets = []
    for layer in layers:
        steps = [(items[a].height + items[b].height) / 2 + gap for a, b in pairwise(layer)]
        least = np.cumsum([0.0, *steps])  # how far below the first each item is at least
        offsets.append(least)
        for item, offset in zip(layer, least - least[-1] / 2, strict=True):
            heights[item] = -float(offset)
    for sweep in range(HEIGHT_SWEEPS):
        for place in range(len(layers)) if sweep % 2 else reversed(range(len(layers))):
            targets = [_level_height(items, item, heights) for item in layers[place]]
            for item, height in zip(layers[place], _separate(targets, offsets[place]), strict=True):
                heights[item] = height
    return heights


def _level_height(items: Sequence[Item], item: int, heights: Sequence[float]) -> tuple[float, float]:
    """The height at which the edges of an item are most level, and its weight in the least squares."""
    neighbors = [*items[item].before, *items[item].after]
    if not neighbors:
        return heights[item], 1.0
    weights = [STIFFNESS[items[item].on_edge + items[neighbor].on_edge] for neighbor in neighbors]
    total = sum(weights)
    pull = sum(heights[neighbor] * weight for neighbor, weight in zip(neighbors, weights, strict=True))
    return pull / total, total


def _separate(targets: Sequence[tuple[float, float]], offsets: NDArray[np.float64]) -> list[float]:
    """The heights nearest to weighted targets, by least squares, that keep their distances."""
    if len(targets) == 1:
        return [targets[0][0]]
    heights, weights = np.array(targets).T
    return [-float(depth) for depth in isotonic_regression(-heights - offsets, weights=weights).x + offsets]


def _make_items(
    sizes: Sequence[tuple[float, float]], edges: Sequence[LayoutEdge], bend: float
) -> tuple[list[Item], list[list[int]], list[int | None]]:
    """All items, the items along each edge, and which of these is its label; each label in an odd layer."""
    step = 2 if any(edge.label[0] for edge in edges) else 1
    ranks = longest_path_layers(len(sizes), edges)
    items = [Item(rank * step, *size) for rank, size in zip(ranks, sizes, strict=True)]
    chains, labels = [], []
    label_counts: dict[int, int] = {}
    for edge in edges:
        between = range(items[edge.source].layer + 1, items[edge.target].layer)
        odd = [layer for layer in between if layer % 2] if edge.label[0] else []
        label_layer = min(odd, key=lambda layer: (label_counts.get(layer, 0), layer), default=None)
        if label_layer is not None:
            label_counts[label_layer] = label_counts.get(label_layer, 0) + 1
        chain = [edge.source]
        for layer in between:
            size = edge.label if layer == label_layer else (0.0, bend)
            items.append(Item(layer, *size, on_edge=True))
            chain.append(len(items) - 1)
        chain.append(edge.target)
        for left, right in pairwise(chain):
            items[left].after.append(right)
            items[right].before.append(left)
        chains.append(chain)
        labels.append(None if label_layer is None else label_layer - items[edge.source].layer)
    return items, chains, labels


def _reduce_crossings(items: Sequence[Item], layers: list[list[int]]) -> list[list[int]]:
    """The layers in an order in which few edges cross: the best of some sweeps forth and back."""
    best, fewest = layers, _count_crossings(items, layers)
    for sweep in range(ORDER_SWEEPS):
        layers = _swap_neighbors(items, _sort_by_barycenter(items, layers, forward=sweep % 2 == 0))
        if (crossings := _count_crossings(items, layers)) < fewest:
            best, fewest = layers, crossings
        if not fewest:
            break
    return best


def _sort_by_barycenter(items: Sequence[Item], layers: list[list[int]], *, forward: bool) -> list[list[int]]:
    """Layers sorted one after the other by the mean place of each item's neighbors on one side."""
    layers = [list(layer) for layer in layers]
    places = {item: place / max(len(layer) - 1, 1) for layer in layers for place, item in enumerate(layer)}
    for layer in layers if forward else reversed(layers):
        neighbors = {item: items[item].before if forward else items[item].after for item in layer}
        means = {item: fmean(places[near] for near in neighbors[item] or [item]) for item in layer}
        layer.sort(key=means.__getitem__)
        places.update((item, place / max(len(layer) - 1, 1)) for place, item in enumerate(layer))
    return layers


def _swap_neighbors(items: Sequence[Item], layers: list[list[int]]) -> list[list[int]]:
    """Layers with neighbors exchanged wherever that removes crossings."""
    layers = [list(layer) for layer in layers]
    for index, layer in enumerate(layers):
        adjacent = [layers[near] for near in (index - 1, index + 1) if 0 <= near < len(layers)]
        for place in range(len(layer) - 1):
            before = sum(_crossings_between(items, layer, near) for near in adjacent)
            layer[place], layer[place + 1] = layer[place + 1], layer[place]
            if sum(_crossings_between(items, layer, near) for near in adjacent) >= before:
                layer[place], layer[place + 1] = layer[place + 1], layer[place]
    return layers


def _count_crossings(items: Sequence[Item], layers: list[list[int]]) -> int:
    return sum(_crossings_between(items, left, right) for left, right in pairwise(layers))


def _crossings_between(items: Sequence[Item], layer: list[int], adjacent: list[int]) -> int:
    """How often edges between two neighboring layers cross."""
    places = {item: place for place, item in enumerate(adjacent)}
    passed: list[int] = []
    crossings = 0
    for item in layer:
        ends = [places[far] for far in (*items[item].before, *items[item].after) if far in places]
        crossings += sum(end < earlier for end in ends for earlier in passed)
        passed += ends
    return crossings


def _make_rects(
    items: Sequence[Item], layers: list[list[int]], heights: Sequence[float], layer_gap: float
) -> list[Rect]:
    """The rectangle of each item, from the lower left corner; a bend is as wide as its layer."""
    lowest = min(heights[index] - item.height / 2 for index, item in enumerate(items))
    rects: dict[int, Rect] = {}
    left = 0.0
    for layer in layers:
        layer_width = max(items[item].width for item in layer)
        for index in layer:
            width = layer_width if items[index].on_edge else items[index].width
            rects[index] = Rect(left + layer_width / 2, heights[index] - lowest, width, items[index].height)
        left += layer_width + layer_gap
    return [rects[index] for index in range(len(items))]


def _ports(paths: Sequence[tuple[Rect, ...]], end: int) -> list[float]:
    """Heights at which edges meet the box at one end (0 or -1), in the order of where they go."""
    near = 1 if end == 0 else -2
    ports = []
    for index, path in enumerate(paths):
        box = path[end]
        sharing = [edge for edge, rects in enumerate(paths) if rects[end] == box]
        place = sorted(sharing, key=lambda edge: paths[edge][near].y).index(index)
        step = box.height * PORT_SPAN / max(len(sharing), 4)
        ports.append(box.y + (place - (len(sharing) - 1) / 2) * step)
    return ports
