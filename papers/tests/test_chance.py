from itertools import permutations, product

import numpy as np
import pytest

from dartboard_papers.chance import chance_across, chance_between, chance_within, p_across, p_within


def test_a_rule_within_repetitions_passes_as_often_as_by_enumeration() -> None:
    values = np.array([[3.0, 5.0], [2.0, 1.0], [1.0, 4.0]])

    def first_is_largest(rows: np.ndarray) -> bool:
        return bool(rows.mean(axis=1).argmax() == 0 and rows[0].mean() > rows[1:].mean(axis=1).max())

    columns = [list(permutations(column)) for column in values.T]
    exact = np.mean([first_is_largest(np.array(pair).T) for pair in product(*columns)])
    assert chance_within(first_is_largest, values) == pytest.approx(exact, abs=0.015)


def test_what_repetitions_have_in_common_stays() -> None:
    values = np.array([[0.0, 100.0], [1.0, 101.0]])
    columns = chance_within(lambda rows: bool((rows.mean(axis=0) == values.mean(axis=0)).all()), values)
    assert columns == 1.0


def test_a_rule_between_groups_passes_as_often_as_by_enumeration() -> None:
    first, second = np.array([4.0, 6.0]), np.array([1.0, 2.0, 5.0])

    def larger(left: np.ndarray, right: np.ndarray) -> bool:
        return bool(left.mean() > right.mean() + 2)

    every = permutations([*first, *second])
    exact = np.mean([larger(np.array(deal[:2]), np.array(deal[2:])) for deal in every])
    assert chance_between(larger, first, second) == pytest.approx(exact, abs=0.015)


def test_the_observed_data_counts() -> None:
    assert chance_between(lambda _, __: False, np.ones(2), np.ones(2)) == 0.0
    observed = np.array([[2.0], [1.0]])
    assert chance_within(lambda rows: bool(rows[0, 0] > rows[1, 0]), observed, draws=1) in (0.5, 1.0)


def test_rows_that_trade_places_in_all_repetitions_keep_their_values() -> None:
    values = np.array([[3.0, 4.0], [2.0, 1.0], [1.0, 0.0]])
    assert chance_across(lambda rows: bool(rows[0].mean() > 2), values) == pytest.approx(1 / 3)
    known = {tuple(row) for row in values.tolist()}
    assert chance_across(lambda rows: {tuple(row) for row in rows.tolist()} == known, values) == 1.0


def test_orders_are_drawn_where_there_are_too_many() -> None:
    values = np.arange(9.0)[:, None]
    drawn = chance_across(lambda rows: bool(rows[0, 0] > 5.5), values, draws=3000)
    assert drawn == pytest.approx(1 / 3, abs=0.03)


def test_p_is_the_share_of_statistics_as_large_as_observed() -> None:
    values = np.array([[3.0], [2.0], [1.0]])

    def first(rows: np.ndarray) -> float:
        return float(rows[0, 0])

    assert p_across(first, values) == pytest.approx(1 / 3)
    assert p_across(first, values[::-1]) == 1.0
    assert p_within(first, values) == pytest.approx(1 / 3, abs=0.02)
