"""Where things of a drawn graph are: vertices in layers from left to right, wires and their labels between.

Sugiyama's way, as drawing programs go: a vertex is in the layer of the longest path that leads to it; a
wire has a place of its own in every layer that it passes, and labels have layers of their own, so that
nothing lies on anything else. Orders that cross little are looked for by sweeps over the layers, heights
that keep wires straight by least squares under the order. The same graph gives the same drawing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from dartboard.viz.heights import Item, place_heights

GAP = 0.1
"""Between things of a layer, in inches."""
BEND = 0.06
"""The height of a wire that passes a layer, in inches."""
SWEEPS = 12
"""Over the layers, for their orders."""


@dataclass(frozen=True)
class Wire:
    """A line from one vertex to another, by their positions, with the size of its label; (0, 0) for none."""

    source: int
    target: int
    label: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Spot:
    """A rectangle of the drawing: its centre and its size, in inches; y grows upwards."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Route:
    """The way of a wire: spots from its source to its target, and which of them is its label's, if any."""

    spots: tuple[Spot, ...]
    label: int | None


@dataclass(frozen=True)
class Arrangement:
    """A drawing: vertices and wires in the order they were given, and the size of it all."""

    vertices: tuple[Spot, ...]
    routes: tuple[Route, ...]
    width: float
    height: float


def arrange(
    sizes: Sequence[tuple[float, float]],
    wires: Sequence[Wire],
    *,
    gap: float = GAP,
    bend: float = BEND,
    room: float = 0.34,
) -> Arrangement:
    """Places vertices and wires; the last vertex is alone in the last layer.

    Args:
        sizes: Width and height of each vertex, in inches; wires go from earlier to later ones.
        wires: What connects them.
        gap: The space between things of a layer.
        bend: The height of a wire that passes a layer.
        room: The space between layers.
    """
    items, chains, labels = _items(sizes, wires, bend)
    order = _ordered(items, _rows(items))
    heights = place_heights(items, order, gap)
    spots = _spots(items, order, heights, room)
    routes = tuple(
        Route(tuple(spots[item] for item in chain), label)
        for chain, label in zip(chains, labels, strict=True)
    )
    width = max(spot.x + spot.width / 2 for spot in spots)
    height = max(spot.y + spot.height / 2 for spot in spots)
    return Arrangement(tuple(spots[: len(sizes)]), routes, width, height)


def layers(count: int, wires: Sequence[Wire]) -> list[int]:
    """The layer of each vertex: as many as wires on the longest path to it; the last is after all others."""
    found = [0] * count
    for wire in sorted(wires, key=lambda wire: (wire.source, wire.target)):
        found[wire.target] = max(found[wire.target], found[wire.source] + 1)
    found[-1] = 1 + max(found[:-1], default=-1)
    return found


def _items(
    sizes: Sequence[tuple[float, float]], wires: Sequence[Wire], bend: float
) -> tuple[list[Item], list[list[int]], list[int | None]]:
    """Everything that needs a place, the items along each wire, and where on it the label is."""
    step = 2 if any(wire.label[0] for wire in wires) else 1
    ranks = layers(len(sizes), wires)
    items = [Item(rank * step, *size) for rank, size in zip(ranks, sizes, strict=True)]
    chains, labels = [], []
    used: dict[int, int] = {}
    for wire in wires:
        between = range(items[wire.source].layer + 1, items[wire.target].layer)
        odd = [layer for layer in between if layer % 2] if wire.label[0] else []
        chosen = min(odd, key=lambda layer: (used.get(layer, 0), layer), default=None)
        if chosen is not None:
            used[chosen] = used.get(chosen, 0) + 1
        chain = [wire.source]
        for layer in between:
            size = wire.label if layer == chosen else (0.0, bend)
            items.append(Item(layer, *size, stiff=True))
            chain.append(len(items) - 1)
        chain.append(wire.target)
        for left, right in pairwise(chain):
            items[left].after.append(right)
            items[right].before.append(left)
        chains.append(chain)
        labels.append(None if chosen is None else chosen - items[wire.source].layer)
    return items, chains, labels


def _rows(items: Sequence[Item]) -> list[list[int]]:
    """The items of each layer, in the order in which wires reach them from the first vertices."""
    rows: list[list[int]] = [[] for _ in range(1 + max(item.layer for item in items))]
    for index, item in enumerate(items):
        rows[item.layer].append(index)
    return rows


def _ordered(items: Sequence[Item], rows: list[list[int]]) -> list[list[int]]:
    """The rows in an order in which wires cross little: the best of some sweeps there and back."""
    best, fewest = rows, _crossings(items, rows)
    for sweep in range(SWEEPS):
        rows = _swapped(items, _swept(items, rows, forward=sweep % 2 == 0))
        if (now := _crossings(items, rows)) < fewest:
            best, fewest = rows, now
        if not fewest:
            break
    return best


def _swept(items: Sequence[Item], rows: list[list[int]], *, forward: bool) -> list[list[int]]:
    """Rows sorted one after the other by the mean place of what each item hangs on."""
    rows = [list(row) for row in rows]
    places = {item: place / max(len(row) - 1, 1) for row in rows for place, item in enumerate(row)}
    for row in rows if forward else reversed(rows):
        near = {item: items[item].before if forward else items[item].after for item in row}
        means = {item: fmean(places[other] for other in near[item] or [item]) for item in row}
        row.sort(key=means.__getitem__)
        places.update((item, place / max(len(row) - 1, 1)) for place, item in enumerate(row))
    return rows


def _swapped(items: Sequence[Item], rows: list[list[int]]) -> list[list[int]]:
    """Rows with neighbours exchanged wherever that takes crossings away."""
    rows = [list(row) for row in rows]
    for row, near in _beside(rows):
        for place in range(len(row) - 1):
            before = sum(_between(items, row, other) for other in near)
            row[place], row[place + 1] = row[place + 1], row[place]
            if sum(_between(items, row, other) for other in near) >= before:
                row[place], row[place + 1] = row[place + 1], row[place]
    return rows


def _beside(rows: list[list[int]]) -> Iterator[tuple[list[int], list[list[int]]]]:
    for index, row in enumerate(rows):
        yield row, [rows[other] for other in (index - 1, index + 1) if 0 <= other < len(rows)]


def _crossings(items: Sequence[Item], rows: list[list[int]]) -> int:
    return sum(_between(items, left, right) for left, right in pairwise(rows))


def _between(items: Sequence[Item], one: list[int], other: list[int]) -> int:
    """How often wires between two neighbouring rows cross."""
    place = {item: index for index, item in enumerate(other)}
    passed: list[int] = []
    crossed = 0
    for item in one:
        ends = [place[far] for far in (*items[item].before, *items[item].after) if far in place]
        crossed += sum(end < earlier for end in ends for earlier in passed)
        passed += ends
    return crossed


def _spots(items: Sequence[Item], rows: list[list[int]], heights: Sequence[float], room: float) -> list[Spot]:
    """Everything in its place, from the lower left corner; a bend is as wide as its layer."""
    lowest = min(heights[index] - item.height / 2 for index, item in enumerate(items))
    found: dict[int, Spot] = {}
    left = 0.0
    for row in rows:
        wide = max(items[item].width for item in row)
        for index in row:
            own = wide if items[index].stiff else items[index].width
            found[index] = Spot(left + wide / 2, heights[index] - lowest, own, items[index].height)
        left += wide + room
    return [found[index] for index in range(len(items))]
