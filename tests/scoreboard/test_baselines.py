import json
from dataclasses import asdict
from random import Random

import numpy as np
import pytest

from dartboard.errors import OptionError, TableError, UnknownNameError
from dartboard.scoreboard.baselines import (
    BASELINES,
    DATASETS,
    DIRECT,
    POPULATION,
    TRANSFER,
    Baseline,
    PublishedResult,
    TableScore,
    judge,
    queries_for,
    run_baseline,
)
from dartboard.search import METHODS
from dartboard.space import Genotype, SearchSpace, count, get_space
from dartboard.tables import Ranking, Record, load_nb201
from dartboard.tables.nb201 import DATASETS as TABLE_DATASETS
from helpers.bench_records import SmallOracle, accuracy
from helpers.nb201_data import real_table


def test_random_finds_what_the_best_of_so_many_draws_should_be() -> None:
    found = run_baseline("random", SmallOracle(valid=False), queries=10, draws=400)
    below = (np.arange(1, 217) / 216) ** 10  # that all 10 are at most here
    expected = np.diff(below, prepend=0) @ np.array([accuracy(place) for place in range(216)])
    assert np.mean(found.tests["one"]) == pytest.approx(expected, abs=0.006)
    assert np.mean(found.tests["two"]) == pytest.approx(expected / 2, abs=0.003)


def test_regret_falls_with_every_query_to_that_of_what_is_chosen() -> None:
    found = run_baseline("random", SmallOracle(valid=False), queries=12, draws=50)
    assert len(found.regrets) == found.queries == 12
    assert (np.diff(found.regrets) <= 0).all()
    assert found.regrets[0] > found.regrets[-1]
    assert found.regrets[-1] == pytest.approx(accuracy(215) - np.mean(found.tests["one"]))


def test_what_is_chosen_is_chosen_by_validation_accuracy() -> None:
    by_valid = run_baseline("random", SmallOracle(), queries=2000, draws=2)
    by_test = run_baseline("random", SmallOracle(valid=False), queries=2000, draws=2)
    assert by_valid.tests["one"] == pytest.approx([accuracy(214)] * 2)
    assert by_test.tests["one"] == pytest.approx([accuracy(215)] * 2)
    assert (by_valid.judge, by_test.judge) == ("valid", "test")
    assert by_valid.regrets[-1] == pytest.approx(accuracy(215) - accuracy(214))


@pytest.mark.parametrize("name", list(BASELINES))
@pytest.mark.parametrize("queries", [1, 7, 80])
def test_so_many_questions_are_asked_and_no_more(name: str, queries: int) -> None:
    oracle = SmallOracle()
    asking = TableScore(oracle)
    BASELINES[name](asking, queries).history(oracle.space, Random(0))
    assert len(asking.records) == queries == oracle.asked


class Slope:
    """NAS-Bench-201's cells, the better the later their ops stand in the list: one change is one step."""

    name = "slope"
    datasets: tuple[str, ...] = ("height",)

    def __init__(self) -> None:
        self.space: SearchSpace = get_space("nb201")

    def __len__(self) -> int:
        return count(self.space)

    def query(self, genotype: Genotype, dataset: str) -> Record:
        assert dataset == "height"
        edges = dict(genotype.cells)["cell"].edges
        steps = [self.space.ops.index(edge.ops[0]) for edge in edges]
        return Record(None, sum(steps) / (4 * len(steps)), 1, None)

    def ranking(self, dataset: str) -> Ranking:
        assert dataset == "height"
        return Ranking(np.linspace(0, 1, 25))


def test_evolution_climbs_where_random_only_draws() -> None:
    climbed, drawn = (run_baseline(name, Slope(), 150, 20) for name in ("evolution", "random"))
    first = POPULATION - 1
    assert climbed.regrets[first] == pytest.approx(drawn.regrets[first], abs=0.05)
    assert climbed.regrets[-1] < drawn.regrets[-1] / 2


def test_seeds_begin_at_0_and_each_draws_for_itself() -> None:
    few, many = (run_baseline("random", SmallOracle(), 3, draws) for draws in (4, 8))
    assert many.tests["one"][:4] == few.tests["one"]
    assert len(set(many.tests["one"])) > 1
    assert (few.draws, many.draws) == (4, 8)


def test_baselines_do_not_draw_the_same() -> None:
    random, evolution = (run_baseline(name, SmallOracle(), 3, 8) for name in ("random", "evolution"))
    assert random.tests != evolution.tests


def test_seconds_are_those_of_all_trainings_so_far() -> None:
    assert run_baseline("random", SmallOracle(seconds=1.5), 4, 2).seconds == [1.5, 3.0, 4.5, 6.0]
    assert run_baseline("random", SmallOracle(), 4, 2).seconds is None


def test_a_baseline_is_plain_values() -> None:
    found = run_baseline("evolution", SmallOracle(seconds=1.0), 4, 2)
    assert Baseline(**json.loads(json.dumps(asdict(found)))) == found


@pytest.mark.parametrize(("seconds", "queries"), [(30.0, 6), (34.9, 6), (4.0, 1), (0.0, 1)])
def test_seconds_pay_for_trainings(seconds: float, queries: int) -> None:
    assert queries_for(seconds, SmallOracle(seconds=5.0)) == queries


def test_without_times_somebody_has_to_say_how_many() -> None:
    with pytest.raises(TableError, match=r"small does not know how long trainings take.*queries=N"):
        queries_for(100.0, SmallOracle())


@pytest.mark.parametrize(("queries", "draws"), [(0, 1), (1, 0), (-3, 5)])
def test_nothing_to_ask_is_refused(queries: int, draws: int) -> None:
    with pytest.raises(OptionError, match=f"got {queries} and {draws}"):
        run_baseline("random", SmallOracle(), queries, draws)


def test_an_unknown_baseline_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'evolution'"):
        run_baseline("evolutoin", SmallOracle(), 1, 1)


def test_who_judges() -> None:
    assert (judge(SmallOracle()), judge(SmallOracle(valid=False))) == ("valid", "test")


def test_on_the_real_benchmark_a_hundred_draws_do_about_as_well_as_the_papers_random_search() -> None:
    found = run_baseline("random", load_nb201(real_table()), 100, 30)
    assert 100 * np.mean(found.tests["cifar10"]) == pytest.approx(
        100 * TRANSFER["random"].means["cifar10"], abs=0.3
    )


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
