"""Genotypes as JSON: `{"normal": {"inputs": 2, "edges": [["sep_conv_3x3", 0, 2], ...], ...}, ...}`.

The only format that supports every genotype. An edge is `[op, source, target]`; `nodes` stands there only
when it is more than the edges and the output need, `joins` and `concat` only when not empty.
"""

import json

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from dartboard.errors import GenotypeError, SpaceError, validation_message
from dartboard.space.genotype import Genotype
from dartboard.space.spec import Cell, Edge

FORM = '{"normal": {"inputs": 2, "edges": [["sep_conv_3x3", 0, 2], ...], "output": [2, ...]}, ...}'


class _CellText(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    inputs: int
    edges: tuple[tuple[str, int, int], ...]
    output: tuple[int, ...]
    nodes: int | None = None
    joins: tuple[int, ...] = ()
    concat: tuple[int, ...] = ()


_TEXT = TypeAdapter(dict[str, _CellText])


def to_json(genotype: Genotype) -> str:
    """The genotype as JSON on one line."""
    cells = {}
    for group, cell in genotype.groups:
        edges = [[edge.ops[0], edge.source, edge.target] for edge in cell.edges]
        text: dict[str, object] = {"inputs": cell.inputs, "edges": edges, "output": list(cell.output)}
        if cell.nodes != _fewest_nodes(cell.inputs, cell.edges, cell.output):
            text["nodes"] = cell.nodes
        for key, nodes in (("joins", cell.joins), ("concat", cell.concat)):
            if nodes:
                text[key] = list(nodes)
        cells[group] = text
    return json.dumps(cells)


def from_json(text: str) -> Genotype:
    """The genotype of a JSON text.

    Raises:
        GenotypeError: If the text is not JSON, a key is missing or unknown, or a cell is impossible.
    """
    try:
        texts = _TEXT.validate_json(text)
    except ValidationError as error:
        keys = {"": tuple(_CellText.model_fields)}
        raise GenotypeError(f"genotype JSON: {validation_message(error, keys)}") from None
    groups = []
    for group, cell in texts.items():
        try:
            edges = tuple(Edge(source, target, (op,)) for op, source, target in cell.edges)
            nodes = _fewest_nodes(cell.inputs, edges, cell.output) if cell.nodes is None else cell.nodes
            read = Cell(cell.inputs, nodes, edges, cell.output, joins=cell.joins, concat=cell.concat)
        except SpaceError as error:
            raise GenotypeError(f"genotype JSON: {group}: {error}") from None
        groups.append((group, read))
    return Genotype(tuple(groups))


def _fewest_nodes(inputs: int, edges: tuple[Edge, ...], output: tuple[int, ...]) -> int:
    return 1 + max((inputs - 1, *(edge.target for edge in edges), *output))
