from collections import Counter
from random import Random

import numpy as np
import pytest

from dartboard.errors import GenotypeError, TableError
from dartboard.space import count, enumerate_genotypes, from_nb101, prune_nb101, sample, to_nb101
from dartboard.tables import TABLES
from dartboard.tables.nb101_table import Nb101Columns
from dartboard.tables.oneshot import NasBench1Shot1
from helpers.nb101_data import C1, C3, CELLS, MP, folder

SPACES = ("oneshot1", "oneshot2", "oneshot3")
SIZES = dict(zip(SPACES, (2_685, 7_773, 55_854), strict=True))
BEST = dict(zip(SPACES, (94.20, 93.97, 94.18), strict=True))


@pytest.fixture(scope="module", params=SPACES)
def oracle(request: pytest.FixtureRequest) -> NasBench1Shot1:
    return TABLES[request.param](folder() / "nb101.npz")


@pytest.fixture(scope="module")
def oneshot1() -> NasBench1Shot1:
    return TABLES["oneshot1"](folder() / "nb101.npz")


def published(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows that the space can come to, and how many encodings come to each."""
    facts = np.load(folder() / "nb101_1shot1.npz")
    return facts[f"s{name[-1]}_index"], facts[f"s{name[-1]}_encodings"]


def test_the_rows_of_a_space_and_their_encodings_are_those_published(oracle):
    rows, encodings = published(oracle.name)
    assert np.array_equal(oracle.rows(), rows)
    assert np.array_equal(oracle.encodings(), encodings)
    assert (len(oracle), oracle.encodings().sum()) == (SIZES[oracle.name], count(oracle.space))


def test_the_best_of_a_space_is_the_best_of_its_rows(oracle):
    ranking = oracle.ranking("cifar10")
    assert len(ranking) == len(oracle)
    assert round(100 * ranking.best, 2) == BEST[oracle.name]


def test_samples_come_to_rows_of_the_space_as_often_as_they_should(oracle):
    rng, rows = Random(0), Counter()
    for _ in range(500):
        rows[oracle.row(sample(oracle.space, rng))] += 1
    often = dict(zip(*map(np.ndarray.tolist, (oracle.rows(), oracle.encodings())), strict=True))
    assert rows.keys() <= often.keys()
    share = often[max(often, key=often.get)] / count(oracle.space)
    assert rows[max(often, key=often.get)] / 500 == pytest.approx(share, abs=3 * (share / 500) ** 0.5)


@pytest.mark.parametrize("name", ["oneshot1", pytest.param("oneshot2", marks=pytest.mark.slow)])
def test_every_genotype_comes_to_its_row(name):
    oracle = TABLES[name](folder() / "nb101.npz")
    found = Counter(oracle.row(genotype) for genotype in enumerate_genotypes(oracle.space))
    rows, encodings = published(name)
    assert found == dict(zip(rows.tolist(), encodings.tolist(), strict=True))


def test_a_record_is_the_one_of_the_whole_benchmark(oneshot1):
    whole = TABLES["nb101"](folder() / "nb101.npz")
    genotype = sample(oneshot1.space, Random(4))
    assert oneshot1.query(genotype, "cifar10") == whole.query(genotype, "cifar10")


LOOSE = (
    [
        [0, 1, 1, 1, 1, 1],
        [0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ],
    ["input", C3, C1, MP, C1, "output"],
)
"""A genotype of oneshot1 whose output reads the input and one vertex alone."""


def tiny(name: str) -> NasBench1Shot1:
    """The space with a table of a single cell: one 3x3 convolution beside the input."""
    columns = {"vertices": [3], "adj_bits": [0b111], "ops_code": [3], "params": [7]}
    columns = {key: np.array(column) for key, column in columns.items()}
    return NasBench1Shot1(name, Nb101Columns({**columns, "test_acc_108": np.array([0.5])}))


def test_loose_ends_do_not_matter():
    oracle = tiny("oneshot1")
    record = oracle.query(from_nb101(*LOOSE), "cifar10")
    assert (record.valid, record.test, record.parameters) == (None, 0.5, 7)
    matrix, _ = LOOSE
    again = from_nb101(matrix, ["input", C3, MP, MP, MP, "output"])
    assert oracle.query(again, "cifar10") == record
    with pytest.raises(TableError, match="the table has no cell"):
        oracle.query(from_nb101(matrix, ["input", C1, MP, MP, MP, "output"]), "cifar10")


def test_encodings_are_counted_where_the_table_has_the_cell():
    oracle = tiny("oneshot1")
    found = Counter(
        prune_nb101(*to_nb101(genotype)) == (((0, 1, 1), (0, 0, 1), (0, 0, 0)), ("input", C3, "output"))
        for genotype in enumerate_genotypes(oracle.space)
    )
    assert oracle.rows().tolist() == [0]
    assert oracle.encodings().tolist() == [found[True]]


def test_genotypes_of_other_spaces_are_refused():
    with pytest.raises(GenotypeError, match=r"expected the output nodes .*; nb101 knows cells"):
        tiny("oneshot1").query(from_nb101(*CELLS[2]), "cifar10")
    with pytest.raises(GenotypeError, match=r"node 3: expected 1 of the edges .*; got 2"):
        tiny("oneshot2").query(from_nb101(*LOOSE), "cifar10")


@pytest.mark.parametrize("ask", ["query", "ranking"])
def test_other_data_sets_are_refused(ask):
    arguments = (from_nb101(*LOOSE), "svhn") if ask == "query" else ("svhn",)
    with pytest.raises(TableError, match="oneshot3 knows nothing of data set 'svhn'; it knows cifar10"):
        getattr(tiny("oneshot3"), ask)(*arguments)
