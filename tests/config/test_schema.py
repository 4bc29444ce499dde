from pydantic import Field

from dartboard.config.schema import Options, values_before
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
