"""Understanding table 2: widths and depths of popular cells and of their random-connection variants.

The paper says that popular cells have "the largest width and nearly the smallest depth among all the
variants". Largest is taken as: no variant is wider; nearly smallest as: at most one above the smallest of
the variants, which is what the paper's own AmoebaNet is. The variants are the ten that the authors drew,
which are not the thirteen of the table. Besides them, all connections are counted.
"""

from collections.abc import Mapping, Sequence
from math import prod
from statistics import fmean

from matplotlib.figure import Figure

from dartboard.analysis.topology import ShapeDistribution, connection_shapes, shape_of
from dartboard.space import Cell
from dartboard.space.graph import depth, width
from dartboard.viz.line_styles import COLORS
from dartboard.viz.plots import draw_bubbles, draw_stars
from dartboard_papers._popular_cells import caption, chance_of_standing, dots, normal_cell, popular
from dartboard_papers._understanding_variants import COUNT, connection_variant
from dartboard_papers.base import PartResult, ReproductionResult, Row, RunOptions, Scale, reproduction

Pairs = list[tuple[float, int]]
"""Widths and depths."""

LINES = {
    "DARTS": "2,4 2,4 2,4 2.5,4 2.5,4 2.5,3 2.5,3 2.5,3 3,3 3,3 3,3 3.5,3 3.5,3",
    "ENAS": "1.5,6 1.5,5 2,6 2,6 2.5,5 2.5,5 3,4 3,3 3.5,5 3.5,4 3.5,4 3.5,3 3.5,3",
    "AmoebaNet": "1.5,6 1.5,5 1.5,5 1.5,3 2,6 2,6 2,4 2.5,5 2.5,3 2.5,3 3,3 3.5,4 3.5,3",
    "NASNet": "1.5,6 1.5,5 2,6 2,6 2.5,5 2.5,5 3,4 3,3 3.5,5 3.5,4 3.5,4 3.5,3 3.5,3",
}
"""The paper's variants of each cell: width, depth."""
OWN = {"DARTS": "3.5c, 3", "ENAS": "5c, 2", "AmoebaNet": "4c, 4", "NASNet": "5c, 2"}
"""Those of the cells themselves."""
STANDING = "popular cells are the widest and nearly the shallowest"


@reproduction(
    "understanding-table-2",
    about="widths and depths of popular cells and of their randomly connected variants",
    claim="popular cells have the largest width and nearly the smallest depth among all their variants",
    rules={
        STANDING: "for all 4 cells, none of the variants that the authors drew is wider, and the cell is at "
        "most one deeper than the shallowest of them"
    },
    minutes=0.2,
    laptop=Scale(),
)
def reproduce(options: RunOptions, scale: Scale) -> ReproductionResult:  # noqa: ARG001
    """The variants of a draw beside the paper's, and all connections."""
    cells = {name: normal_cell(popular(name)) for name in LINES}
    drawn = {name: variants(name) for name in LINES}
    kinds = {name: connection_shapes(cell) for name, cell in cells.items()}
    matching = [name for name in LINES if is_wide_and_shallow(cells[name], drawn[name])]
    chance = prod(chance_of_standing(kind, COUNT, slack=1) for kind in kinds.values())
    words = ", ".join(f"{name} {kinds[name].rank(cells[name]).beyond:.2%}" for name in LINES)
    return ReproductionResult(
        rows=[row for name in LINES for row in rows(name, cells[name], drawn[name], kinds[name])],
        parts={
            STANDING: PartResult(
                len(matching) == len(LINES), f"{len(matching)} of {len(LINES)} cells", chance
            )
        },
        sentence=f"{len(matching)} of {len(LINES)} cells are at least as wide as all {COUNT} "
        "variants drawn, and at most one deeper than the shallowest; beyond them are, of all "
        f"connections: {words}.",
        size=f"{COUNT} variants of each of {len(LINES)} cells, and all connections counted",
        seeds=0,
        figures={"variants": draw(cells, drawn, kinds)},
        numbers={"drawn": drawn, "paper": {name: paper(name) for name in LINES}},
        remarks=[SAME, unlikely(kinds["AmoebaNet"])],
    )


