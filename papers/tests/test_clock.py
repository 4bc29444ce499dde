import json
from pathlib import Path
from time import sleep

import pytest

from dartboard_papers.clock import FILE, clocked


def test_times_add_up(tmp_path: Path) -> None:
    for _ in range(2):
        with clocked(tmp_path / "new") as clock:
            sleep(0.02)
    assert 0.04 <= clock.seconds < 2
    assert json.loads((tmp_path / "new" / FILE).read_text()) == clock.seconds


def test_a_time_that_ends_in_an_error_counts(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("100.0")
    with pytest.raises(KeyboardInterrupt), clocked(tmp_path) as clock:
        raise KeyboardInterrupt
    assert 100 < clock.seconds < 102
    assert json.loads((tmp_path / FILE).read_text()) == clock.seconds


@pytest.mark.parametrize("text", ["", "NaN", "-3.0", "Infinity", '"long"', "{}", "\xff"])
def test_a_damaged_file_is_no_time(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text, encoding="latin-1")
    with clocked(tmp_path) as clock:
        assert clock.seconds == 0
    assert 0 <= clock.seconds < 2
