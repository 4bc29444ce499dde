"""Genotypes as NAS-Bench-201 writes them: `|nor_conv_3x3~0|+|none~0|skip_connect~1|+...`.

Nodes are joined by `+`; a node lists one `op~source` for each node before it, in order. The form is
not bound to four nodes.
"""

import re

from dartboard.errors import GenotypeError, SpaceError, join_names
from dartboard.space.genotype import Genotype
from dartboard.space.spec import NONE, Cell, Edge

FORM = "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|"
_GROUP = "cell"
_OP = re.compile(r"[^|~+\s]+")


def to_nb201(genotype: Genotype) -> str:
    """The genotype as NAS-Bench-201's text; an edge that is not there is written as `none`.

    Raises:
        GenotypeError: If there is more than one cell, or one that does not have one input, at most one
            edge between two nodes, sums at its nodes and the last node as its output.
    """
    if list(genotype.cells) != [_GROUP]:
        raise GenotypeError(
            f"a NAS-Bench-201 text has one {_GROUP!r}; the genotype has {join_names(genotype.cells)}"
        )
    cell = genotype.cells[_GROUP]
    if cell.inputs != 1 or cell.joins or cell.concat or cell.output != (cell.nodes - 1,):
        raise GenotypeError(
            f"{_GROUP}: a NAS-Bench-201 text says cells with one input, sums and the last node as output"
        )
    ops: dict[tuple[int, int], str] = {}
    for edge in cell.edges:
        if (edge.source, edge.target) in ops:
            raise GenotypeError(f"{_GROUP}, edge {edge}: a NAS-Bench-201 text has one edge between two nodes")
        if not _OP.fullmatch(edge.ops[0]):
            raise GenotypeError(
                f"{_GROUP}, edge {edge}: {edge.ops[0]!r} cannot stand in a NAS-Bench-201 text"
            )
        ops[edge.source, edge.target] = edge.ops[0]
    return "+".join(_write_node(ops, node) for node in cell.inner)


def _write_node(ops: dict[tuple[int, int], str], node: int) -> str:
    return "|" + "".join(f"{ops.get((source, node), NONE)}~{source}|" for source in range(node))


def from_nb201(text: str) -> Genotype:
    """The genotype of a NAS-Bench-201 text.

    Raises:
        GenotypeError: If the text is anything else; says at which node and edge, and what was expected.
    """
    nodes = text.strip().split("+")
    edges = []
    for target, node in enumerate(nodes, start=1):
        place = f"node {target}"
        if len(node) < 2 or not (node.startswith("|") and node.endswith("|")):
            raise _wrong(place, f"expected '{_write_node({}, target)}' with its ops, got {node[:60]!r}")
        parts = node[1:-1].split("|")
        if len(parts) != target:
            raise _wrong(place, f"expected {target} edges, one from each node before it; got {len(parts)}")
        for source, part in enumerate(parts):
            op, mark, number = part.partition("~")
            if not _OP.fullmatch(op) or mark != "~" or number != str(source):
                raise _wrong(f"{place}, edge {source}", f"expected 'op~{source}', got {part[:60]!r}")
            edges.append(Edge(source, target, (op,)))
    try:
        return Genotype(((_GROUP, Cell(1, len(nodes) + 1, tuple(edges), (len(nodes),))),))
    except SpaceError as error:
        raise _wrong(_GROUP, str(error)) from None


def _wrong(place: str, message: str) -> GenotypeError:
    return GenotypeError(f"NAS-Bench-201 genotype: {place}: {message}")
