import json

import pytest

from dartboard.errors import GenotypeError
from dartboard.space import Cell, Edge, Genotype
from dartboard.space.formats import from_json, to_json

EDGES = (Edge(0, 2, ("a",)), Edge(0, 2, ("a",)), Edge(1, 2, ("b",)))


def test_what_is_as_usual_is_left_out():
    cell = Cell(2, 3, EDGES, (2,))
    text = to_json(Genotype((("normal", cell),)))
    assert (
        text == '{"normal": {"inputs": 2, "edges": [["a", 0, 2], ["a", 0, 2], ["b", 1, 2]], "output": [2]}}'
    )
    unusual = Cell(2, 5, EDGES, (2,), joins=(2,), concat=(2,))
    assert json.loads(to_json(Genotype((("x", unusual),))))["x"].keys() == {
        "inputs", "edges", "output", "nodes", "joins", "concat",
    }  # fmt: skip


@pytest.mark.parametrize(
    "cell",
    [
        Cell(2, 3, EDGES, (2,)),
        Cell(2, 7, EDGES, (2, 3), joins=(2,), concat=(3,)),
        Cell(1, 2, (), (1,)),
        Cell(1, 2, (Edge(0, 1, ('"\n\\ä',)),), (1,)),
    ],
)
def test_any_cell_can_be_said(cell):
    genotype = Genotype((("b", cell), ("a", cell)))
    assert from_json(to_json(genotype)) == genotype


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "invalid JSON: EOF while parsing a value at line 1 column 0"),
        ('{"a": ', "invalid JSON: EOF .* line 1 column 6"),
        ("[]", r"expected an object, got \[\]"),
        ("{}", "at least one cell"),
        ('{"a": {"inputs": 1, "edges": []}}', "a.output: field required"),
        (
            '{"a": {"inputs": 1, "edgse": [], "output": [1]}}',
            "a: no key called 'edgse'; did you mean 'edges'",
        ),
        ('{"a": {"inputs": "1", "edges": [], "output": [1]}}', "a.inputs: expected a valid integer, got '1'"),
        (
            '{"a": {"inputs": true, "edges": [], "output": [1]}}',
            "a.inputs: expected a valid integer, got True",
        ),
        (
            '{"a": {"inputs": 1, "edges": [["x", 0, 1], ["y", 0]], "output": [1]}}',
            "a.edges.1.2: field required",
        ),
        (
            '{"a": {"inputs": 1, "edges": [["x", 0, 1.5]], "output": [1]}}',
            "a.edges.0.2: expected a valid integer",
        ),
        ('{"a": {"inputs": 1, "edges": [["x", 1, 0]], "output": [1]}}', "a: edge 1 -> 0 enters an input"),
        ('{"a": {"inputs": 1, "edges": [["x", 2, 1]], "output": [2]}}', "a: edge 2 -> 1 runs backwards"),
        (
            '{"a": {"inputs": 1, "edges": [["", 0, 1]], "output": [1]}}',
            "a: edge 0 -> 1 has an op without a name",
        ),
        (
            '{"a": {"inputs": 1, "edges": [["x", 0, 3]], "output": [1], "nodes": 2}}',
            "a: edge 0 -> 3 leaves the cell",
        ),
        ('{"a": {"inputs": 9, "edges": [], "output": [1]}}', "a: a cell has 1 or 2 inputs, not 9"),
    ],
)
def test_a_malformed_text_is_refused_with_the_place(text, message):
    with pytest.raises(GenotypeError, match=message):
        from_json(text)
