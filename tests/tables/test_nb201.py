from collections import Counter
from pathlib import Path
from random import Random

import pytest
import torch

from dartboard.errors import GenotypeError, TableError
from dartboard.nn import CellNet, NetConfig, count_flops, count_parameters
from dartboard.space import (
    GENOTYPE_FORMATS,
    Cell,
    Genotype,
    decode,
    enumerate_genotypes,
    get_published,
    get_space,
    restrict,
    sample,
)
from dartboard.tables import TABLES, NasBench201, load_nb201
from dartboard.tables.nb201 import DATASETS, all_cells, unique_text, write_columns
from helpers.nb201_data import Columns, made_up, real_table

SKIPS = "|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|"
FORM = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|"


@pytest.fixture(scope="module")
def columns() -> Columns:
    return made_up()


@pytest.fixture(scope="module")
def oracle(columns: Columns, tmp_path_factory: pytest.TempPathFactory) -> NasBench201:
    path = tmp_path_factory.mktemp("table") / "made-up.csv.gz"
    write_columns(path, columns)
    return load_nb201(path)


@pytest.fixture(scope="module")
def real() -> NasBench201:
    return load_nb201(real_table())


def test_it_is_registered() -> None:
    assert TABLES["nb201"] is load_nb201


def test_all_cells_are_those_of_the_space() -> None:
    texts = [
        GENOTYPE_FORMATS["nb201"].encode(genotype) for genotype in enumerate_genotypes(get_space("nb201"))
    ]
    assert texts == all_cells()
    assert len(set(texts)) == 15_625


def test_every_column_reaches_its_record(oracle: NasBench201, columns: Columns) -> None:
    assert (len(oracle), oracle.datasets) == (15_625, ("cifar10", "cifar100", "imagenet16-120"))
    for row in Random(0).sample(range(15_625), 20):
        genotype = decode(str(columns["arch_str"][row]))
        for dataset, prefix in zip(oracle.datasets, ("cifar10", "cifar100", "in16"), strict=True):
            found = oracle.query(genotype, dataset)
            assert found.valid == pytest.approx(columns[f"{prefix}_valid"][row] / 100)
            assert found.test == pytest.approx(columns[f"{prefix}_test"][row] / 100)
        small = oracle.query(genotype, "cifar10")
        assert (small.parameters, small.flops) == (100_000 + row, 2 * (640 + 1024 * row))


def test_edges_that_are_none_may_be_left_out(oracle: NasBench201) -> None:
    whole = decode(FORM)
    cell = whole.cells["cell"]
    edges = tuple(edge for edge in cell.edges if edge.ops != ("none",))
    assert len(edges) == 3
    part = Genotype((("cell", Cell(1, 4, edges[::-1], (3,))),))
    assert oracle.query(part, "cifar100") == oracle.query(whole, "cifar100")


def test_cells_of_the_space_without_none_are_found(oracle: NasBench201) -> None:
    space = get_space("nb201").without("none")
    rng = Random(0)
    for _ in range(20):
        genotype = sample(space, rng)
        assert oracle.query(genotype, "cifar10") == oracle.query(
            decode(GENOTYPE_FORMATS["nb201"].encode(genotype)), "cifar10"
        )


def test_where_cells_stand(oracle: NasBench201, columns: Columns) -> None:
    ranking = oracle.ranking("cifar10")
    assert oracle.ranking("cifar10") is ranking
    last, pair = (decode(str(columns["arch_str"][row])) for row in (15_624, 15_623))
    assert oracle.best("cifar10") == last
    assert oracle.query(last, "cifar10").test == ranking.best
    found = ranking.standing(oracle.query(pair, "cifar10").test)
    assert (found.rank, found.percentile) == (2, 15_624 / 15_625)
    assert found.regret == pytest.approx(0.01 / 100 / 2)


def test_isomorphic_cells(oracle: NasBench201) -> None:
    genotype = decode(FORM)
    others = oracle.isomorphic(genotype)
    assert genotype not in others
    assert len(set(others)) == len(others) == 30
    assert all({other, *oracle.isomorphic(other)} == {genotype, *others} for other in others)


def test_a_data_set_that_it_does_not_know(oracle: NasBench201) -> None:
    message = "nothing of data set 'mnist'; it knows cifar10, cifar100, imagenet16-120"
    for ask in (lambda: oracle.query(decode(SKIPS), "mnist"), lambda: oracle.ranking("mnist")):
        with pytest.raises(TableError, match=message):
            ask()
    with pytest.raises(TableError, match=message):
        oracle.best("mnist")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SKIPS.replace("skip_connect~2", "sep_conv_3x3~2"),
            r"edge 2 -> 3: expected one of none, .*got sep_conv",
        ),
        ("|none~0|+|none~0|none~1|", r"expected the output nodes \[3\], got \[2\]"),
    ],
)
def test_a_genotype_of_another_space(oracle: NasBench201, text: str, message: str) -> None:
    with pytest.raises(GenotypeError, match=message):
        oracle.query(decode(text), "cifar10")


