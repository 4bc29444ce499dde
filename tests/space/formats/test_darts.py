import pytest

from dartboard.errors import GenotypeError
from dartboard.space import Cell, Edge, Genotype, get_space, sample
from dartboard.space.formats import from_darts, to_darts

NODE = "('a', 0), ('b', 1)"
REST = "reduce=[('a', 0), ('b', 1)], reduce_concat=[2]"
TEXT = (
    "Genotype(normal=[('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 2), ('none', 2)], "
    "normal_concat=range(2, 4), reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1)], reduce_concat=range(2, 3))"
)


def test_a_text_is_read_as_it_is_written():
    genotype = from_darts(TEXT)
    assert list(genotype.cells) == ["normal", "reduce"]
    normal = genotype.cells["normal"]
    assert (normal.inputs, normal.nodes, normal.output) == (2, 4, (2, 3))
    assert [(edge.source, edge.target, edge.ops[0]) for edge in normal.edges] == [
        (1, 2, "sep_conv_3x3"),
        (0, 2, "skip_connect"),
        (2, 3, "skip_connect"),
        (2, 3, "none"),
    ]
    assert to_darts(genotype) == TEXT


@pytest.mark.parametrize(
    "text",
    [
        f"Genotype(normal=[{NODE}], normal_concat=[2], {REST})",
        f"Genotype(normal=({NODE}), normal_concat=(2,), {REST},)",
        f"Genotype(normal=[['a', 0], ['b', 1]], normal_concat=range(2, 3), {REST})",
        f"  MINE = Genotype(\n  {REST},\n normal_concat=[2], normal=[{NODE}] # a remark\n)\n",
    ],
)
def test_lists_tuples_ranges_and_names_are_accepted(text):
    cell = Cell(2, 3, (Edge(0, 2, ("a",)), Edge(1, 2, ("b",))), (2,))
    assert from_darts(text) == Genotype((("normal", cell), ("reduce", cell)))


def test_gaps_in_the_output_are_written_as_a_list():
    text = f"Genotype(normal=[{NODE}, {NODE}, {NODE}], normal_concat=[2, 4], {REST})"
    assert "normal_concat=[2, 4], " in to_darts(from_darts(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected Genotype\(normal="),
        ("Genotype(", "line 1, column 9: expected Genotype.*never closed"),
        ("Genotype(normal=[('a' 0)])", "line 1, column 19: expected"),
        ("Genotype()", "expected the keywords normal, .*; normal is missing"),
        ("Genotype([])", "line 1, column 10: expected the keywords"),
        ("Genotyp(normal=[])", r"expected Genotype\("),
        ("import os", r"expected Genotype\("),
        (
            f"Genotype(normal=[{NODE}], nornal_concat=[2], {REST})",
            "no keyword called 'nornal_concat'",
        ),
        (f"Genotype(normal=[{NODE}], normal_concat=[2], {REST}, {REST})", "keyword reduce is given twice"),
        (
            f"Genotype(normal=3, normal_concat=[2], {REST})",
            "normal: expected a list at line 1, column 17, got 3",
        ),
        (
            f"Genotype(normal=[{NODE}, ('a', 0)], normal_concat=[2], {REST})",
            "normal: .* two pairs a node, got 3",
        ),
        (
            f"Genotype(normal=[('a', 0), 'b'], normal_concat=[2], {REST})",
            r"normal\[1\]: expected a pair .*got 'b'",
        ),
        (f"Genotype(normal=[('a', 0), (1, 1)], normal_concat=[2], {REST})", r"normal\[1\]: expected a pair"),
        (
            f"Genotype(normal=[('a', 0), ('b', -1)], normal_concat=[2], {REST})",
            r"normal\[1\]: expected a node num",
        ),
        (
            f"Genotype(normal=[('a', 0), ('b', True)], normal_concat=[2], {REST})",
            r"normal\[1\]: .*, got True",
        ),
        (
            f"Genotype(normal=[('a', 0), ('b', 2)], normal_concat=[2], {REST})",
            r"normal\[1\]: .*below node 2.* got 2",
        ),
        (
            f"Genotype(normal=[('a', 0), ('', 1)], normal_concat=[2], {REST})",
            "normal: edge 1 -> 2 has an op without",
        ),
        (
            f"Genotype(normal=[{NODE}], normal_concat=[3], {REST})",
            "normal: output node 3 is not an inner one",
        ),
        (f"Genotype(normal=[{NODE}], normal_concat=[], {REST})", "normal: a cell needs at least one output"),
        (
            f"Genotype(normal=[{NODE}], normal_concat=['2'], {REST})",
            r"normal_concat\[0\]: expected a node number",
        ),
        (
            f"Genotype(normal=[{NODE}], normal_concat=range(2, 10**9), {REST})",
            "normal_concat: expected a node",
        ),
        (
            f"Genotype(normal=[{NODE}], normal_concat=range(2, {10**30}), {REST})",
            "normal: output node 3 is not",
        ),
        (f"Genotype(normal=[{NODE}], normal_concat=list(2), {REST})", "normal_concat: expected a list"),
    ],
)
def test_a_malformed_text_is_refused_with_the_place(text, message):
    with pytest.raises(GenotypeError, match=message):
        from_darts(text)


@pytest.mark.parametrize(
    "text",
    [
        "Genotype(\0)",
        "Genotype(" + "-" * 100_000 + "1)",
        "Genotype(1" + "+1" * 5000 + ")",
        "Genotype(" + "[" * 9999,
    ],
)
def test_what_breaks_a_parser_is_refused_too(text):
    with pytest.raises(GenotypeError, match="expected"):
        from_darts(text)


def test_a_text_is_never_run(capsys):
    with pytest.raises(GenotypeError):
        from_darts(
            "Genotype(normal=[print('run'), print('run')], normal_concat=[2], reduce=[], reduce_concat=[])"
        )
    assert capsys.readouterr().out == ""


def test_what_cannot_be_said_is_refused(rng):
    with pytest.raises(GenotypeError, match="cells normal and reduce; the genotype has cell"):
        to_darts(sample(get_space("nb201"), rng))
    with pytest.raises(
        GenotypeError, match="normal, node 3: a DARTS text has two edges into every node, not 3"
    ):
        to_darts(sample(get_space("s1-dense"), rng))
    edges = (Edge(0, 2, ("a",)), Edge(1, 2, ("b",)))
    for cell in (
        Cell(2, 3, edges, (2,), concat=(2,)),
        Cell(2, 3, edges, (2,), joins=(2,)),
        Cell(1, 2, (), (1,)),
    ):
        with pytest.raises(
            GenotypeError, match="normal: a DARTS text says cells with two inputs whose nodes sum"
        ):
            to_darts(Genotype((("normal", cell), ("reduce", cell))))
