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
from dartboard.cli.analyse.output import as_json, write_all
from dartboard.cli.progress import progress
from dartboard.cli.render import Terminal, align_columns
from dartboard.errors import GenotypeError
from dartboard.runs.lookup import find_genotype, home_of
from dartboard.space import PUBLISHED, SPACES, Genotype, SearchSpace, load_space
from dartboard.utils.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = "topology.json"
HEAD = (
    "",
    "",
    "width",
    "depth",
    "mean source",
    "connections",
    "from inputs",
    "wider",
    "shallower",
    "pattern",
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
        epochs = [{"epoch": epoch.epoch, "cells": _shapes(epoch.shapes)} for epoch in self.epochs]
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
    with progress() as tell:
        named = enumerate(args.cells or PUBLISHED, 1)
        reports = [make_report(text, args.space, number, tell) for number, text in named]
    facts = {"cells": [report.facts() for report in reports]}
    if args.out is not None:
        write_all(args.out, dict(_figures(reports, every=bool(args.cells))), NUMBERS, facts)
    if args.json:
        print(as_json(facts))
    else:
        Terminal().write(_lines(reports))
        if args.out is not None:
            print(f"written to {args.out}")
    return 0


def make_report(text: str, space: str | None, number: int, tell: Progress) -> CellReport:
    """The cell that `text` names, and its kinds: in `space`, else in its own space, else none."""
    genotype = find_genotype(text)
    known = searched_space(text)
    epochs = epoch_shapes(text) if known is not None else []
    if space is not None:
        kinds = shape_distributions(genotype, load_space(space), progress=tell)
    else:
        kinds = _kinds(genotype, known, tell)
    return CellReport(_name(text, number), genotype, kinds, epochs)


def _kinds(genotype: Genotype, known: SearchSpace | None, tell: Progress) -> dict[str, ShapeDistribution]:
    with suppress(GenotypeError):
        return shape_distributions(genotype, known or home_of(genotype), progress=tell)
    with suppress(GenotypeError):  # of no space: by its own connections
        return shape_distributions(genotype)
    return {}


def _name(text: str, number: int) -> str:
    if text in PUBLISHED:
        return text
    with suppress(OSError):  # a genotype can be too long for a file name
        if Path(text).exists():
            return Path(text).resolve().name
    return f"genotype {number}"


def _shapes(shapes: Mapping[str, Shape]) -> dict[str, Any]:
    return {group: asdict(shape) for group, shape in shapes.items()}


def _lines(reports: Sequence[CellReport]) -> Iterator[Text | str]:
    rows = [HEAD, *(row for report in reports for row in _rows(report))]
    yield from _table(rows)
    yield ""
    for words in dict.fromkeys(_counted(kind) for report in reports for kind in report.kinds.values()):
        yield Text(f"wider, shallower: shares of {words}", "dim")
    for report in reports:
        if report.epochs:
            yield ""
            yield Text(f"{report.name} over its epochs: width, depth, mean source", "bold")
            yield from _table(list(_epoch_rows(report.epochs)))


def _counted(kind: ShapeDistribution) -> str:
    return f"{'all' if kind.exact else 'a sample of'} {kind.total:,} {kind.about}"


def _rows(report: CellReport) -> Iterator[tuple[str, ...]]:
    for group, cell in report.genotype.groups:
        shape = shape_of(cell)
        numbers = (
            f"{shape.width:.3g}c",
            f"{shape.depth}",
            f"{shape.mean_source:.3g}",
            f"{shape.connections}",
        )
        standing = report.kinds[group].rank(cell) if group in report.kinds else None
        stands = ("-", "-", "-")
        if standing is not None:
            pattern = "yes" if standing.common else "no"
            pattern = "widest" if standing.extreme and standing.common else pattern
            stands = (f"{standing.width.above:.1%}", f"{standing.depth.below:.1%}", pattern)
        yield (report.name, group, *numbers, f"{shape.from_inputs:.0%}", *stands)


def _epoch_rows(epochs: Sequence[EpochShapes]) -> Iterator[tuple[str, ...]]:
    """A line for each epoch: all groups, or where there are many their mean."""
    groups = list(epochs[-1].shapes)
    few = len(groups) <= FEW
    yield ("epoch", *(groups if few else [f"mean of {len(groups)} cells"]))
    for epoch in epochs:
        rows = [[epoch.shapes[group]] for group in groups] if few else [list(epoch.shapes.values())]
        yield (str(epoch.epoch), *(_mean(row) for row in rows))


def _mean(shapes: Sequence[Shape]) -> str:
    wide, deep, source = (
        fmean(getattr(shape, name) for shape in shapes) for name in ("width", "depth", "mean_source")
    )
    return f"{wide:.3g}c  {deep:.2g}  {source:.3g}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[Text]:
    """Rows with aligned columns, the first of them as heads."""
    for number, row in enumerate(align_columns(rows, 2)):
        yield Text("  ".join(row).rstrip(), "" if number else "dim")


def _figures(reports: Sequence[CellReport], *, every: bool) -> "Iterator[tuple[str, Figure]]":
    """Where the cells stand; with `every` also a drawing of each and its epochs."""
    from dartboard.analysis.topology import plot_epochs, plot_shape_ranks
    from dartboard.viz.cells import cell_figure

    panels: dict[tuple[object, ...], tuple[str, ShapeDistribution, dict[str, Any]]] = {}
    for report in reports:
        for group, kind in report.kinds.items():
            key = (group, kind.about, tuple(sorted(kind.ways.items())))
            panels.setdefault(key, (group, kind, {}))[2][report.name] = report.genotype.cells[group]
    if panels:
        yield "standing", plot_shape_ranks(list(panels.values()))
    for number, report in enumerate(reports if every else (), 1):
        yield f"cell-{number}", cell_figure(report.genotype)
        if report.epochs:
            yield f"epochs-{number}", plot_epochs(report.epochs)