def test_a_published_cell_is_no_cell_of_it(oracle: NasBench201) -> None:
    with pytest.raises(
        GenotypeError, match="'nb201' expects the cells cell; the genotype has normal, reduce"
    ):
        oracle.query(get_published("darts-v2"), "cifar10")


def test_a_cell_with_a_node_too_many(oracle: NasBench201) -> None:
    cell = decode(FORM).cells["cell"]
    with pytest.raises(GenotypeError, match="the last node as output"):
        oracle.query(Genotype((("cell", Cell(1, 5, cell.edges, (3,))),)), "cifar10")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("arch_str", "|x~0|", r"'\|x~0\|' is not a cell of the nb201 space"),
        ("arch_str", FORM, "holds 15,624 of the 15,625 cells"),
        ("in16_valid", 100.1, "column in16_valid, line 2: expected 0 to 100, got 100.1"),
        ("params_cifar10", -1, "column params_cifar10, line 2: expected 0"),
        ("mflops_cifar10", "nan", "column mflops_cifar10, line 2: expected 0"),
        ("cifar10_test", "good", "column cifar10_test: could not convert"),
    ],
)
def test_a_table_with_a_mistake(
    columns: Columns, tmp_path: Path, name: str, value: object, message: str
) -> None:
    wrong = columns | {name: [value, *columns[name][1:]]}
    write_columns(tmp_path / "t", wrong)
    with pytest.raises(TableError, match=f"^{tmp_path}/t: {message}"):
        load_nb201(tmp_path / "t")


def test_a_cell_that_is_there_twice(columns: Columns, tmp_path: Path) -> None:
    write_columns(tmp_path / "t", {name: [*values, values[0]] for name, values in columns.items()})
    with pytest.raises(TableError, match="holds 1 cells more than once"):
        load_nb201(tmp_path / "t")


@pytest.mark.parametrize(
    ("dataset", "test"), [("cifar10", 94.37), ("cifar100", 73.51), ("imagenet16-120", 47.31)]
)
def test_the_best_of_the_benchmark(real: NasBench201, dataset: str, test: float) -> None:
    best = real.query(real.best(dataset), dataset).test
    assert best == real.ranking(dataset).best
    assert 100 * best == pytest.approx(test, abs=0.005)


@pytest.mark.parametrize(
    ("dataset", "test"), [("cifar10", 54.30), ("cifar100", 15.61), ("imagenet16-120", 16.32)]
)
def test_skips_alone(real: NasBench201, dataset: str, test: float) -> None:
    assert 100 * real.query(decode(SKIPS), dataset).test == pytest.approx(test, abs=0.005)


@pytest.mark.parametrize("dataset", DATASETS)
def test_sizes_are_those_of_our_networks(real: NasBench201, dataset: str) -> None:
    classes, pixels = {"cifar10": (10, 32), "cifar100": (100, 32), "imagenet16-120": (120, 16)}[dataset]
    config = NetConfig(channels=16, classes=classes, input=(3, pixels, pixels))
    rng = Random(0)
    for _ in range(5):
        genotype = sample(real.space, rng)
        found, discrete = real.query(genotype, dataset), restrict(real.space, genotype)
        with torch.device("meta"):
            assert found.parameters == count_parameters(CellNet(discrete, config))
        assert found.flops == count_flops(discrete, config)


OPS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")


def cell(*ops: str) -> str:
    return "|{}~0|+|{}~0|{}~1|+|{}~0|{}~1|{}~2|".format(*ops)


def test_the_benchmark_has_so_many_different_cells() -> None:
    assert len({unique_text(text) for text in all_cells()}) == 6_466


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # node 1 is the input, so it does not matter from which of the two an op comes
        (
            cell(OPS[1], OPS[3], OPS[2], OPS[0], OPS[0], OPS[1]),
            cell(OPS[1], OPS[2], OPS[3], OPS[0], OPS[0], OPS[1]),
        ),
        # nothing enters node 1: what leaves it is nothing
        (
            cell(OPS[0], OPS[3], OPS[4], OPS[1], OPS[2], OPS[3]),
            cell(OPS[0], OPS[3], OPS[0], OPS[1], OPS[1], OPS[3]),
        ),
    ],
)
def test_cells_that_are_one(first: str, second: str) -> None:
    assert unique_text(first) == unique_text(second)


@pytest.mark.parametrize("op", OPS)
def test_an_op_matters_where_it_is_alone(op: str) -> None:
    texts = [unique_text(cell(*["none"] * 3, other, "none", "none")) for other in OPS]
    assert Counter(texts)[unique_text(cell(*["none"] * 3, op, "none", "none"))] == 1


def test_a_formula_reads_like_one() -> None:
    text = cell("nor_conv_3x3", "none", "skip_connect", "avg_pool_3x3", "none", "nor_conv_1x1")
    assert unique_text(text) == "#+(#+(0)@nor_conv_3x3)@nor_conv_1x1+(0)@avg_pool_3x3"
