"""Shapes of cells as graphs: width, depth, and how they rank among all cells of their kind.

Two kinds are distinguished. Cells of a space: every discrete cell counts once, so a topology counts as often
as there are ways to choose ops on it; the topologies are enumerated (180 in a cell of DARTS), and cells are
sampled only where there are too many. Connections of a cell: all its random-connection variants, each as
often as `variants.random_connections` would draw it; these are counted exactly, whatever their number.

Many cells can have the same width or depth, so nothing here is a bare percentile: `RankFractions` has the
fractions below, equal and above.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import comb, prod
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from dartboard.analysis.variants import check_connections
from dartboard.errors import GenotypeError, RunError
from dartboard.runs import RunReader
from dartboard.space import NONE, Cell, Genotype, SearchSpace, decode, depth, mean_source, sample, width
from dartboard.space.genotype import decided, decisions, winners
from dartboard.space.graph import topology
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_TOPOLOGIES = 50_000
"""The most topologies that are enumerated."""
SAMPLES = 10_000
"""How many cells are sampled where there are more."""
PROGRESS_EVERY = 100
"""Sampled cells between two reports of progress."""
YLABELS = {"width": "width (c)", "depth": "depth", "mean_source": "mean source index"}
"""Axis labels of the measures that are plotted over epochs."""

PartialCell = tuple[tuple[int, ...], Fraction, int]
"""A cell being connected: the sorted longest paths of its nodes, its width, its depth."""


@dataclass(frozen=True)
class Shape:
    """A cell as a graph; `none` is no connection.

    Args:
        width: In units of a node's channels (understanding-cells 3).
        depth: Edges from an input to the output on the longest path (understanding-cells 3).
        mean_source: Mean index of the node that a connection comes from (xnas table 4).
        connections: How many connections there are, those into the output not counted.
        from_inputs: The fraction of connections that come from the cell's inputs.
    """

    width: float
    depth: int
    mean_source: float
    connections: int
    from_inputs: float


@dataclass(frozen=True)
class EpochShapes:
    """What a search would have chosen after an epoch, counted from 0, and the shapes of its cells."""

    epoch: int
    genotype: Genotype
    shapes: Mapping[str, Shape]


@dataclass(frozen=True)
class RankFractions:
    """Fractions of all cells with less of something than a cell, as much, and more; they sum to 1."""

    below: float
    equal: float
    above: float

    @property
    def percentile(self) -> float:
        """From 0 to 100: those below, and half of those that are equal."""
        return 100 * (self.below + self.equal / 2)


@dataclass(frozen=True)
class ShapeRank:
    """The rank of a cell among the cells of a kind.

    Args:
        among: Description of the kind.
        exact: Whether all cells of the kind were counted.
        total: How many cells were counted.
        width: How many are narrower, as wide, and wider.
        depth: How many are shallower, as deep, and deeper.
        beyond: The fraction of cells that are at least as wide and as shallow, and more so in one of the two.
        extreme: Whether it is the widest and the shallowest there is.
    """

    among: str
    exact: bool
    total: int
    width: RankFractions
    depth: RankFractions
    beyond: float
    extreme: bool

    @property
    def common(self) -> bool:
        """Whether it has the common connection pattern of understanding-cells (observation 3.1).

        The paper says that popular cells "tend to be the widest and shallowest", with a width close to
        the largest and a depth close to the smallest, and gives no bound for close. Here a cell has the
        pattern if it is wider than most cells of its kind and shallower than most, ties counted half.
        """
        return self.width.percentile > 50 > self.depth.percentile


@dataclass(frozen=True)
class ShapeDistribution:
    """How many cells of a kind have each width and depth; `about` describes the kind.

    `exact` is True if all cells are counted; else it is a sample of them.
    """

    about: str
    ways: Mapping[tuple[float, int], int]
    exact: bool = True

    @property
    def total(self) -> int:
        """How many cells were counted."""
        return sum(self.ways.values())

    @property
    def widest(self) -> float:
        """The largest width."""
        return max(wide for wide, _ in self.ways)

    @property
    def shallowest(self) -> int:
        """The smallest depth of a cell whose inputs reach its output."""
        return min((deep for _, deep in self.ways if deep), default=0)

    def mean(self) -> tuple[float, float]:
        """The mean width and depth."""
        wide = sum(wide * ways for (wide, _), ways in self.ways.items())
        deep = sum(deep * ways for (_, deep), ways in self.ways.items())
        return wide / self.total, deep / self.total

    def rank(self, cell: Cell) -> ShapeRank:
        """The rank of a cell among these."""
        cell_width, cell_depth = width(cell), depth(cell)
        signs = [
            (_compare(wide, cell_width), _compare(deep, cell_depth), ways)
            for (wide, deep), ways in self.ways.items()
        ]
        widths = _fractions((wider, ways) for wider, _, ways in signs)
        depths = _fractions((deeper, ways) for _, deeper, ways in signs)
        beyond = sum(ways for wider, deeper, ways in signs if wider >= 0 >= deeper and wider != deeper)
        extreme = _compare(self.widest, cell_width) == 0 and self.shallowest == cell_depth
        return ShapeRank(self.about, self.exact, self.total, widths, depths, beyond / self.total, extreme)


def _compare(value: float, reference: float) -> int:
    """-1, 0 or 1 if a value is less, equal or more; widths are sums of fractions, hence the tolerance."""
    return 0 if abs(value - reference) < 1e-9 else (1 if value > reference else -1)


def _fractions(signs: Iterable[tuple[int, int]]) -> RankFractions:
    counts: Counter[int] = Counter()
    for sign, ways in signs:
        counts[sign] += ways
    below, equal, above = (counts[sign] / counts.total() for sign in (-1, 0, 1))
    return RankFractions(below, equal, above)


def shape_of(cell: Cell) -> Shape:
    """The shape of a cell."""
    graph = topology(cell)
    from_inputs = sum(source < graph.inputs for source, _ in graph.links)
    fraction = from_inputs / len(graph.links) if graph.links else 0.0
    return Shape(width(cell), depth(cell), mean_source(cell), len(graph.links), fraction)


def shapes_of(genotype: Genotype) -> dict[str, Shape]:
    """The shape of each cell of a genotype, by group."""
    return {name: shape_of(cell) for name, cell in genotype.groups}


def epoch_shapes(run: str | Path) -> list[EpochShapes]:
    """What a search, finished or not, would have chosen after each epoch recorded so far, with its shapes.

    Raises:
        RunError: If it is not a run, a run that chooses nothing, or damaged.
    """
    opened = RunReader.read(run)
    kind = opened.config.get("kind", "search")
    if kind != "search":
        raise RunError(f"{run} is a run of dartboard {kind}, which chooses no cell; name one of a search")
    epochs = []
    for number, details in [(row["epoch"], opened.epoch(row["epoch"])) for row in opened.metrics()]:
        try:
            genotype = decode(json.dumps(details["genotype"]))
        except (KeyError, GenotypeError):
            raise RunError(f"{run} is damaged: what its epoch {number} would choose cannot be read") from None
        epochs.append(EpochShapes(number, genotype, shapes_of(genotype)))
    return epochs


def rank_shapes(
    genotype: Genotype, space: SearchSpace | None = None, *, repeats: bool = True
) -> dict[str, ShapeRank]:
    """The rank of each cell of a genotype among those of its kind; see `shape_distributions`."""
    distributions = shape_distributions(genotype, space, repeats=repeats)
    return {name: distributions[name].rank(cell) for name, cell in genotype.groups}


def shape_distributions(
    genotype: Genotype,
    space: SearchSpace | None = None,
    *,
    repeats: bool = True,
    progress: Progress = no_progress,
) -> dict[str, ShapeDistribution]:
    """For each cell of a genotype the shapes of its kind: of a space, or without one of its connections.

    Args:
        genotype: Cells of the space; without a space, cells with two inputs.
        space: Where the cells come from.
        repeats: Whether connections may read one node twice, where there is no space.
        progress: Called with the number of cells sampled, where they are.

    Raises:
        GenotypeError: If the genotype is not of this space, or has cells whose connections cannot vary.
    """
    if space is None:
        return {name: connection_shapes(cell, name=name, repeats=repeats) for name, cell in genotype.groups}
    decisions(space, genotype)
    return {name: space_shapes(space, name, progress=progress) for name, _ in genotype.groups}


def space_shapes(
    space: SearchSpace,
    group: str,
    *,
    max_topologies: int = MAX_TOPOLOGIES,
    samples: int = SAMPLES,
    seed: int = 0,
    progress: Progress = no_progress,
) -> ShapeDistribution:
    """The shapes of all cells that a group of a space can become.

    Where there are more than `max_topologies`, it is a seeded sample of cells, which reports progress.
    """
    cell = space.cells[group]
    about = f"cells of space {space.name}"
    if count_topologies(cell) <= max_topologies:
        return ShapeDistribution(about, _enumerated_shapes(cell))
    rng, counts = Random(seed), Counter[tuple[float, int]]()
    for done in range(samples):
        if done % PROGRESS_EVERY == 0:
            progress(f"cells of {group}", done, samples)
        sampled = sample(space, rng).cells[group]
        counts[width(sampled), depth(sampled)] += 1
    return ShapeDistribution(about, counts, exact=False)


@cache
def _enumerated_shapes(cell: Cell) -> Mapping[tuple[float, int], int]:
    counts: Counter[tuple[float, int]] = Counter()
    for discrete, ways in topologies(cell):
        counts[width(discrete), depth(discrete)] += ways
    return counts


def count_topologies(cell: Cell) -> int:
    """How many topologies a cell has; `none` is no connection."""
    contests = prod(comb(len(_contestants(cell, contest.edges)), contest.keep) for contest in cell.contests)
    free = (edge for index, edge in enumerate(cell.edges) if cell.contest_of(index) is None)
    return contests * prod(2 for edge in free if NONE in edge.ops and len(edge.ops) > 1)


def topologies(cell: Cell) -> Iterator[tuple[Cell, int]]:
    """Every topology of a cell, with some op on its edges, and the number of ways to choose its ops."""
    choices: list[list[tuple[int, ...]]] = [
        list(combinations(_contestants(cell, contest.edges), contest.keep)) for contest in cell.contests
    ]
    for index, edge in enumerate(cell.edges):
        if cell.contest_of(index) is None:  # present, or either where it can be `none`
            is_optional = NONE in edge.ops and edge.ops != (NONE,)
            choices.append([(index,), ()] if is_optional else [(index,)])
    for choice in product(*choices):
        edges = [index for part in choice for index in part]
        ways = prod(max(len(winners(cell.edges[index])), 1) for index in edges)
        ops = tuple((index, (winners(cell.edges[index]) or [NONE])[0]) for index in edges)
        yield decided(cell, ops), ways


def _contestants(cell: Cell, edges: Iterable[int]) -> list[int]:
    """The edges of a contest that have something to win with."""
    return [index for index in edges if winners(cell.edges[index])]


def connection_shapes(cell: Cell, *, name: str = "cell", repeats: bool = True) -> ShapeDistribution:
    """The shapes of all cells with the nodes and ops of a cell and any sources; see `random_connections`.

    Nodes are connected one after the other. What comes later depends on the longest paths alone, so that
    cells which agree in those, in width and in depth are counted together.

    Raises:
        GenotypeError: If its connections cannot vary.
    """
    check_connections(name, cell, repeats=repeats)
    partial: Counter[PartialCell] = Counter({((0,) * cell.inputs, Fraction(0), 0): 1})
    for node in cell.inner:
        partial = _connect_node(partial, cell, node, repeats=repeats)
    counts: Counter[tuple[float, int]] = Counter()
    for (_, wide, deep), ways in partial.items():
        counts[float(wide), deep] += ways
    rule = "a node may be read twice" if repeats else "different nodes are read"
    return ShapeDistribution(f"connections of its nodes and ops ({rule})", counts)


def _connect_node(
    partial: Counter[PartialCell], cell: Cell, node: int, *, repeats: bool
) -> Counter[PartialCell]:
    """The partial cells after one more node, in all ways to connect it."""
    live = [cell.edges[index].ops != (NONE,) for index in cell.entering(node)]
    choices = product(range(node), repeat=len(live)) if repeats else permutations(range(node), len(live))
    live_sources = Counter(
        tuple(source for source, is_live in zip(sources, live, strict=True) if is_live) for sources in choices
    )
    connected: Counter[PartialCell] = Counter()
    for (paths, wide, deep), ways in partial.items():
        for sources, times in live_sources.items():
            longest = [paths[source] for source in sources]
            path = 1 + max(longest, default=-1) if max(longest, default=-1) >= 0 else -1
            wider = Fraction(sum(length == 0 for length in longest), len(longest)) if longest else Fraction(0)
            deeper = max(deep, path + 1) if node in cell.output else deep
            connected[tuple(sorted((*paths, path))), wide + wider, deeper] += ways * times
    return connected


def plot_shape_ranks(panels: Sequence[tuple[str, ShapeDistribution, Mapping[str, Cell]]]) -> "Figure":
    """Cells as stars among all of their kind; a panel for each title, distribution and cells by name."""
    from dartboard.viz.plots import ShapePanel, plot_shape_panels

    return plot_shape_panels([
        ShapePanel(
            f"{title}: {'all' if shapes.exact else 'a sample of'} {shapes.total:,} {shapes.about}",
            shapes.ways,
            {name: (width(cell), depth(cell)) for name, cell in cells.items()},
        )
        for title, shapes, cells in panels
    ])  # fmt: skip


def plot_epochs(epochs: Sequence[EpochShapes]) -> "Figure":
    """Width, depth and mean source over epochs, a line for each group."""
    from dartboard.viz.plots import plot_shapes

    measures = {
        ylabel: {group: [getattr(one.shapes[group], name) for one in epochs] for group in epochs[-1].shapes}
        for name, ylabel in YLABELS.items()
    }
    return plot_shapes([one.epoch for one in epochs], measures)
