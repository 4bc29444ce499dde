from pathlib import Path

import pytest

from dartboard.sweep.protocol.config import load_protocol
from dartboard.sweep.protocol.forecast import forecast, total_seconds
from dartboard.sweep.protocol.protocol import Protocol
from helpers.protocol_cases import few_digits, settings


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        # 4 searches of 10 s; trainings of 100 s: 4 tenths, 2 to the end, 3 seeds
        (["random=none"], 40 + 4 * 10 + 2 * 90 + 3 * 100),
        (["random=count"], 40 + 2 * (4 * 10 + 2 * 90 + 3 * 100)),
        (["random=time"], 80 + 2 * (4 * 10 + 2 * 90 + 3 * 100)),
        (["random=none", "short=100"], 40 + 4 * 100 + 3 * 100),
        (["random=none", "keep=9"], 40 + 4 * 100 + 3 * 100),
    ],
)
def test_the_sum_of_all_stages(words: list[str], seconds: float) -> None:
    own = ["searches=4", "short=2", "train.epochs=20", "keep=2", "seeds=3"]
    assert total_seconds(load_protocol(words=[*own, *words]), 10, 100) == pytest.approx(seconds)


def test_steps_are_timed(tmp_path: Path) -> None:
    ahead = forecast(Protocol(settings(few_digits(tmp_path / "few.npz"))))
    assert ahead.seconds > 10 * ahead.step_seconds > 0
    assert ahead.memory_bytes > 0
