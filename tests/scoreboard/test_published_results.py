import pytest

from dartboard.scoreboard.published_results import DATASETS, DIRECT, TRANSFER, PublishedResult
from dartboard.search import METHODS
from dartboard.tables import load_nb201
from dartboard.tables.nb201 import DATASETS as TABLE_DATASETS
from helpers.nb201_data import real_table


def test_data_sets_are_those_of_the_oracle() -> None:
    assert tuple(TABLE_DATASETS) == DATASETS


@pytest.mark.parametrize("block", [TRANSFER, DIRECT])
def test_nobody_is_above_the_best_cell(block: dict[str, PublishedResult]) -> None:
    best = block["best cell"].means
    assert all(own.means[name] <= best[name] for own in block.values() for name in DATASETS)


def test_the_aim_and_the_collapse_are_there() -> None:
    assert TRANSFER["gaea-darts-erm"].means == pytest.approx(
        {"cifar10": 0.9410, "cifar100": 0.7260, "imagenet16-120": 0.4581}
    )
    assert TRANSFER["gaea-darts-erm"].deviations["cifar10"] == pytest.approx(0.0029)
    assert (TRANSFER["gaea-darts-erm"].seconds, TRANSFER["random"].seconds) == (9061, None)
    assert DIRECT["gaea-darts-erm"].means["cifar100"] == pytest.approx(0.7343)
    assert TRANSFER["best cell"].deviations["cifar10"] is None


def test_a_search_on_cifar10_is_the_same_in_both_blocks() -> None:
    for label in ("gaea-darts-erm", "gaea-darts", "darts-erm", "darts"):
        assert TRANSFER[label].means["cifar10"] == DIRECT[label].means["cifar10"]


def test_labels_of_methods_are_the_packages() -> None:
    assert {"darts", "gdas", "gaea-darts", "gaea-darts-erm", "random-ws", "evolution", "random"} <= {*METHODS}
    assert {"gaea-gdas"} == {*DIRECT} - {*TRANSFER}


def test_the_best_cell_and_the_collapsed_one_are_in_the_real_table() -> None:
    oracle = load_nb201(real_table())
    for name, mean in TRANSFER["best cell"].means.items():
        assert oracle.ranking(name).best == pytest.approx(mean, abs=5e-5)
    assert min(abs(oracle.ranking("cifar10").tests - TRANSFER["darts"].means["cifar10"])) < 5e-5
