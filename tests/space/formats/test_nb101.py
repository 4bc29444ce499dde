from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dartboard.errors import GenotypeError
from dartboard.space import (
    Cell,
    Edge,
    Genotype,
    enumerate_genotypes,
    from_nb101,
    get_published,
    get_space,
    on_path,
    prune_nb101,
    restrict,
    sample,
    to_nb101,
)
from dartboard.space.formats import from_nb101_text

C3, C1, MP = "conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3"
MATRIX = ((0, 1, 1, 0), (0, 0, 1, 1), (0, 0, 0, 1), (0, 0, 0, 0))
OPS = ("input", C3, MP, "output")


def test_a_matrix_becomes_joins_and_edges_with_ops():
    genotype = from_nb101(MATRIX, OPS)
    cell = genotype.cells["cell"]
    assert [(edge.source, edge.target, edge.ops[0]) for edge in cell.edges] == [
        (0, 1, "conv_bn_relu_1x1"),
        (1, 2, "conv_bn_relu_3x3"),
        (0, 3, "conv_bn_relu_1x1"),
        (2, 3, "skip_connect"),
        (3, 4, "max_pool_3x3"),
        (2, 5, "skip_connect"),
        (4, 5, "skip_connect"),
    ]
    assert cell.output == cell.concat == (5,)
    assert to_nb101(genotype) == (MATRIX, OPS)


def test_arrays_are_accepted():
    assert from_nb101(np.array(MATRIX), list(OPS)) == from_nb101(MATRIX, OPS)


def test_the_smallest_cell_is_a_single_edge():
    genotype = from_nb101([[0, 1], [0, 0]], ["input", "output"])
    assert to_nb101(genotype) == (((0, 1), (0, 0)), ("input", "output"))


@pytest.mark.parametrize("name", ["oneshot1", "oneshot2", "oneshot3"])
def test_the_cells_of_the_one_shot_spaces_have_this_form(name, rng):
    space = get_space(name)
    for _ in range(20):
        genotype = sample(space, rng)
        matrix, ops = to_nb101(genotype)
        assert from_nb101(matrix, ops) == genotype
        assert sum(map(sum, matrix)) == 9
        assert restrict(space, from_nb101(matrix, ops)).discrete


def test_pruning_takes_off_vertices_on_no_path():
    loose = [
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0],  # leads nowhere
        [0, 0, 0, 0, 0, 1],  # comes from nowhere
        [0, 0, 0, 0, 0, 0],  # alone
        [0, 0, 0, 0, 0, 0],
    ]
    ops = ["input", C3, C1, MP, C3, "output"]
    assert prune_nb101(loose, ops) == (((0, 1, 0), (0, 0, 1), (0, 0, 0)), ("input", C3, "output"))
    assert prune_nb101(MATRIX, OPS) == (MATRIX, OPS)


def test_pruning_keeps_what_is_on_a_path(rng):
    for _ in range(50):
        genotype = sample(get_space("oneshot3"), rng)
        pruned, _ = prune_nb101(*to_nb101(genotype))
        joins = [node for node in on_path(genotype.cells["cell"]) if node % 2]
        assert len(pruned) == len(joins) + 1  # and the input
        assert prune_nb101(*prune_nb101(*to_nb101(genotype))) == prune_nb101(*to_nb101(genotype))


def signature(matrix, ops):
    """The same for cells that differ in the order of their vertices only (and for few others)."""
    rows, columns = np.sum(matrix, axis=1), np.sum(matrix, axis=0)
    own = [(op, int(row), int(column)) for op, row, column in zip(ops, rows, columns, strict=True)]
    after = [sorted(own[v] for v in np.flatnonzero(row)) for row in np.asarray(matrix)]
    return tuple(sorted(map(repr, zip(own, after, strict=True))))


