import pytest

from dartboard.sweep.protocol.results import verdict
from dartboard.utils.statistics import Difference


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.001, 0.019, "Search beat random here: +1.00 points, 95 % interval +0.10 to +1.90."),
        (0.0, 0.02, "Search did not beat random here, nor random search: +1.00 points"),
        (-0.01, 0.03, "Search did not beat random here, nor random search: +1.00 points"),
        (None, None, "With one seed nobody can say whether search beat random here: +1.00 points"),
    ],
)
def test_the_verdict(low: float | None, high: float | None, words: str) -> None:
    assert verdict(Difference(0.01, low, high)).startswith(words)


def test_random_can_win() -> None:
    assert verdict(Difference(-0.01, -0.02, -0.001)).startswith("Random beat search here: -1.00 points")
