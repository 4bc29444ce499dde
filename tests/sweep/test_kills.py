"""Sweeps on this machine whose drivers and workers are really killed."""

from pathlib import Path
from random import Random

import pytest

from sweep import chaos

SEED = 7


def test_killed_workers_and_drivers_lose_nothing(data: str, tmp_path: Path) -> None:
    file = chaos.write(tmp_path / "sweep.yaml", chaos.searches(data))
    kills = chaos.disturb(
        chaos.command(file, tmp_path / "pool", "pool", "jobs=2"),
        tmp_path / "pool",
        Random(SEED),
        ["worker", "driver"],
        spread=0.5,
    )
    assert [kill.target for kill in kills] == ["worker", "driver"]
    assert chaos.story(tmp_path / "pool") == chaos.undisturbed(file, tmp_path / "here")


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["here", "pool"])
def test_stages_survive_kills(executor: str, data: str, tmp_path: Path) -> None:
    file = chaos.write(tmp_path / "sweep.yaml", chaos.stages(data))
    words = ["jobs=2"] if executor == "pool" else []
    wanted = ["worker", "driver"] * 2 if executor == "pool" else ["driver"] * 3
    folder = tmp_path / "killed"
    kills = chaos.disturb(chaos.command(file, folder, executor, *words), folder, Random(SEED), wanted)
    print(kills)  # noqa: T201
    assert chaos.story(folder) == chaos.undisturbed(file, tmp_path / "calm")
