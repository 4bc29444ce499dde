"""Sweeps in processes of this machine that are killed many times."""

from pathlib import Path

import pytest

from protocols import few
from rampage import STEP, long, shuffled, survives
from sweep import chaos


@pytest.mark.slow
def test_many_kills_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chaos.PACE, str(STEP))
    kills = shuffled(3, driver=5, worker=7)
    survives(long(few(tmp_path / "few.npz")), tmp_path, ["pool", "jobs=2"], kills, 3, spread=3)
