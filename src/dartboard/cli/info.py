"""Say what a cell or a search space is: its size, its shape, and a drawing of it.

With a CELL, the network that the cell makes in a stack of cells: parameters, multiply-adds, width, depth
and mean source index. Without one, what there is to choose in the space and in how many ways. --out draws
the cells, or all candidates of the space, to a file.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dartboard.cli.arguments import UsageError, image_shape, positive
from dartboard.cli.render import Terminal, draw_cells, group_cells, join_names, labeled, print_json
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
from dartboard.viz.terminal import draw_cell

if TYPE_CHECKING:
    from dartboard.nn.costs import NetworkCosts

ENDINGS = (".png", ".svg", ".pdf")
MAX_DIGITS = 60
"""Digits of a number that is written in full."""
SIZES = ("channels", "cells", "classes", "input")
"""Flags that set the size of a network."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "cell",
        nargs="?",
        metavar="CELL",
        help=f"a published cell ({', '.join(PUBLISHED)}), a genotype in any notation, a file with one, or "
        "the directory of a run",
    )
    add(
        "--space",
        metavar="S",
        help=f"the space to describe, or whose stack the cell goes into: {', '.join(SPACES)}, or a file",
    )
    about = "channels of the first cell (default: 36, or 16 where blocks reduce)"
    add("--channels", type=positive, metavar="N", help=about)
    about = "cells in the stack (default: 20, or the space's own where blocks reduce)"
    add("--cells", type=positive, metavar="N", help=about)
    add("--classes", type=positive, metavar="N", help="number of classes (default: 10)")
    add("--input", type=image_shape, metavar="CxHxW", help="shape of an image (default: 3x32x32)")
    add("--out", type=Path, metavar="FILE", help=f"draw it to a file ({', '.join(ENDINGS)})")
    about = "draw all candidates of a search, each as thick as it was strong after the last epoch"
    add("--strengths", action="store_true", help=about)
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Describe the cell, or the space if there is no cell."""
    sys.set_int_max_str_digits(0)  # a space of many unshared cells has a very long count
    out: Path | None = args.out
    if args.strengths and (out is None or args.cell is None):
        raise UsageError("--strengths needs the directory of a search as CELL, and --out FILE")
    if out is not None and out.suffix not in ENDINGS:
        raise UsageError(f"--out {out}: the ending must be one of {', '.join(ENDINGS)}")
    if out is not None and not out.parent.is_dir():
        raise UsageError(f"--out {out}: there is no folder {out.parent}; make it first")
    if args.cell is not None:
        _describe_cell(args)
    elif args.space is not None:
        _describe_space(args)
    else:
        raise UsageError("info needs a CELL or --space; see dartboard info --help")
    if out is not None and not args.json:
        print(f"\nwritten to {out}")
    return 0


def _describe_cell(args: Namespace) -> None:
    """Print what the network of a cell is, by default with 20 cells if shared cells reduce."""
    genotype = find_genotype(args.cell)
    space = load_space(args.space) if args.space else space_of_run(args.cell) or home_of(genotype)
    reducing = space.stack.reduce == "cell"
    usual = 20 if reducing and space.stack.shared else space.stack.cells
    space = adopt(space, genotype).resized(args.cells or usual)
    draw(genotype, args)
    from dartboard.nn.costs import network_costs
    from dartboard.nn.network import NetConfig

    build: dict[str, Any] = {"channels": args.channels or (36 if reducing else 16)}
    build |= {"classes": args.classes or 10, "input": args.input or (3, 32, 32)}
    costs = network_costs(space, NetConfig(**build, auxiliary=True))
    shapes = {
        group: {"width": width(cell), "depth": depth(cell), "mean_source": mean_source(cell)}
        for group, cell in space.groups
    }
    if args.json:
        facts = asdict(costs) | next(iter(shapes.values()))
        facts |= {"genotype": json.loads(GENOTYPE_FORMATS["json"].encode(genotype)), "space": space.name}
        print_json(facts | {"cells": shapes, "build": build, "stack": asdict(space.stack)})
    else:
        print_cell(args.cell, space, build, costs, shapes)


def _describe_space(args: Namespace) -> None:
    unused = [f"--{name}" for name in SIZES if getattr(args, name) is not None]
    if unused:
        raise UsageError(f"{', '.join(unused)} needs a CELL: a space is described as it is")
    space = load_space(args.space)
    facts = space_facts(space)
    draw(space, args)
    if args.json:
        print_json({"space": space.name} | facts | {"stack": asdict(space.stack)})
    else:
        print_space(space, facts)


def space_facts(space: SearchSpace) -> dict[str, Any]:
    """What there is to choose in a space and in each of its cells; nodes and edges are of the first cell."""
    cells = {
        group: {
            "nodes": cell.nodes,
            "inputs": cell.inputs,
            "edges": len(cell.edges),
            "ops": tuple(dict.fromkeys(op for edge in cell.edges for op in edge.ops)),
            "architectures": count_cell(cell),
        }
        for group, cell in space.groups
    }
    first = next(iter(cells.values()))
    facts = {"architectures": count(space), "nodes": first["nodes"], "edges": first["edges"]}
    return facts | {"ops": space.ops, "cells": cells}


def draw(cells: Genotype | SearchSpace, args: Namespace) -> None:
    """Write the drawing that `--out` requests, if it does."""
    if args.out is None:
        return
    from dartboard.viz.cells import cell_figure
    from dartboard.viz.figures import save_as

    if args.strengths:
        space, weights = mixture_of(args.cell)
        save_as(cell_figure(space, weights=weights), args.out)
    else:
        save_as(cell_figure(cells), args.out)


def mixture_of(path: str) -> tuple[SearchSpace, dict[str, list[list[float]]]]:
    """The space of a search, and by group the weight of each op of each edge after the last epoch.

    A weight is the strength of the op times that of the edge.

    Raises:
        UsageError: If it is not a search.
        RunError: If no epoch is over, or its strengths are damaged.
    """
    import numpy as np

    from dartboard.runs import RunReader, is_run

    run = RunReader.read(path) if is_run(Path(path)) else None
    if run is None or run.config.get("kind", "search") != "search":
        raise UsageError(f"--strengths needs the directory of a search; {path} is none")
    epochs = run.metrics()
    if not epochs:
        raise RunError(f"the run {path} has no strengths yet; its first epoch is not over")
    space, number = RunReader.read(path).space(), epochs[-1]["epoch"]
    weights = {}
    try:
        strengths = run.epoch(number)["strengths"]
        for group, cell in space.groups:
            ops, edges = (np.array(strengths[group][key], dtype=float) for key in ("ops", "edges"))
            weights[group] = [
                (ops[index, : len(edge.ops)] * edges[index]).tolist() for index, edge in enumerate(cell.edges)
            ]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise RunError(f"{path}: the strengths of epoch {number} cannot be read: {error!r}") from None
    return space, weights


def print_cell(
    name: str,
    space: SearchSpace,
    build: Mapping[str, Any],
    costs: "NetworkCosts",
    shapes: Mapping[str, Mapping[str, float]],
) -> None:
    """Print the shape of a cell and the size of its network; nothing is left to choose in `space`."""
    terminal = Terminal()
    if name in PUBLISHED:
        terminal.write([Text(name, "bold"), Text(PUBLISHED[name].paper, "dim"), ""])
    size = "x".join(map(str, build["input"]))
    with_head = costs.parameters_auxiliary
    more = f" ({with_head:,} with the auxiliary head)" if with_head != costs.parameters else ""
    values = {
        "stack": f"{space.name}, {_describe_stack(space.stack)}",
        "network": f"{build['channels']} channels, {build['classes']} classes, input {size}",
        "parameters": f"{costs.parameters:,}{more}",
        "FLOPs": f"{costs.flops:,} an image, or {costs.flops // 2:,} multiply-adds",
    }
    for label, value in values.items():
        terminal.write(labeled(label, value))
    forms = {"width": "{:g}c", "depth": "{}", "mean source": "{:g}"}
    for label, form in forms.items():
        texts = {group: form.format(shape[label.replace(" ", "_")]) for group, shape in shapes.items()}
        each = ", ".join(f"{group} {text}" for group, text in texts.items())
        text = each if len(set(texts.values())) > 1 else next(iter(texts.values()))
        terminal.write(labeled(label, text, terminal.width))
    terminal.write(["", *draw_cells(space.groups, terminal)])


def print_space(space: SearchSpace, facts: Mapping[str, Any]) -> None:
    """Print what there is to choose in a space, see `space_facts`."""
    terminal = Terminal()
    terminal.write([Text(f"space {space.name}", "bold")])
    terminal.write(labeled("architectures", _number(facts["architectures"])))
    terminal.write(labeled("stack", _describe_stack(space.stack)))
    terminal.write(labeled("ops", ", ".join(facts["ops"]), terminal.width))
    for cell, groups in group_cells(space.groups):
        choice, each = facts["cells"][groups[0]], "each " if len(groups) > 1 else ""
        ways = f"{_number(choice['architectures'])} ways to choose"
        sizes = f"  {each}{choice['nodes']} nodes, {choice['edges']} edges, {ways}"
        head = Text.assemble((join_names(groups), "bold"), (sizes, "dim"))
        terminal.write(["", head, *draw_cell(cell, terminal.glyphs)])


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
