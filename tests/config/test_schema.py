import pytest
from pydantic import Field, ValidationError

from dartboard.config.schema import MAX_COUNT, Count, Options, values_before
from dartboard.engine.config import LoopOptions


class Inner(Options):
    size: int = 3
    rate: float = Field(default=0.5, json_schema_extra={"before": 1.0})


class Outer(Options):
    name: str = "x"
    sizes: tuple[int, ...] = (1, 2)
    inner: Inner = Inner(size=4)


def test_a_setting_had_its_default_before_it_existed_unless_it_declares_another_value() -> None:
    assert values_before(Outer()) == {"name": "x", "sizes": [1, 2], "inner.size": 4, "inner.rate": 1.0}


def test_batch_norms_were_not_synchronized_before_there_was_a_setting() -> None:
    assert values_before(LoopOptions())["sync_norms"] is False


class Counts(Options):
    count: Count = 10
    several: Count = Field(default=10, ge=5, le=20)
    lenient: Count = Field(default=10, ge=-3, le=2 * MAX_COUNT)
    optional: Count | None = Field(default=None, ge=5)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("count", 1, MAX_COUNT), ("several", 5, 20), ("lenient", 1, MAX_COUNT), ("optional", 5, MAX_COUNT)],
)
def test_a_field_can_narrow_the_limits_of_its_type_but_not_widen_them(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(Counts(**{name: value}), name) == value
    for value, rule in ((low - 1, f"greater than or equal to {low}"), (high + 1, f"than or equal to {high}")):
        with pytest.raises(ValidationError, match=rule):
            Counts(**{name: value})