SAME = "The paper's variants of ENAS and of NASNet are the same in all 13 columns: one draw, not two."


def paper(name: str) -> Pairs:
    """The paper's variants of a cell."""
    return [(float(wide), int(deep)) for wide, deep in (pair.split(",") for pair in LINES[name].split())]


def variants(name: str) -> Pairs:
    """Widths and depths of the variants in the paper's order: narrow first, of equal width deep first."""
    genotypes = [connection_variant(name, number) for number in range(1, COUNT + 1)]
    shapes = [shape_of(normal_cell(genotype)) for genotype in genotypes]
    return sorted(((shape.width, shape.depth) for shape in shapes), key=lambda shape: (shape[0], -shape[1]))


def is_wide_and_shallow(cell: Cell, others: Sequence[tuple[float, int]]) -> bool:
    """True if no other is wider, and the cell is at most one deeper than the shallowest."""
    reference = shape_of(cell)
    return reference.width >= max(wide for wide, _ in others) and reference.depth <= 1 + min(
        deep for _, deep in others
    )


def rows(name: str, cell: Cell, drawn: Pairs, kind: ShapeDistribution) -> list[Row]:
    """A cell and its variants beside the paper's."""
    reference, published, place = shape_of(cell), paper(name), kind.rank(cell)

    def count(pairs: Pairs) -> tuple[int, int]:
        return sum(wide > reference.width for wide, _ in pairs), sum(
            deep < reference.depth for _, deep in pairs
        )

    return [
        Row(f"{name}: width, depth", OWN[name], caption(cell)),
        Row(f"{name}: variants that are wider", count(published)[0], count(drawn)[0]),
        Row(f"{name}: variants that are shallower", count(published)[1], count(drawn)[1]),
        Row(f"{name}: mean width, depth of variants", means(published), means(drawn)),
        Row(f"{name}: mean width, depth of all {kind.total:,}", None, "{:.2f}c, {:.2f}".format(*kind.mean())),
        Row(f"{name}: all that are wider, %", None, 100 * place.width.above),
        Row(f"{name}: all that are shallower, %", None, 100 * place.depth.below),
    ]


def means(pairs: Pairs) -> str:
    """Mean width and depth as text."""
    wide, deep = zip(*pairs, strict=True)
    return f"{fmean(wide):.2f}c, {fmean(deep):.2f}"


def unlikely(kind: ShapeDistribution) -> str:
    """Remark on how rarely the least likely of the paper's variants would be drawn."""
    ways = sum(count for (wide, deep), count in kind.ways.items() if wide <= 1.5 and deep <= 3)
    return (
        f"The paper lists a variant of AmoebaNet of width 1.5c and depth 3; {ways:,} of all {kind.total:,} "
        f"connections are so narrow and so shallow."
    )


def draw(
    cells: Mapping[str, Cell], drawn: Mapping[str, Pairs], kinds: Mapping[str, ShapeDistribution]
) -> Figure:
    """For each cell all connections as circles, the variants of here and of the paper as dots."""
    figure = Figure((10, 7), layout="constrained")
    for axes, name in zip(figure.subplots(2, 2).flat, cells, strict=True):
        draw_bubbles(axes, kinds[name].ways, largest=700)
        dots(axes, [(w - 0.09, d) for w, d in paper(name)], COLORS[0], "s", "the paper's variants")
        dots(axes, [(w + 0.09, d) for w, d in drawn[name]], COLORS[2], "o", "in the authors' code")
        draw_stars(axes, {name: (width(cells[name]), depth(cells[name]))})
        axes.set_title(f"{name}: all {kinds[name].total:,} connections, area by number", fontsize=9)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure
