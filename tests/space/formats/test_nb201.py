import pytest

from dartboard.errors import GenotypeError
from dartboard.space import Cell, Edge, Genotype, enumerate_genotypes, get_published, get_space, restrict
from dartboard.space.formats import from_nb201, to_nb201

TEXT = "|nor_conv_3x3~0|+|none~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_1x1~1|skip_connect~2|"


def test_a_text_is_read_as_it_is_written():
    genotype = from_nb201(TEXT)
    cell = genotype.cells["cell"]
    assert (cell.inputs, cell.nodes, cell.output) == (1, 4, (3,))
    assert cell.edges[2] == Edge(1, 2, ("avg_pool_3x3",))
    assert restrict(get_space("nb201"), genotype).discrete
    assert to_nb201(genotype) == TEXT


def test_every_cell_of_a_space_has_a_text_of_its_own():
    every = list(enumerate_genotypes(get_space("nano")))
    assert [from_nb201(to_nb201(one)) for one in every] == every
    assert len({to_nb201(one) for one in every}) == len(every)


def test_an_edge_that_is_not_there_is_written_as_none():
    cell = Cell(1, 3, (Edge(0, 2, ("a",)),), (2,))
    assert to_nb201(Genotype((("cell", cell),))) == "|none~0|+|a~0|none~1|"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"node 1: expected '\|none~0\|' with its ops, got ''"),
        ("|", r"node 1: expected '\|none~0\|'"),
        ("|a~0|+", r"node 2: expected .* got ''"),
        ("|a~0|+|a~0|", "node 2: expected 2 edges, one from each node before it; got 1"),
        ("|a~0|+|a~0|b~1|c~2|", "node 2: expected 2 edges, .* got 3"),
        ("|a~0|+|b~0|a~0|", "node 2, edge 1: expected 'op~1', got 'a~0'"),
        ("|a~0|+|b~0|a~x|", "node 2, edge 1: expected 'op~1', got 'a~x'"),
        ("|a~0|+|~0|a~1|", "node 2, edge 0: expected 'op~0', got '~0'"),
        ("|a|", "node 1, edge 0: expected 'op~0', got 'a'"),
        ("|a b~0|", "node 1, edge 0: expected 'op~0', got 'a b~0'"),
    ],
)
def test_a_malformed_text_is_refused_with_the_place(text, message):
    with pytest.raises(GenotypeError, match=message):
        from_nb201(text)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (Cell(2, 3, (), (2,)), "cell: a NAS-Bench-201 text says cells with one input"),
        (Cell(1, 3, (), (1,)), "the last node as output"),
        (Cell(1, 3, (), (2,), concat=(2,)), "sums"),
        (Cell(1, 3, (), (2,), joins=(2,)), "sums"),
        (Cell(1, 3, (Edge(0, 2, ("a",)),) * 2, (2,)), "cell, edge 0 -> 2: .* one edge between two nodes"),
        (Cell(1, 3, (Edge(0, 2, ("a|b",)),), (2,)), r"cell, edge 0 -> 2: 'a\|b' cannot stand in"),
    ],
)
def test_what_cannot_be_said_is_refused(cell, message):
    with pytest.raises(GenotypeError, match=message):
        to_nb201(Genotype((("cell", cell),)))


def test_more_than_one_cell_is_refused():
    with pytest.raises(GenotypeError, match="one 'cell'; the genotype has normal, reduce"):
        to_nb201(get_published("darts-v2"))
