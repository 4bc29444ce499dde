"""Where a cell stands by width and depth among all cells of its kind, exactly where these can be listed.

Two kinds are told apart. Cells of a space: every discrete cell counts once, so a topology counts as often
as there are ways to choose ops on it; the topologies are listed (180 in a cell of DARTS), and only where
there are too many are cells drawn. Connections of a cell: all its random-connection variants, each as
often as `variants.random_connections` would draw it; these are counted exactly, whatever their number.

A share of others can be equal to the cell, so nothing here is a bare percentile: a `Share` says how many
are below, equal and above.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from random import Random
from typing import TYPE_CHECKING

from dartboard.analysis.topologies import count_topologies, topologies
from dartboard.analysis.variants import check_connections
from dartboard.space import NONE, Cell, Genotype, SearchSpace, depth, sample, width
from dartboard.space.genotype import decisions
from dartboard.utils.progress import Progress, no_progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LISTED = 50_000
"""The most topologies that are listed."""
DRAWN = 10_000
"""How many cells are drawn where there are more."""
SEEN = 100
"""Cells that are drawn between two words about how many there are."""

State = tuple[tuple[int, ...], Fraction, int]
"""Of a cell that is being connected: longest paths of its nodes, in order; its width; its depth."""


@dataclass(frozen=True)
class Share:
    """Which part of all has less of something than a cell, as much, and more; together 1."""

    below: float
    equal: float
    above: float

    @property
    def percentile(self) -> float:
        """From 0 to 100: those below, and half of those that are equal."""
        return 100 * (self.below + self.equal / 2)


@dataclass(frozen=True)
class Kind:
    """How often each width and depth occurs among the cells of a kind.

    Args:
        about: What kind it is, in words.
        ways: By width and depth, how many cells there are.
        exact: Whether all cells are counted; else it is a sample of them.
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
        """The smallest depth of a cell that is one: of those whose inputs reach the output."""
        return min((deep for _, deep in self.ways if deep), default=0)

    def mean(self) -> tuple[float, float]:
        """The mean width and depth."""
        wide = sum(wide * ways for (wide, _), ways in self.ways.items())
        deep = sum(deep * ways for (_, deep), ways in self.ways.items())
        return wide / self.total, deep / self.total

    def stand(self, cell: Cell) -> "Standing":
        """Where a cell stands among these."""
        wide, deep = width(cell), depth(cell)
        widths = _share((_compare(other, wide), ways) for (other, _), ways in self.ways.items())
        depths = _share((_compare(other, deep), ways) for (_, other), ways in self.ways.items())
        signs = [(_compare(w, wide), _compare(d, deep), ways) for (w, d), ways in self.ways.items()]
        both = sum(ways for w, d, ways in signs if w >= 0 >= d and w != d)
        best = _compare(self.widest, wide) == 0 and self.shallowest == deep
        return Standing(self.about, self.exact, self.total, widths, depths, both / self.total, best)


@dataclass(frozen=True)
class Standing:
    """Where a cell stands among the cells of a kind.

    Args:
        among: What kind, in words.
        exact: Whether all cells of the kind were counted.
        total: How many cells were counted.
        width: How many are narrower, as wide, and wider.
        depth: How many are shallower, as deep, and deeper.
        beyond: The share of cells that are as wide and as shallow, and more so in one of the two.
        extreme: Whether it is the widest and the shallowest there is.
    """

    among: str
    exact: bool
    total: int
    width: Share
    depth: Share
    beyond: float
    extreme: bool

    @property
    def common(self) -> bool:
        """Whether it shows the common connection pattern of understanding-cells (observation 3.1).

        The paper says that popular cells "tend to be the widest and shallowest", with a width close to
        the largest and a depth close to the smallest, and has no bound for close. Here a cell has the
        pattern if it is wider than most cells of its kind and shallower than most, ties counted half.
        """
        return self.width.percentile > 50 > self.depth.percentile


def stand(
    genotype: Genotype, space: SearchSpace | None = None, *, repeats: bool = True
) -> dict[str, Standing]:
    """Where each cell of a genotype stands among those of its kind; see `kinds_of`."""
    kinds = kinds_of(genotype, space, repeats=repeats)
    return {name: kinds[name].stand(cell) for name, cell in genotype.archs}


