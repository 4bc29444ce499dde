import pytest
import torch
from pydantic import ValidationError

from dartboard_papers import RunOptions, Verdict
from dartboard_papers import understanding_theorem_4_2 as smooth
from dartboard_papers import understanding_theorem_4_3 as noise
from dartboard_papers.theory.linear_cells import smoothness, variances
from dartboard_papers.theory.linear_problems import random_problem
from dartboard_papers.understanding_theorem_4_2 import LinearCells

TINY = LinearCells(lengths=(0.5, 3.0), problems=3, nodes=2, size=2, examples=5)


def test_theorem_4_2_is_broken_and_its_rows_are_those_of_the_problems(tmp_path):
    result = smooth.reproduce(RunOptions(tmp_path), TINY)
    assert result.verdict is Verdict.NOT_HELD
    problems = [random_problem(nodes=2, size=2, examples=5, length=3.0, seed=seed) for seed in range(3)]
    ratios = torch.stack([smoothness("narrowest", own) / smoothness("widest", own) for own in problems])
    found = {row.what: row for row in result.rows}
    for block in range(2):
        row = found[f"norm 3, W{block + 1}: constant, narrowest / widest"]
        assert row.here == pytest.approx(ratios[:, block].median().item())
        assert row.paper == ("<= 1" if block == 0 else "<= 3")
    assert "100 % of those problems" in result.sentence


def test_theorem_4_2_holds_where_there_is_one_node(tmp_path):
    """The widest and the narrowest cell are then the same."""
    result = smooth.reproduce(RunOptions(tmp_path), TINY.model_copy(update={"nodes": 1}))
    assert result.verdict is Verdict.HELD
    assert result.numbers["widest"] == result.numbers["narrowest"]


def test_theorem_4_3_is_judged_at_the_same_weights(tmp_path):
    result = noise.reproduce(RunOptions(tmp_path), TINY)
    assert result.verdict is Verdict.NOT_HELD
    found = {row.what: row.here for row in result.rows}
    assert found["squared loss, norm 3: above the bound, same weights"] > 0
    assert found["squared loss, norm 3: above the bound, same output"] == 0
    problems = [random_problem(nodes=2, size=2, examples=5, length=3.0, seed=seed) for seed in range(3)]
    ratios = [variances("narrowest", own).sum() / variances("widest", own).sum() for own in problems]
    assert found["squared loss, norm 3: variance, narrowest / widest"] == pytest.approx(
        torch.stack(ratios).median().item()
    )
    assert set(result.figures) == {"variance-squared", "variance-logistic"}


def test_theorem_4_3_holds_where_there_is_one_node(tmp_path):
    """The bound is then the variance itself."""
    result = noise.reproduce(RunOptions(tmp_path), TINY.model_copy(update={"nodes": 1}))
    assert result.verdict is Verdict.HELD
    for own in result.numbers.values():
        assert own["narrowest"] == own["widest"]


@pytest.mark.parametrize("lengths", [[], [-1.0], [1.0, 0.0]])
def test_norms_that_cannot_be(lengths):
    with pytest.raises(ValidationError, match="lengths"):
        LinearCells.model_validate({"lengths": lengths})


@pytest.mark.parametrize(
    "change", [{"seed": 7}, {"examples": 6}, {"size": 3}, {"problems": 4}, {"lengths": (2.0,)}]
)
def test_every_number_of_the_scale_counts(tmp_path, change):
    usual = smooth.reproduce(RunOptions(tmp_path), TINY)
    other = smooth.reproduce(RunOptions(tmp_path), TINY.model_copy(update=change))
    assert usual.numbers["narrowest"] != other.numbers["narrowest"]
