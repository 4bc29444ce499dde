import math

import pytest
from pydantic import ValidationError

from dartboard_papers import RunOptions, Verdict
from dartboard_papers.gaea_section_3 import Dimensions, count, exponent, reproduce, within
from dartboard_papers.theory.mirror_descent import ENTROPY, EUCLIDEAN, Iterations, NoisyChoice

TINY = Dimensions(dimensions=(4, 8), far=(256, 1024, 4096))


def test_the_claim_is_held_with_noise_and_not_without(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY)
    assert result.verdict is Verdict.HELD
    found = {row.what: row for row in result.rows}
    row = found["8 ops, projected gradient descent: iterations"]
    assert row.paper == f"<= {NoisyChoice(8).guarantee(EUCLIDEAN, 0.1):,.0f}"
    assert row.here < NoisyChoice(8).guarantee(EUCLIDEAN, 0.1)
    assert [own["dimension"] for own in result.numbers[ENTROPY]] == [4, 8, 256, 1024, 4096]
    assert reproduce(RunOptions(tmp_path), TINY.model_copy(update={"noise": 0.0})).verdict is Verdict.NOT_HELD


def test_what_did_not_arrive_is_said(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY.model_copy(update={"most": 3}))
    assert result.verdict is Verdict.NOT_TESTABLE
    assert any(row.here == "not in time" for row in result.rows)
    assert "not all are below" in result.sentence
    assert "nan" not in result.sentence


def test_one_dimension_has_no_exponent(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY.model_copy(update={"dimensions": (2,), "far": ()}))
    assert result.verdict is Verdict.NOT_TESTABLE
    assert "in a way that too few tell" in result.sentence


@pytest.mark.parametrize(
    ("steps", "most", "kept"), [(10, 50, True), (21, 50, False), (None, 50, False), (None, 15, None)]
)
def test_guarantees_are_broken_only_by_what_had_the_time(steps, most, kept):
    assert within(Iterations(4, ENTROPY, steps, 0.1, 20.0, 0.0), most) is kept


@pytest.mark.parametrize("wrong", [{"dimensions": []}, {"dimensions": [1]}, {"far": [1]}])
def test_dimensions_that_cannot_be(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Dimensions.model_validate(wrong)


def test_exponents_are_those_of_the_larger_half():
    def made(k: int, steps: int | None) -> Iterations:
        return Iterations(k, ENTROPY, steps, 0.1, 1e9, 0.0)

    assert exponent([made(2, 999), made(4, 10), made(8, 20)]) == pytest.approx(1)
    assert exponent([made(2, 1), made(4, 5), made(8, 10), made(16, 20)]) == pytest.approx(1)
    steps = [24, 192]  # 3 k^1.5
    assert exponent([made(k, count) for k, count in zip((4, 16), steps, strict=True)]) == pytest.approx(1.5)
    assert math.isnan(exponent([made(2, 1), made(4, None), made(8, 3)]))


@pytest.mark.parametrize("change", [{"accuracy": 0.05}, {"gap": 0.4}, {"seed": 3}, {"runs": 8}, {"most": 2}])
def test_every_number_of_the_scale_counts(tmp_path, change):
    small = TINY.model_copy(update={"far": (16,), "runs": 16})
    options = RunOptions(tmp_path)
    assert count(options, small, 1.0) != count(options, small.model_copy(update=change), 1.0)