def stored(table, index):
    """Row `index` of the compact table of the benchmark as matrix and ops."""
    size, bits, code = (int(table[key][index]) for key in ("vertices", "adj_bits", "ops_code"))
    matrix = [[int(x < y and bits >> (x + y * (y - 1) // 2) & 1) for y in range(size)] for x in range(size)]
    labels = np.base_repr(code, 3)[1:]
    return matrix, ["input", *((C3, C1, MP)[int(label)] for label in labels), "output"]


def test_pruned_encodings_are_the_rows_of_the_benchmark(data_dir):
    table, shots = np.load(data_dir / "nb101.npz"), np.load(data_dir / "nb101_1shot1.npz")
    table = {key: table[key] for key in ("vertices", "adj_bits", "ops_code")}
    expected = Counter()
    for index, encodings in zip(shots["s1_index"], shots["s1_encodings"], strict=True):
        expected[signature(*stored(table, index))] += int(encodings)
    found = Counter()
    for genotype in enumerate_genotypes(get_space("oneshot1")):
        found[signature(*prune_nb101(*to_nb101(genotype)))] += 1
    assert found == expected


@pytest.mark.parametrize(
    ("matrix", "ops", "message"),
    [
        (MATRIX, OPS[:3], r"ops\[2\]: expected 'output', got 'maxpool3x3'"),
        (MATRIX, ("inptu", *OPS[1:]), r"ops\[0\]: expected 'input', got 'inptu'"),
        (
            MATRIX,
            ("input", "conv3x3", MP, "output"),
            r"ops\[1\]: .* 'conv3x3'; did you mean 'conv3x3-bn-relu'",
        ),
        (MATRIX, ("input", "output", MP, "output"), r"ops\[1\]: no op"),
        ([[0]], ["input"], "ops: expected at least 'input' and 'output'"),
        (MATRIX[:3], OPS, "matrix: expected 4 rows, one for each of the ops; got 3"),
        ((*MATRIX[:3], (0, 0)), OPS, r"matrix\[3\]: expected 4 entries, got 2"),
        (((0, 2, 0, 0), *MATRIX[1:]), OPS, r"matrix\[0\]\[1\]: expected 0 or 1, got 2"),
        ((*MATRIX[:3], (0, 1, 0, 0)), OPS, r"matrix\[3\]\[1\]: expected 0 on and below the diagonal, got 1"),
        (((0, 0, 0, 0), *MATRIX[1:]), OPS, "matrix: the output cannot be reached from the input"),
    ],
)
@pytest.mark.parametrize("function", [from_nb101, prune_nb101])
def test_a_malformed_cell_is_refused_with_the_place(function, matrix, ops, message):
    with pytest.raises(GenotypeError, match=message):
        function(matrix, ops)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"matrix": [[0, 1], [0, 0]]}', "ops: field required"),
        (
            '{"matrix": [[0, "1"], [0, 0]], "ops": ["input", "output"]}',
            r"matrix.0.1: expected a valid integer",
        ),
        ('{"matrix": [[0, 1], [0, 0]], "op": []}', "no key called 'op'; did you mean 'ops'"),
        ('{"matrix": [[0, 1], [0, 0]', "line 1 column 26"),
    ],
)
def test_a_malformed_text_is_refused_with_the_place(text, message):
    with pytest.raises(GenotypeError, match=message):
        from_nb101_text(text)


def changed(**changes: object) -> Genotype:
    return Genotype((("cell", replace(from_nb101(MATRIX, OPS).cells["cell"], **changes)),))


def edges(*, without: int | None = None, plus: Edge | None = None) -> tuple[Edge, ...]:
    own = list(from_nb101(MATRIX, OPS).cells["cell"].edges)
    if without is not None:
        own.pop(without)
    return (*own, plus) if plus else tuple(own)


@pytest.mark.parametrize(
    ("genotype", "message"),
    [
        (get_published("darts-v2"), "one 'cell'; the genotype has normal, reduce"),
        (changed(concat=()), "concatenates at the last"),
        (changed(joins=(5,)), "a join at odd nodes"),
        (changed(nodes=7), "a join at odd nodes"),
        (changed(edges=edges(without=1)), "edge 1 -> 2: .* has one edge from node 1 to node 2, with one of"),
        (
            changed(edges=edges(without=1, plus=Edge(1, 2, ("a",)))),
            "edge 1 -> 2: .* conv_bn_relu_3x3, conv_bn",
        ),
        (
            changed(edges=edges(plus=Edge(0, 5, ("skip_connect",)))),
            "edge 0 -> 5: .* conv_bn_relu_1x1 from the",
        ),
        (
            changed(edges=edges(plus=Edge(0, 3, ("conv_bn_relu_1x1",)))),
            "one edge at most between two vertices",
        ),
        (changed(edges=edges(plus=Edge(1, 3, ("skip_connect",)))), "edge 1 -> 3: "),
        (Genotype((("cell", Cell(2, 4, (), (3,), concat=(3,))),)), "one input"),
    ],
)
def test_another_form_is_refused(genotype, message):
    with pytest.raises(GenotypeError, match=message):
        to_nb101(genotype)
