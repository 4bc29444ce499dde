"""Say what a cell or a search space is: its size, its shape, and a drawing of it.

With a CELL, the network that the cell makes in a stack of cells: parameters, multiply-adds, width, depth
and mean source index. Without one, what there is to choose in the space and in how many ways. --out draws
the cells, or all candidates of the space, to a file.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from dartboard.cli import report
from dartboard.cli.arguments import UsageError, image_shape, positive
from dartboard.cli.facts import Build, cell_facts, network_facts, space_facts
from dartboard.cli.lookup import find_genotype, home_of, space_of_run
from dartboard.cli.picture import add_picture_flags, check_picture, draw
from dartboard.space import GENOTYPE_FORMATS, PUBLISHED, SPACES, Genotype, SearchSpace, adopt, load_space

SIZES = ("channels", "cells", "classes", "input")
"""The options that say how large a network is."""


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
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
    parser.add_argument("--classes", type=positive, metavar="N", help="classes to tell apart (default: 10)")
    parser.add_argument(
        "--input", type=image_shape, metavar="CxHxW", help="shape of an image (default: 3x32x32)"
    )
    add_picture_flags(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Describe the cell, or the space where there is no cell."""
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
    space = _stack(genotype, args)
    drawn = draw(genotype, args)
    reducing = space.stack.reduce == "cell"
    build = Build(args.channels or (36 if reducing else 16), args.classes or 10, args.input or (3, 32, 32))
    network = network_facts(space, build)
    cells = {arch: cell_facts(cell) for arch, cell in space.archs}
    if args.json:
        facts = asdict(network) | asdict(next(iter(cells.values())))
        facts |= {"genotype": json.loads(GENOTYPE_FORMATS["json"].encode(genotype)), "space": space.name}
        facts |= {"cells": {arch: asdict(cell) for arch, cell in cells.items()}}
        print(json.dumps(facts | {"build": asdict(build), "stack": asdict(space.stack)}))
    else:
        report.print_cell(args.cell, space, build, network, cells)
        _say(drawn)


def _stack(genotype: Genotype, args: Namespace) -> SearchSpace:
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
    facts, drawn = space_facts(space), draw(space, args)
    if args.json:
        print(json.dumps({"space": space.name} | asdict(facts) | {"stack": asdict(space.stack)}))
    else:
        report.print_space(space, facts)
        _say(drawn)


def _say(drawn: Path | None) -> None:
    if drawn is not None:
        print(f"\nwritten to {drawn}")
