from pathlib import Path

import pytest

from dartboard.errors import RunError
from dartboard.sweep.decision_log import NAME, DecisionLog


def test_nothing_is_decided_twice(tmp_path: Path) -> None:
    first = DecisionLog(tmp_path)
    assert first.get("best") is None
    assert first.once("best", lambda: {"name": "a", "seeds": (1, 2)}) == {"name": "a", "seeds": [1, 2]}
    assert first.once("best", lambda: pytest.fail("decided again")) == {"name": "a", "seeds": [1, 2]}
    later = DecisionLog(tmp_path)
    assert later.once("best", lambda: pytest.fail("decided again")) == {"name": "a", "seeds": [1, 2]}
    assert later.once("budget", lambda: {"networks": 3}) == {"networks": 3}
    assert DecisionLog(tmp_path).get("best") == {"name": "a", "seeds": [1, 2]}


def test_who_fails_decides_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        DecisionLog(tmp_path).once("best", fail)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{", "[1]", '{"found": 5}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text)
    with pytest.raises(RunError, match=f"{NAME} .*it was changed after it was written"):
        DecisionLog(tmp_path)
