"""Genotypes as NAS-Bench-101 has them: an upper triangular matrix of edges and one op per vertex.

Vertex 0 is the input and the last one the output. Here such a cell has the form of
`catalog.node_ops_cell`: vertex v is the nodes 2v - 1 (what enters it, joined) and 2v (its op's output).
"""

import json
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from dartboard.errors import GenotypeError, UnknownNameError, join_names, validation_message
from dartboard.space.genotype import Genotype
from dartboard.space.spec import Cell, Edge

FORM = '{"matrix": [[0, 1, ...], ...], "ops": ["input", "conv3x3-bn-relu", ..., "output"]}'
INPUT, OUTPUT = "input", "output"
OPS = {
    "conv3x3-bn-relu": "conv_bn_relu_3x3",
    "conv1x1-bn-relu": "conv_bn_relu_1x1",
    "maxpool3x3": "max_pool_3x3",
}
"""The benchmark's ops under their names here."""

Matrix = tuple[tuple[int, ...], ...]
_GROUP = "cell"
_LABELS = {ours: label for label, ours in OPS.items()}


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    matrix: Matrix
    ops: tuple[str, ...]


def from_nb101(matrix: Sequence[Sequence[int]], ops: Sequence[str]) -> Genotype:
    """The genotype of a NAS-Bench-101 cell; loose ends stay, `prune_nb101` takes them off.

    Args:
        matrix: `matrix[u][v]` is 1 where there is an edge from vertex u to vertex v > u, else 0.
        ops: One op per vertex, the first 'input' and the last 'output'.

    Raises:
        GenotypeError: If matrix or ops are malformed, or the output cannot be reached from the input.
    """
    matrix = _checked(matrix, ops)
    if 0 not in _ancestors(matrix):
        raise _wrong("matrix", "the output cannot be reached from the input")
    return Genotype(((_GROUP, _cell(2 * len(ops) - 2, tuple(_edges(matrix, ops)))),))


def _cell(nodes: int, edges: tuple[Edge, ...]) -> Cell:
    joins = tuple(range(1, nodes, 2))
    return Cell(1, nodes, edges, output=joins[-1:], joins=joins, concat=joins[-1:])


def _edges(matrix: Matrix, ops: Sequence[str]) -> Iterator[Edge]:
    for vertex in range(1, len(ops)):
        join = 2 * vertex - 1
        for source in range(vertex):
            if matrix[source][vertex]:
                yield Edge(2 * source, join, ("skip_connect" if source else "conv_bn_relu_1x1",))
        if ops[vertex] != OUTPUT:
            yield Edge(join, join + 1, (OPS[ops[vertex]],))


