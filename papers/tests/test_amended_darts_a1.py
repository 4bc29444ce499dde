from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard_papers import REPRODUCTIONS, RunOptions, Verdict
from dartboard_papers.amended_darts_a1 import TERMS, Toy, is_wrong, reproduce, terms


@given(st.floats(-100, 100))
def test_terms_are_those_of_the_closed_forms(alpha: float) -> None:
    found = terms(alpha)
    best = alpha  # argmin over w of (w - alpha)^2
    assert found["g1"] == pytest.approx(-2 * (2 * best - alpha))
    assert found["g2"] == pytest.approx(2 * (2 * best - alpha) * 2)  # dw*/dalpha = 1
    assert found["g1 + g2"] == pytest.approx(2 * alpha)


@given(st.floats(-10, 10).filter(lambda own: abs(own) > 0.1))
def test_the_sum_is_the_slope_of_the_loss_at_the_best_weight(alpha: float) -> None:
    def loss(a: float) -> float:
        return (2 * a - a) ** 2

    slope = (loss(alpha + 1e-5) - loss(alpha - 1e-5)) / 2e-5
    assert terms(alpha)["g1 + g2"] == pytest.approx(slope, rel=1e-5)


def test_the_finding(tmp_path: Path) -> None:
    found = reproduce(RunOptions(tmp_path), Toy(alpha=0.5))
    assert found.verdict is Verdict.HELD
    assert set(found.parts) == set(REPRODUCTIONS["amended-darts-a1"].rules)
    assert [(row.paper, row.here) for row in found.rows] == [(-1, -1), (2, 2), (1, 1)]
    assert np.array(found.numbers["alpha"]) == pytest.approx(np.linspace(-2, 2, 41))
    assert set(found.numbers) == {"alpha", *TERMS}
    assert reproduce(RunOptions(tmp_path), Toy()).rows != found.rows


def test_a_direct_term_of_the_right_sign() -> None:
    assert is_wrong({"g1": [-1.0, 0.0], "g1 + g2": [1.0, 0.0]})
    assert not is_wrong({"g1": [-1.0, 1.0], "g1 + g2": [1.0, 1.0]})
