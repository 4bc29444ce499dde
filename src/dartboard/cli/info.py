"""Say what a cell or a search space is: its size, its shape, and a drawing of it.

With a CELL, the network that the cell makes in a stack of cells: parameters, multiply-adds, width, depth
and mean source index. Without one, what there is to choose in the space and in how many ways. --out draws
the cells, or all candidates of the space, to a file.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.text import Text

from dartboard.cli.arguments import UsageError, image_shape, positive
from dartboard.cli.render import Terminal, draw_cells, group_cells, join_names, labelled
from dartboard.errors import RunError
from dartboard.runs.lookup import find_genotype, home_of, space_of_run
from dartboard.space import (
    GENOTYPE_FORMATS,
    PUBLISHED,
    SPACES,
    Genotype,
    SearchSpace,
    Stack,
    adopt,
    count,
    count_cell,
    depth,
    load_space,
    mean_source,
    width,
)
from dartboard.space.spec import Cell
from dartboard.viz.terminal import draw_cell

ENDINGS = (".png", ".svg", ".pdf")
MAX_DIGITS = 60
"""Digits of a number that is written in full."""
SIZES = ("channels", "cells", "classes", "input")
"""Flags that set the size of a network."""


@dataclass(frozen=True)
class Build:
    """The numbers a network is built with, apart from its space."""

    channels: int
    classes: int
    input: tuple[int, int, int]


@dataclass(frozen=True)
class NetworkFacts:
    """The size of a network: parameters, and FLOPs for one image, two for a multiply-add."""

    parameters: int
    parameters_auxiliary: int
    flops: int


@dataclass(frozen=True)
class CellFacts:
    """The shape of a discrete cell as a graph."""

    width: float
    depth: int
    mean_source: float


@dataclass(frozen=True)
class ChoiceFacts:
    """What there is to choose in a cell."""

    nodes: int
    inputs: int
    edges: int
    ops: tuple[str, ...]
    architectures: int


@dataclass(frozen=True)
class SpaceFacts:
    """What there is to choose in a space; nodes and edges are those of its first cell."""

    architectures: int
    nodes: int
    edges: int
    ops: tuple[str, ...]
    cells: dict[str, ChoiceFacts]


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "cell",
        nargs="?",
        metavar="CELL",
        help=f"a published cell ({', '.join(PUBLISHED)}), a genotype in any notation, a file with one, or "
        "the directory of a run",
    )
    parser.add_argument(
        "--space",
        metavar="S",
        help=f"the space to describe, or whose stack the cell goes into: {', '.join(SPACES)}, or a file",
    )
    parser.add_argument(
        "--channels",
        type=positive,
        metavar="N",
        help="channels of the first cell (default: 36, or 16 where blocks reduce)",
    )
    parser.add_argument(
        "--cells",
        type=positive,
        metavar="N",
        help="cells in the stack (default: 20, or the space's own where blocks reduce)",
    )
    parser.add_argument("--classes", type=positive, metavar="N", help="number of classes (default: 10)")
    parser.add_argument(
        "--input", type=image_shape, metavar="CxHxW", help="shape of an image (default: 3x32x32)"
    )
    add_picture_flags(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Describe the cell, or the space if there is no cell."""
    sys.set_int_max_str_digits(0)  # a space of many unshared cells has a very long count
    check_picture(args)
    if args.cell is not None:
        _describe_cell(args)
    elif args.space is not None:
        _describe_space(args)
    else:
        raise UsageError("info needs a CELL or --space; see dartboard info --help")
    return 0


