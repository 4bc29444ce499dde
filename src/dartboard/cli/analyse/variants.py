"""Draw variants of a cell: other connections, other operations, or the widest and shallowest of its kind.

Of connections, every op reads another node before it, nodes and ops stay; of operations, every edge has
another op, connections stay (Shu et al., 2020, A.2). The widest connects all nodes to the inputs alone. The
same seed gives the same variants, all different. What is printed can be given to other commands as a CELL.
"""

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import asdict

from rich.text import Text

from dartboard.analysis.topology import shapes_of
from dartboard.analysis.variants import random_connections, random_operations, widest
from dartboard.cli.analyse.networks import candidates
from dartboard.cli.arguments import UsageError, positive
from dartboard.cli.render import Terminal, draw_cells, print_json
from dartboard.errors import GenotypeError
from dartboard.runs.lookup import find_genotype
from dartboard.space import GENOTYPE_FORMATS, SPACES, Genotype

KINDS = ("connections", "operations", "widest")
COUNT = 5


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("cell", metavar="CELL", help="a published cell, a genotype, a file with one, or a run")
    add("--kind", choices=KINDS, default=KINDS[0], help="what varies (default: connections)")
    about = f"how many (default: {COUNT}); of the widest there is one"
    add("--count", type=positive, metavar="N", help=about)
    add("--seed", type=_seed, default=0, metavar="N", help="chooses which (default: 0)")
    add("--only", metavar="ARCH", help="vary this cell alone, such as normal (default: all)")
    about = "connections: a node reads different nodes, as in DARTS' space"
    add("--no-repeats", action="store_true", help=about)
    add("--space", metavar="S", help=f"operations: whose ops are candidates: {', '.join(SPACES)}, or a file")
    add("--json", action="store_true", help="print one JSON object instead")


def run(args: Namespace) -> int:
    """Print the variants, and sketch them."""
    unused = {
        "--no-repeats": args.no_repeats and args.kind != "connections",
        "--space": args.space is not None and args.kind != "operations",
        "--count": args.count is not None and args.kind == "widest",
    }
    for flag, is_set in unused.items():
        if is_set:
            raise UsageError(f"{flag} says nothing about variants of kind {args.kind}; leave it out")
    variants = _variants(find_genotype(args.cell), args)
    if args.json:
        facts = [
            {
                "genotype": json.loads(GENOTYPE_FORMATS["json"].encode(variant)),
                "text": text_of(variant),
                "cells": {group: asdict(shape) for group, shape in shapes_of(variant).items()},
            }
            for variant in variants
        ]
        print_json({"kind": args.kind, "seed": args.seed, "variants": facts})
        return 0
    terminal = Terminal()
    for number, variant in enumerate(variants, 1):
        shapes = (f"{group} {shape.width:.3g}c, {shape.depth}" for group, shape in shapes_of(variant).items())
        name = args.kind if args.kind == "widest" else f"{args.kind} {number}"
        head = Text.assemble((name, "bold"), (f"  width, depth: {', '.join(shapes)}", "dim"))
        terminal.write([head, text_of(variant), *draw_cells(variant.groups, terminal), ""])
    return 0


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise ArgumentTypeError(f"expected a whole number from 0 on, got {text!r}")
    return int(text)


def _variants(genotype: Genotype, args: Namespace) -> list[Genotype]:
    groups = None if args.only is None else [args.only]
    if args.kind == "widest":
        return [widest(genotype, groups=groups)]
    count = args.count or COUNT
    if args.kind == "operations":
        ops = candidates(args.cell, genotype, args.space)
        return random_operations(genotype, count, seed=args.seed, ops=ops, groups=groups)
    return random_connections(genotype, count, seed=args.seed, repeats=not args.no_repeats, groups=groups)


def text_of(genotype: Genotype) -> str:
    """The genotype in the form of its benchmark where one says it, else in JSON."""
    for name in ("darts", "nb201", "nb101"):
        try:
            return GENOTYPE_FORMATS[name].encode(genotype)
        except GenotypeError:
            continue
    return GENOTYPE_FORMATS["json"].encode(genotype)