def to_nb101(genotype: Genotype) -> tuple[Matrix, tuple[str, ...]]:
    """The matrix and the ops of a genotype in the form of `catalog.node_ops_cell`.

    Raises:
        GenotypeError: If the genotype has another form; says which edge does not fit.
    """
    if list(genotype.cells) != [_GROUP]:
        raise GenotypeError(
            f"a NAS-Bench-101 cell is one {_GROUP!r}; the genotype has {join_names(genotype.cells)}"
        )
    cell = genotype.cells[_GROUP]
    if cell.nodes % 2 or cell != _cell(cell.nodes, cell.edges):
        raise GenotypeError(
            f"{_GROUP}: a NAS-Bench-101 cell has one input, a join at odd nodes and concatenates at the last"
        )
    pairs = {(edge.source // 2, (edge.target + 1) // 2) for edge in cell.edges if edge.target % 2}
    op_names = {edge.target // 2: edge.ops[0] for edge in cell.edges if edge.target % 2 == 0}
    vertices = range(cell.nodes // 2 + 1)
    matrix = tuple(tuple(int((source, target) in pairs) for target in vertices) for source in vertices)
    inner = (_LABELS.get(op_names.get(vertex, ""), "maxpool3x3") for vertex in vertices[1:-1])
    ops = (INPUT, *inner, OUTPUT)
    missing = set(_edges(matrix, ops)).symmetric_difference(cell.edges)
    if missing or len(set(cell.edges)) < len(cell.edges):
        edge = min(missing or cell.edges, key=lambda edge: (edge.target, edge.source))
        node, ours = edge.target, ", ".join(_LABELS)
        rule = (
            "one edge at most between two vertices, conv_bn_relu_1x1 from the input, else skip_connect"
            if node % 2
            else f"one edge from node {node - 1} to node {node}, with one of {ours}"
        )
        raise GenotypeError(f"{_GROUP}, edge {edge}: a NAS-Bench-101 cell has {rule}")
    return matrix, ops


def prune_nb101(matrix: Sequence[Sequence[int]], ops: Sequence[str]) -> tuple[Matrix, tuple[str, ...]]:
    """The cell without loose ends: vertices on no path from the input to the output are taken out.

    Raises:
        GenotypeError: If matrix or ops are malformed, or no path is left.
    """
    matrix = _checked(matrix, ops)
    turned = tuple(zip(*(row[::-1] for row in matrix[::-1]), strict=True))
    descendants = {len(ops) - 1 - vertex for vertex in _ancestors(turned)}
    vertices = sorted(_ancestors(matrix) & descendants)
    if 0 not in vertices:
        raise _wrong("matrix", "the output cannot be reached from the input")
    return tuple(tuple(matrix[u][v] for v in vertices) for u in vertices), tuple(ops[v] for v in vertices)


def _ancestors(matrix: Matrix) -> set[int]:
    """The vertices with a path to the last one, itself included."""
    ancestors = {len(matrix) - 1}
    for vertex in reversed(range(len(matrix) - 1)):
        if any(matrix[vertex][later] for later in ancestors):
            ancestors.add(vertex)
    return ancestors


def _checked(matrix: Sequence[Sequence[int]], ops: Sequence[str]) -> Matrix:
    """The matrix as tuples, once it and the ops are known to be well-formed."""
    if len(ops) < 2:
        raise _wrong("ops", f"expected at least 'input' and 'output', got {list(ops)}")
    for index, op in enumerate(ops):
        end = {0: INPUT, len(ops) - 1: OUTPUT}.get(index)
        if end and op != end:
            raise _wrong(f"ops[{index}]", f"expected {end!r}, got {op!r}")
        if not end and op not in OPS:
            raise _wrong(f"ops[{index}]", str(UnknownNameError("op of this benchmark", op, OPS)))
    if len(matrix) != len(ops):
        raise _wrong("matrix", f"expected {len(ops)} rows, one for each of the ops; got {len(matrix)}")
    for index, row in enumerate(matrix):
        if len(row) != len(ops):
            raise _wrong(f"matrix[{index}]", f"expected {len(ops)} entries, got {len(row)}")
        for column, entry in enumerate(row):
            if entry not in ((0, 1) if column > index else (0,)):
                expected = "0 or 1" if column > index else "0 on and below the diagonal"
                raise _wrong(f"matrix[{index}][{column}]", f"expected {expected}, got {entry}")
    return tuple(tuple(int(entry) for entry in row) for row in matrix)


def to_nb101_text(genotype: Genotype) -> str:
    """Matrix and ops of the genotype as JSON on one line."""
    matrix, ops = to_nb101(genotype)
    return json.dumps({"matrix": matrix, "ops": ops})


def from_nb101_text(text: str) -> Genotype:
    """The genotype whose matrix and ops a JSON text gives."""
    try:
        cell = _Text.model_validate_json(text)
    except ValidationError as error:
        raise GenotypeError(
            f"NAS-Bench-101 genotype: {validation_message(error, {'': ('matrix', 'ops')})}"
        ) from None
    return from_nb101(cell.matrix, cell.ops)


def _wrong(place: str, message: str) -> GenotypeError:
    return GenotypeError(f"NAS-Bench-101 genotype: {place}: {message}")