def _describe_cell(args: Namespace) -> None:
    genotype = find_genotype(args.cell)
    space = _space_of(genotype, args)
    drawing = draw(genotype, args)
    reducing = space.stack.reduce == "cell"
    build = Build(args.channels or (36 if reducing else 16), args.classes or 10, args.input or (3, 32, 32))
    network = network_facts(space, build)
    cells = {group: cell_facts(cell) for group, cell in space.groups}
    if args.json:
        facts = asdict(network) | asdict(next(iter(cells.values())))
        facts |= {"genotype": json.loads(GENOTYPE_FORMATS["json"].encode(genotype)), "space": space.name}
        facts |= {"cells": {group: asdict(cell) for group, cell in cells.items()}}
        print(json.dumps(facts | {"build": asdict(build), "stack": asdict(space.stack)}))
    else:
        print_cell(args.cell, space, build, network, cells)
        _print_drawing(drawing)


def _space_of(genotype: Genotype, args: Namespace) -> SearchSpace:
    """The space to build the genotype in: 20 cells where shared cells reduce, else as many as it has."""
    space = load_space(args.space) if args.space else space_of_run(args.cell) or home_of(genotype)
    stack = space.stack
    usual = 20 if stack.reduce == "cell" and stack.shared else stack.cells
    return adopt(space, genotype).resized(args.cells or usual)


def _describe_space(args: Namespace) -> None:
    idle = [f"--{name}" for name in SIZES if getattr(args, name) is not None]
    if idle:
        raise UsageError(f"{', '.join(idle)} needs a CELL: a space is described as it is")
    space = load_space(args.space)
    facts, drawing = space_facts(space), draw(space, args)
    if args.json:
        print(json.dumps({"space": space.name} | asdict(facts) | {"stack": asdict(space.stack)}))
    else:
        print_space(space, facts)
        _print_drawing(drawing)


def _print_drawing(file: Path | None) -> None:
    if file is not None:
        print(f"\nwritten to {file}")


def network_facts(space: SearchSpace, build: Build) -> NetworkFacts:
    """The size of the network of a space, counted on the meta device."""
    import torch

    from dartboard.nn import CellNet, NetConfig, count_flops, count_parameters

    config = NetConfig(channels=build.channels, classes=build.classes, input=build.input, auxiliary=True)
    with torch.device("meta"):
        net = CellNet(space, config)
    with_head = count_parameters(net, auxiliary=True)
    return NetworkFacts(count_parameters(net), with_head, count_flops(space, config))


def cell_facts(cell: Cell) -> CellFacts:
    """The shape of a cell."""
    return CellFacts(width(cell), depth(cell), mean_source(cell))


def choice_facts(cell: Cell) -> ChoiceFacts:
    """What there is to choose in a cell."""
    ops = tuple(dict.fromkeys(op for edge in cell.edges for op in edge.ops))
    return ChoiceFacts(cell.nodes, cell.inputs, len(cell.edges), ops, count_cell(cell))


def space_facts(space: SearchSpace) -> SpaceFacts:
    """What there is to choose in a space."""
    cells = {group: choice_facts(cell) for group, cell in space.groups}
    first = next(iter(cells.values()))
    return SpaceFacts(count(space), first.nodes, first.edges, space.ops, cells)


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
    """Raise UsageError before anything is computed if the drawing cannot be made or written."""
    out: Path | None = args.out
    if args.strengths and (out is None or args.cell is None):
        raise UsageError("--strengths needs the directory of a search as CELL, and --out FILE")
    if out is None:
        return
    if out.suffix not in ENDINGS:
        raise UsageError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}")
    if not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}; make it first")


def draw(cells: Genotype | SearchSpace, args: Namespace) -> Path | None:
    """Write the drawing that `--out` requests, and return its file; None without `--out`."""
    if args.out is None:
        return None
    from dartboard.viz.cells import cell_figure
    from dartboard.viz.figures import save_as

    if not args.strengths:
        return save_as(cell_figure(cells), args.out)
    space, weights = mixture_of(args.cell)
    return save_as(cell_figure(space, weights=weights), args.out)


