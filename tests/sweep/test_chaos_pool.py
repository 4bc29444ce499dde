"""Sweeps in processes of this machine that are killed many times."""

from pathlib import Path

import pytest

from helpers.chaos_checks import STEP, assert_survives, kill_order, long_sweep
from helpers.protocol_cases import few_digits
from sweep import chaos


@pytest.mark.slow
def test_many_kills_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chaos.PACE, str(STEP))
    kills = kill_order(3, driver=5, worker=7)
    assert_survives(
        long_sweep(few_digits(tmp_path / "few.npz")), tmp_path, ["pool", "jobs=2"], kills, 3, spread=3
    )
