"""Show the shape of cells: width, depth, mean source index, and where they stand among all of their kind.

Without a CELL, of all published ones. Of a search also what it would have chosen after each epoch. A cell
stands among all cells of its space, which are counted, not sampled, where they can be; a published cell that
is of no space stands among all connections of its own nodes. It has the common connection pattern (Shu et
al., 2020) if it is wider and shallower than most of these, ties counted half.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.analysis.topology import (
    EpochShapes,
    Shape,
    ShapeDistribution,
    epoch_shapes,
    shape_distributions,
    shape_of,
)
from dartboard.cli.analyse.networks import searched_space
from dartboard.cli.render import Terminal, print_results, progress, table_texts
from dartboard.errors import GenotypeError
from dartboard.runs.lookup import find_genotype, home_of
from dartboard.space import PUBLISHED, SPACES, Genotype, load_space
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = "topology.json"
HEAD: tuple[str, ...] = (
    *("", "", "width", "depth", "mean source", "connections", "from inputs"),
    *("wider", "shallower", "pattern"),
)
FEW = 3
"""Groups that have columns of their own in a table over epochs."""


@dataclass(frozen=True)
class CellReport:
    """A cell with the kinds that it stands among, and its epochs if it is that of a search."""

    name: str
    genotype: Genotype
    kinds: Mapping[str, ShapeDistribution]
    epochs: Sequence[EpochShapes] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        cells = {}
        for group, cell in self.genotype.groups:
            cells[group] = asdict(shape_of(cell))
            if group in self.kinds:
                standing = self.kinds[group].rank(cell)
                percentiles = {"width": standing.width.percentile, "depth": standing.depth.percentile}
                more = {"percentile": percentiles, "common": standing.common}
                cells[group]["standing"] = asdict(standing) | more
        epochs = [
            {
                "epoch": epoch.epoch,
                "cells": {group: asdict(shape) for group, shape in epoch.shapes.items()},
            }
            for epoch in self.epochs
        ]
        return {"name": self.name, "cells": cells, "epochs": epochs}


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    about = "a published cell, a genotype, a file with one, or the directory of a run"
    add("cells", nargs="*", metavar="CELL", help=f"{about}; all published cells by default")
    add("--space", metavar="S", help=f"where the cells come from: {', '.join(SPACES)}, or a file")
    add("--out", type=Path, metavar="DIR", help="write pictures and numbers there")
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print the shapes, and draw."""
    with progress() as report_progress:
        reports = [
            make_report(text, args.space, number, report_progress)
            for number, text in enumerate(args.cells or PUBLISHED, 1)
        ]
    facts = {"cells": [report.facts() for report in reports]}
    lines = _lines(reports, Terminal().table_width)
    print_results(args, facts, lines, lambda: _figures(reports, every=bool(args.cells)), NUMBERS)
    return 0


def make_report(text: str, space: str | None, number: int, progress: Progress) -> CellReport:
    """The cell that `text` names, and its kinds: in `space`, else in its own space, else none."""
    genotype = find_genotype(text)
    searched = searched_space(text)
    kinds: dict[str, ShapeDistribution] = {}
    if space is not None:
        kinds = shape_distributions(genotype, load_space(space), progress=progress)
    else:
        try:
            kinds = shape_distributions(genotype, searched or home_of(genotype), progress=progress)
        except GenotypeError:
            with suppress(GenotypeError):  # of no space: by its own connections
                kinds = shape_distributions(genotype)
    name = text if text in PUBLISHED else f"genotype {number}"
    with suppress(OSError):  # a genotype can be too long for a file name
        if text not in PUBLISHED and Path(text).exists():
            name = Path(text).resolve().name
    return CellReport(name, genotype, kinds, epoch_shapes(text) if searched is not None else [])


def _lines(reports: Sequence[CellReport], width: int) -> Iterator[Text | str]:
    rows = [HEAD, *(row for report in reports for row in _rows(report))]
    yield from table_texts(rows, width, names=2, left=2, styles=["dim", *[""] * (len(rows) - 1)])
    yield ""
    counted = (
        f"{'all' if kind.exact else 'a sample of'} {kind.total:,} {kind.about}"
        for report in reports
        for kind in report.kinds.values()
    )
    for cells in dict.fromkeys(counted):
        yield Text(f"wider, shallower: shares of {cells}", "dim")
    for report in reports:
        if report.epochs:
            yield ""
            yield Text(f"{report.name} over its epochs: width, depth, mean source", "bold")
            rows = _epoch_rows(report.epochs)
            yield from table_texts(rows, width, left=2, styles=["dim", *[""] * (len(rows) - 1)])


def _rows(report: CellReport) -> Iterator[tuple[str, ...]]:
    for group, cell in report.genotype.groups:
        shape = shape_of(cell)
        sizes = f"{shape.width:.3g}c", f"{shape.depth}", f"{shape.mean_source:.3g}"
        connections = f"{shape.connections}", f"{shape.from_inputs:.0%}"
        stands = ("-", "-", "-")
        if group in report.kinds:
            standing = report.kinds[group].rank(cell)
            pattern = "yes" if standing.common else "no"
            pattern = "widest" if standing.extreme and standing.common else pattern
            stands = (f"{standing.width.above:.1%}", f"{standing.depth.below:.1%}", pattern)
        yield (report.name, group, *sizes, *connections, *stands)


def _epoch_rows(epochs: Sequence[EpochShapes]) -> list[tuple[str, ...]]:
    """A line for each epoch: all groups, or where there are many their mean."""
    groups = list(epochs[-1].shapes)
    few = len(groups) <= FEW
    rows = [("epoch", *(groups if few else [f"mean of {len(groups)} cells"]))]
    for epoch in epochs:
        columns = [[epoch.shapes[group]] for group in groups] if few else [list(epoch.shapes.values())]
        rows.append((str(epoch.epoch), *(_mean(shapes) for shapes in columns)))
    return rows


def _mean(shapes: Sequence[Shape]) -> str:
    """Means of width, depth and source index."""
    wide, deep, source = (
        fmean(getattr(shape, name) for shape in shapes) for name in ("width", "depth", "mean_source")
    )
    return f"{wide:.3g}c  {deep:.2g}  {source:.3g}"


def _figures(reports: Sequence[CellReport], *, every: bool) -> "dict[str, Figure]":
    """Where the cells stand; with `every` also a drawing of each and its epochs."""
    from dartboard.analysis.topology import plot_epochs, plot_shape_ranks
    from dartboard.viz.cells import cell_figure

    panels: dict[tuple[object, ...], tuple[str, ShapeDistribution, dict[str, Any]]] = {}
    for report in reports:
        for group, kind in report.kinds.items():
            key = (group, kind.about, tuple(sorted(kind.ways.items())))
            panels.setdefault(key, (group, kind, {}))[2][report.name] = report.genotype.cells[group]
    figures = {"standing": plot_shape_ranks(list(panels.values()))} if panels else {}
    for number, report in enumerate(reports if every else (), 1):
        figures[f"cell-{number}"] = cell_figure(report.genotype)
        if report.epochs:
            figures[f"epochs-{number}"] = plot_epochs(report.epochs)
    return figures