def mixture_of(path: str) -> tuple[SearchSpace, dict[str, list[list[float]]]]:
    """The space of a search, and by group the weight of each op of each edge after the last epoch.

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
    """By group and edge, the strength of each op times that of the edge."""
    import numpy as np

    weights = {}
    for group, cell in space.groups:
        ops, edges = (np.array(strengths[group][key], dtype=float) for key in ("ops", "edges"))
        weights[group] = [
            (ops[index, : len(edge.ops)] * edges[index]).tolist() for index, edge in enumerate(cell.edges)
        ]
    return weights


def print_cell(
    name: str, space: SearchSpace, build: Build, network: NetworkFacts, cells: Mapping[str, CellFacts]
) -> None:
    """Print the shape of a cell and the size of its network."""
    terminal = Terminal()
    if name in PUBLISHED:
        terminal.write([Text(name, "bold"), Text(PUBLISHED[name].paper, "dim"), ""])
    terminal.write(_network_lines(space, build, network))
    terminal.write(_shape_lines(cells, terminal.width))
    terminal.write(["", *draw_cells(space.groups, terminal)])


def print_space(space: SearchSpace, facts: SpaceFacts) -> None:
    """Print what there is to choose in a space."""
    terminal = Terminal()
    terminal.write([Text(f"space {space.name}", "bold")])
    terminal.write(labelled("architectures", _number(facts.architectures)))
    terminal.write(labelled("stack", _describe_stack(space.stack)))
    terminal.write(labelled("ops", ", ".join(facts.ops), terminal.width))
    for cell, groups in group_cells(space.groups):
        drawing = draw_cell(cell, terminal.glyphs)
        terminal.write(["", _choice(groups, facts.cells[groups[0]]), *drawing])


def _network_lines(space: SearchSpace, build: Build, network: NetworkFacts) -> Iterator[Text]:
    shape = "x".join(map(str, build.input))
    auxiliary = network.parameters_auxiliary
    more = f" ({auxiliary:,} with the auxiliary head)" if auxiliary != network.parameters else ""
    yield from labelled("stack", f"{space.name}, {_describe_stack(space.stack)}")
    yield from labelled("network", f"{build.channels} channels, {build.classes} classes, input {shape}")
    yield from labelled("parameters", f"{network.parameters:,}{more}")
    yield from labelled("FLOPs", f"{network.flops:,} an image, or {network.flops // 2:,} multiply-adds")


def _shape_lines(cells: Mapping[str, CellFacts], width: int) -> Iterator[Text]:
    shapes = {
        "width": {group: f"{facts.width:g}c" for group, facts in cells.items()},
        "depth": {group: f"{facts.depth}" for group, facts in cells.items()},
        "mean source": {group: f"{facts.mean_source:g}" for group, facts in cells.items()},
    }
    for label, values in shapes.items():
        each = ", ".join(f"{group} {value}" for group, value in values.items())
        yield from labelled(
            label, each if len(set(values.values())) > 1 else next(iter(values.values())), width
        )


def _choice(groups: list[str], facts: ChoiceFacts) -> Text:
    each = "each " if len(groups) > 1 else ""
    text = f"  {each}{facts.nodes} nodes, {facts.edges} edges, {_number(facts.architectures)} ways to choose"
    return Text.assemble((join_names(groups), "bold"), (text, "dim"))


def _number(number: int) -> str:
    """A count in full, with its order of magnitude if it is large; that alone if it has very many digits."""
    if number < 10**6:
        return f"{number:,}"
    size = f"about {Decimal(number):.1e}".replace("e+", "e")
    return f"{number:,} ({size})" if number < 10**MAX_DIGITS else size


def _describe_stack(stack: Stack) -> str:
    between = {"cell": "reduction cells", "residual": "residual blocks", "pool": "max-pooling"}[stack.reduce]
    cells = f"{stack.cells} cell{'s' if stack.cells > 1 else ''}"
    each = "" if stack.reduce == "cell" else " a stage"
    unshared = "" if stack.shared else ", each with choices of its own"
    return f"{cells}{each}{unshared}, {stack.stages} stages joined by {between}"
