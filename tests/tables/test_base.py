import numpy as np
import pytest

from dartboard.errors import TableError, UnknownNameError
from dartboard.tables import NasBench201, Ranking, load_table
from helpers.nb201_data import real_table


@pytest.fixture
def ranking() -> Ranking:
    return Ranking(np.array([0.5, 0.9, 0.1, 0.9, 0.7]))


@pytest.mark.parametrize(
    ("test", "rank", "percentile"),
    [
        (0.9, 1, 1.0),
        (0.7, 3, 0.6),
        (0.5, 4, 0.4),
        (0.1, 5, 0.2),
        (0.6, 4, 0.4),
        (0.95, 1, 1.0),
        (0.0, 6, 0.0),
    ],
)
def test_where_an_accuracy_stands(ranking: Ranking, test: float, rank: int, percentile: float) -> None:
    found = ranking.standing(test)
    assert (found.rank, found.percentile) == (rank, percentile)
    assert found.regret == pytest.approx(0.9 - test)


def test_how_many_and_the_best(ranking: Ranking) -> None:
    assert (len(ranking), ranking.best) == (5, 0.9)


def test_no_accuracies_have_no_order() -> None:
    with pytest.raises(TableError, match="at least one accuracy"):
        Ranking(np.array([]))


def test_all_accuracies_are_seen_in_order_and_cannot_be_changed(ranking: Ranking) -> None:
    assert ranking.tests.tolist() == [0.1, 0.5, 0.7, 0.9, 0.9]
    with pytest.raises(ValueError, match="read-only"):
        ranking.tests[0] = 1.0


def test_a_benchmark_without_its_table() -> None:
    with pytest.raises(TableError, match="nb201 does not ship with dartboard; name its file with --table"):
        load_table("nb201")


def test_a_benchmark_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError, match="no oracle called 'nb202'; did you mean 'nb201'"):
        load_table("nb202")


def test_a_benchmark_with_its_table() -> None:
    assert isinstance(load_table("nb201", real_table()), NasBench201)
