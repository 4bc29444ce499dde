import json

import pytest

from dartboard.errors import UnknownNameError
from dartboard.space import PUBLISHED, get_published, get_space, restrict
from dartboard.space.catalog import XNAS_OPS

NAMES = {
    "nasnet-a": "NASNet",
    "amoebanet-a": "AmoebaNet",
    "enas": "ENAS",
    "pnas": "PNASNet",
    "darts-v1": "DARTS_V1",
    "darts-v2": "DARTS_V2",
    "snas": "SNAS",
    "snas-mild": "SNAS_mild",
    "snas-moderate": "SNAS_moderate",
    "snas-aggressive": "SNAS_aggressive",
    "pc-darts": "PC_DARTS_cifar",
    "pc-darts-imagenet": "PC_DARTS_image",
    "p-darts": "PDARTS",
    "asap": "ASAP",
    "gdas": "GDAS_V1",
    "gaea": "GAEA",
    "xnas": "XNAS",
}


def test_the_names_are_these():
    assert list(PUBLISHED) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_those_of_the_collection(name, data_dir):
    collection = json.loads((data_dir / "published-cells.json").read_text())
    assert set(collection) == set(NAMES.values())
    expected = collection[NAMES[name]]
    for arch, cell in get_published(name).groups:
        pairs = [[edge.ops[0], edge.source] for edge in cell.edges]
        assert pairs == expected[arch]
        assert [edge.target for edge in cell.edges] == [2 + index // 2 for index in range(len(pairs))]
        assert list(cell.output) == expected[f"{arch}_concat"]


@pytest.mark.parametrize("name", NAMES)
def test_cells_have_a_paper(name):
    authors, *title = PUBLISHED[name].paper.split(", ")
    assert authors
    assert any(year in PUBLISHED[name].paper for year in ("2018", "2019", "2020", "2021"))
    assert title


def test_no_two_names_hold_the_same_list():
    assert len({get_published(name) for name in NAMES}) == len(NAMES)


def test_ops_beyond_darts_are_these():
    ops = {edge.ops[0] for name in NAMES for _, cell in get_published(name).groups for edge in cell.edges}
    assert ops - set(XNAS_OPS) == {"none", "sep_conv_7x7", "conv_7x1_1x7"}


@pytest.mark.parametrize(
    "name", sorted(set(NAMES) - {"nasnet-a", "amoebanet-a", "enas", "pnas", "snas-aggressive"})
)
def test_cells_found_in_darts_space_are_of_darts_space(name):
    assert restrict(get_space("darts"), get_published(name)).discrete


def test_a_wrong_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="no published cell called 'pcdarts'; did you mean 'pc-darts'"):
        get_published("pcdarts")
