import pytest
from pydantic import ValidationError
from scipy.stats import t

from dartboard_papers import REPRODUCTIONS, RunOptions, Verdict
from dartboard_papers.gaea_section_3 import (
    GUARANTEED,
    LINEAR,
    LOGARITHM,
    Dimensions,
    Growth,
    count,
    growth,
    reproduce,
)
from dartboard_papers.theory.mirror_descent import ENTROPY, EUCLIDEAN, Iterations, NoisyChoice

TINY = Dimensions(dimensions=(4, 8, 16, 32), far=(256, 1024, 4096))


def test_the_claim_is_held_with_noise_and_not_without(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY)
    assert result.verdict is Verdict.HELD
    found = {row.what: row for row in result.rows}
    row = found["8 ops, projected gradient descent: iterations"]
    assert row.paper == f"<= {NoisyChoice(8).guarantee(EUCLIDEAN, 0.1):,.0f}"
    assert row.here < NoisyChoice(8).guarantee(EUCLIDEAN, 0.1)
    assert [own["dimension"] for own in result.numbers[ENTROPY]] == [4, 8, 16, 32, 256, 1024, 4096]
    assert list(result.parts) == list(REPRODUCTIONS["gaea-section-3"].rules)
    assert all(result.parts[part].chance < 0.05 for part in (LOGARITHM, LINEAR))
    calm = reproduce(RunOptions(tmp_path), TINY.model_copy(update={"noise": 0.0}))
    assert not calm.parts[LINEAR].held


def test_what_did_not_arrive_is_said(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY.model_copy(update={"most": 3}))
    assert list(result.parts) == [GUARANTEED]
    assert any(row.here == "not in time" for row in result.rows)
    assert "not all are below" in result.sentence
    assert "nan" not in result.sentence


def test_one_dimension_has_no_exponent(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY.model_copy(update={"dimensions": (2,), "far": ()}))
    assert list(result.parts) == [GUARANTEED]
    assert "in a way that too few tell" in result.sentence


@pytest.mark.parametrize("wrong", [{"dimensions": []}, {"dimensions": [1]}, {"far": [1]}])
def test_dimensions_that_cannot_be(wrong):
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Dimensions.model_validate(wrong)


def test_exponents_are_those_of_the_larger_half():
    def made(k: int, steps: int | None) -> Iterations:
        return Iterations(k, ENTROPY, steps, 0.1, 1e9, 0.0)

    assert growth([made(2, 999), made(4, 10), made(8, 20), made(16, 40), made(32, 80)]) is not None
    own = growth([made(2, 999), made(4, 5), made(8, 10), made(16, 20)])
    assert own is not None
    assert (own.exponent, own.error, own.freedom) == (pytest.approx(1), pytest.approx(0), 1)
    steps = [24, 192, 1536]  # 3 k^1.5
    own = growth([made(2, 1), *(made(k, count) for k, count in zip((4, 16, 64), steps, strict=True))])
    assert own is not None
    assert own.exponent == pytest.approx(1.5)
    assert growth([made(2, 1), made(4, None), made(8, 3), made(16, 9)]) is None


def test_chance_is_that_of_a_rivals_exponent():
    """With an error of 0.5 and two degrees of freedom: t = -1.5 for 0.25 where the exponent is 1."""
    assert Growth(0.1, 0.5, 2).chance(0.25, 1.0) == pytest.approx(t.cdf(-1.5, 2))
    assert Growth(0.1, 0.0, 2).chance(0.25, 1.0) == 0.0


@pytest.mark.parametrize("change", [{"accuracy": 0.05}, {"gap": 0.4}, {"seed": 3}, {"runs": 8}, {"most": 2}])
def test_every_number_of_the_scale_counts(tmp_path, change):
    small = TINY.model_copy(update={"far": (16,), "runs": 16})
    options = RunOptions(tmp_path)
    assert count(options, small, 1.0) != count(options, small.model_copy(update=change), 1.0)
