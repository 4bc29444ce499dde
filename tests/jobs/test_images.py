"""The images that the runs of a sweep have in common."""

from dataclasses import replace
from pathlib import Path

import pytest

from helpers.protocol_cases import few_digits
from helpers.sweep_cases import run_job, search_job

pytestmark = pytest.mark.usefixtures("one_thread")


def test_other_images_under_the_same_name_are_refused(tmp_path: Path) -> None:
    data = few_digits(tmp_path / "own.npz")
    assert run_job(search_job(tmp_path, data, same_images=True)).state == "finished"
    few_digits(tmp_path / "own.npz", test=20)
    outcome = run_job(search_job(tmp_path, data, "seed=1", name="search/darts-s1", same_images=True))
    assert outcome.state == "failed"
    assert outcome.error.startswith(f"the images of {data} are not those that earlier runs of this sweep saw")
    assert not (tmp_path / "search" / "darts-s1").exists()
    elsewhere = replace(
        search_job(tmp_path, data, "seed=1", same_images=True), folder=str(tmp_path / "elsewhere")
    )
    assert run_job(elsewhere).state == "finished"