def kinds_of(
    genotype: Genotype,
    space: SearchSpace | None = None,
    *,
    repeats: bool = True,
    tell: Progress = no_progress,
) -> dict[str, Kind]:
    """For each cell of a genotype its kind: the cells of a space, or without one its own connections.

    Args:
        genotype: Cells of the space; without a space, cells with two inputs.
        space: Where the cells come from.
        repeats: Whether connections may read one node twice, where there is no space.
        tell: Is told how many cells are drawn, where they are.

    Raises:
        GenotypeError: If the genotype is not of this space, or has cells whose connections cannot vary.
    """
    if space is None:
        return {name: connections(cell, name=name, repeats=repeats) for name, cell in genotype.archs}
    decisions(space, genotype)
    return {name: cells_of(space, name, tell=tell) for name, _ in genotype.archs}


def cells_of(
    space: SearchSpace,
    arch: str,
    *,
    listed: int = LISTED,
    drawn: int = DRAWN,
    seed: int = 0,
    tell: Progress = no_progress,
) -> Kind:
    """All cells that an arch of a space can become, or a sample of them.

    Args:
        space: The space.
        arch: One of its cells.
        listed: The most topologies that are listed.
        drawn: How many cells are drawn if there are more.
        seed: Chooses which.
        tell: Is told how many are drawn.
    """
    cell = space.cells[arch]
    about = f"cells of space {space.name}"
    if count_topologies(cell) <= listed:
        return Kind(about, _listed(cell))
    rng, found = Random(seed), Counter[tuple[float, int]]()
    for done in range(drawn):
        if done % SEEN == 0:
            tell(f"cells of {arch}", done, drawn)
        one = sample(space, rng).cells[arch]
        found[width(one), depth(one)] += 1
    return Kind(about, found, exact=False)


@cache
def _listed(cell: Cell) -> Mapping[tuple[float, int], int]:
    found: Counter[tuple[float, int]] = Counter()
    for one, ways in topologies(cell):
        found[width(one), depth(one)] += ways
    return found


def connections(cell: Cell, *, name: str = "cell", repeats: bool = True) -> Kind:
    """All cells with the nodes and ops of a cell, each source anywhere before; see `random_connections`.

    Nodes are connected one after the other. What comes later depends on the longest paths alone, so that
    cells which agree in those, in width and in depth are counted together.

    Raises:
        GenotypeError: If its connections cannot vary.
    """
    check_connections(name, cell, repeats=repeats)
    states: Counter[State] = Counter({((0,) * cell.inputs, Fraction(0), 0): 1})
    for node in cell.inner:
        states = _connected(states, cell, node, repeats=repeats)
    ways: Counter[tuple[float, int]] = Counter()
    for (_, wide, deep), number in states.items():
        ways[float(wide), deep] += number
    rule = "a node may be read twice" if repeats else "different nodes are read"
    return Kind(f"connections of its nodes and ops ({rule})", ways)


def _connected(states: Counter[State], cell: Cell, node: int, *, repeats: bool) -> Counter[State]:
    """The states after one more node, in all ways to connect it."""
    own = [cell.edges[index].ops != (NONE,) for index in cell.entering(node)]
    places = product(range(node), repeat=len(own)) if repeats else permutations(range(node), len(own))
    live = Counter(tuple(s for s, alive in zip(sources, own, strict=True) if alive) for sources in places)
    found: Counter[State] = Counter()
    for (paths, wide, deep), ways in states.items():
        for sources, times in live.items():
            longest = [paths[source] for source in sources]
            path = 1 + max(longest, default=-1) if max(longest, default=-1) >= 0 else -1
            share = Fraction(sum(own == 0 for own in longest), len(longest)) if longest else Fraction(0)
            ends = max(deep, path + 1) if node in cell.output else deep
            found[tuple(sorted((*paths, path))), wide + share, ends] += ways * times
    return found


def _compare(other: float, own: float) -> int:
    """-1, 0 or 1: whether another number is less, as much or more; widths are sums of fractions."""
    return 0 if abs(other - own) < 1e-9 else (1 if other > own else -1)


def _share(found: Iterable[tuple[int, int]]) -> Share:
    parts: Counter[int] = Counter()
    for sign, ways in found:
        parts[sign] += ways
    below, equal, above = (parts[sign] / parts.total() for sign in (-1, 0, 1))
    return Share(below, equal, above)


def plot_standing(panels: Sequence[tuple[str, Kind, Mapping[str, Cell]]]) -> "Figure":
    """Cells as stars among all of their kind; a panel for each title, kind and cells by name."""
    from dartboard.viz.plots import ShapePanel, plot_shape_panels

    return plot_shape_panels(
        [
            ShapePanel(
                f"{title}: {'all' if kind.exact else 'a sample of'} {kind.total:,} {kind.about}",
                kind.ways,
                {name: (width(cell), depth(cell)) for name, cell in cells.items()},
            )
            for title, kind, cells in panels
        ]
    )
