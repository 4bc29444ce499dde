"""Cells and spaces as files to look at: PNG, SVG or PDF, with the strengths of a search where asked for."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from dartboard.cli.arguments import UsageError
from dartboard.errors import RunError
from dartboard.space import Genotype, SearchSpace, load_space

ENDINGS = (".png", ".svg", ".pdf")


def add_picture_flags(parser: ArgumentParser) -> None:
    """Declare where a drawing goes, and what is drawn."""
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", help=f"draw it to a file ({', '.join(ENDINGS)})")
    add(
        "--strengths",
        action="store_true",
        help="draw all candidates of a search, each as thick as it was strong after the last epoch",
    )


def check_picture(args: Namespace) -> None:
    """Refuse what cannot be drawn or written, before anything is computed."""
    out: Path | None = args.out
    if args.strengths and (out is None or args.cell is None):
        raise UsageError("--strengths needs the directory of a search as CELL, and --out FILE")
    if out is None:
        return
    if out.suffix not in ENDINGS:
        raise UsageError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}; make it first")


def draw(what: Genotype | SearchSpace, args: Namespace) -> Path | None:
    """Write the drawing that was asked for, and say where it is; None if none was."""
    if args.out is None:
        return None
    from dartboard.viz.cells import cell_figure
    from dartboard.viz.figures import save_as

    if not args.strengths:
        return save_as(cell_figure(what), args.out)
    space, weights = mixture_of(args.cell)
    return save_as(cell_figure(space, weights=weights), args.out)


def mixture_of(path: str) -> tuple[SearchSpace, dict[str, list[list[float]]]]:
    """The space of a search, and by arch what each op of each edge weighed after the last epoch.

    Raises:
        UsageError: If it is no search.
        RunError: If no epoch is over, or its strengths are damaged.
    """
    from dartboard.runs import SPACE, RunReader, is_run

    run = RunReader.read(path) if is_run(Path(path)) else None
    if run is None or run.config.get("kind", "search") != "search":
        raise UsageError(f"--strengths needs the directory of a search; {path} is none")
    epochs = run.metrics()
    if not epochs:
        raise RunError(f"the run {path} has no strengths yet; its first epoch is not over")
    space, number = load_space(Path(path) / SPACE), epochs[-1]["epoch"]
    try:
        return space, _weights(space, run.epoch(number)["strengths"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RunError(f"{path}: the strengths of epoch {number} cannot be read: {error!r}") from None


def _weights(space: SearchSpace, strengths: dict[str, Any]) -> dict[str, list[list[float]]]:
    """By arch and edge, the strength of each op times that of the edge."""
    found = {}
    for arch, cell in space.archs:
        ops, edges = (np.array(strengths[arch][key], dtype=float) for key in ("ops", "edges"))
        found[arch] = [
            (ops[index, : len(edge.ops)] * edges[index]).tolist() for index, edge in enumerate(cell.edges)
        ]
    return found
