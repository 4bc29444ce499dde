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

from dartboard.analysis.standing import Kind, kinds_of
from dartboard.analysis.topology import Epoch, Shape, over_epochs, shape_of
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
"""Archs that have columns of their own in a table over epochs."""


@dataclass(frozen=True)
class Found:
    """A cell that was asked for: what it is, the kinds of its cells, and its epochs if it is a search."""

    name: str
    genotype: Genotype
    kinds: Mapping[str, Kind]
    epochs: Sequence[Epoch] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        cells = {}
        for arch, cell in self.genotype.archs:
            cells[arch] = asdict(shape_of(cell))
            if arch in self.kinds:
                place = self.kinds[arch].stand(cell)
                more = {"percentile": {"width": place.width.percentile, "depth": place.depth.percentile}}
                cells[arch]["standing"] = asdict(place) | more | {"common": place.common}
        epochs = [{"epoch": one.epoch, "cells": _shapes(one.shapes)} for one in self.epochs]
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
        found = [look(text, args.space, place, tell) for place, text in named]
    facts = {"cells": [one.facts() for one in found]}
    if args.out is not None:
        write_all(args.out, dict(_figures(found, every=bool(args.cells))), NUMBERS, facts)
    if args.json:
        print(as_json(facts))
    else:
        Terminal().write(_lines(found))
        if args.out is not None:
            print(f"written to {args.out}")
    return 0


def look(text: str, space: str | None, place: int, tell: Progress) -> Found:
    """What `text` means, and its kinds: in the space that was named, else in its own, else none."""
    genotype = find_genotype(text)
    known = searched_space(text)
    epochs = over_epochs(text) if known is not None else []
    if space is not None:
        kinds = kinds_of(genotype, load_space(space), tell=tell)
    else:
        kinds = _kinds(genotype, known, tell)
    return Found(_name(text, place), genotype, kinds, epochs)


def _kinds(genotype: Genotype, known: SearchSpace | None, tell: Progress) -> dict[str, Kind]:
    with suppress(GenotypeError):
        return kinds_of(genotype, known or home_of(genotype), tell=tell)
    with suppress(GenotypeError):  # of no space: by its own connections
        return kinds_of(genotype)
    return {}


def _name(text: str, place: int) -> str:
    if text in PUBLISHED:
        return text
    with suppress(OSError):  # a genotype can be too long for a file name
        if Path(text).exists():
            return Path(text).resolve().name
    return f"genotype {place}"


def _shapes(shapes: Mapping[str, Shape]) -> dict[str, Any]:
    return {arch: asdict(own) for arch, own in shapes.items()}


def _lines(found: Sequence[Found]) -> Iterator[Text | str]:
    rows = [HEAD, *(row for one in found for row in _rows(one))]
    yield from _table(rows)
    yield ""
    for words in dict.fromkeys(_counted(kind) for one in found for kind in one.kinds.values()):
        yield Text(f"wider, shallower: shares of {words}", "dim")
    for one in found:
        if one.epochs:
            yield ""
            yield Text(f"{one.name} over its epochs: width, depth, mean source", "bold")
            yield from _table(list(_epoch_rows(one.epochs)))


def _counted(kind: Kind) -> str:
    return f"{'all' if kind.exact else 'a sample of'} {kind.total:,} {kind.about}"


def _rows(one: Found) -> Iterator[tuple[str, ...]]:
    for arch, cell in one.genotype.archs:
        own = shape_of(cell)
        shape = (f"{own.width:.3g}c", f"{own.depth}", f"{own.mean_source:.3g}", f"{own.connections}")
        place = one.kinds[arch].stand(cell) if arch in one.kinds else None
        stands = ("-", "-", "-")
        if place is not None:
            pattern = "widest" if place.extreme and place.common else "yes" if place.common else "no"
            stands = (f"{place.width.above:.1%}", f"{place.depth.below:.1%}", pattern)
        yield (one.name, arch, *shape, f"{own.from_inputs:.0%}", *stands)


def _epoch_rows(epochs: Sequence[Epoch]) -> Iterator[tuple[str, ...]]:
    """A line for each epoch: all archs, or where there are many their mean."""
    archs = list(epochs[-1].shapes)
    few = len(archs) <= FEW
    yield ("epoch", *(archs if few else [f"mean of {len(archs)} cells"]))
    for one in epochs:
        groups = [[one.shapes[arch]] for arch in archs] if few else [list(one.shapes.values())]
        yield (str(one.epoch), *(_mean(group) for group in groups))


def _mean(shapes: Sequence[Shape]) -> str:
    wide, deep, source = (
        fmean(getattr(own, name) for own in shapes) for name in ("width", "depth", "mean_source")
    )
    return f"{wide:.3g}c  {deep:.2g}  {source:.3g}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[Text]:
    """Rows with aligned columns, the first of them as heads."""
    for place, row in enumerate(align_columns(rows, 2)):
        yield Text("  ".join(row).rstrip(), "" if place else "dim")


def _figures(found: Sequence[Found], *, every: bool) -> "Iterator[tuple[str, Figure]]":
    """Where the cells stand; with `every` also a drawing of each and its epochs."""
    from dartboard.analysis.standing import plot_standing
    from dartboard.analysis.topology import plot_epochs
    from dartboard.viz.cells import cell_figure

    panels: dict[tuple[object, ...], tuple[str, Kind, dict[str, Any]]] = {}
    for one in found:
        for arch, kind in one.kinds.items():
            key = (arch, kind.about, tuple(sorted(kind.ways.items())))
            panels.setdefault(key, (arch, kind, {}))[2][one.name] = one.genotype.cells[arch]
    if panels:
        yield "standing", plot_standing(list(panels.values()))
    for place, one in enumerate(found if every else (), 1):
        yield f"cell-{place}", cell_figure(one.genotype)
        if one.epochs:
            yield f"epochs-{place}", plot_epochs(one.epochs)
