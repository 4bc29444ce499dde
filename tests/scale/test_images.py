"""The images that the runs of a sweep have in common."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dartboard.scale.images import write_first
from dartboard.scale.work import work
from protocols import few
from sweeps import search_job

pytestmark = pytest.mark.usefixtures("one_thread")


def test_other_images_under_the_same_name_are_refused(tmp_path: Path) -> None:
    data = few(tmp_path / "own.npz")
    assert work(search_job(tmp_path, data)).state == "finished"
    few(tmp_path / "own.npz", test=20)
    outcome = work(search_job(tmp_path, data, "seed=1", name="search/darts-s1"))
    assert outcome.state == "failed"
    assert outcome.error.startswith(f"the images of {data} are not those that earlier runs of this sweep saw")
    assert not (tmp_path / "search" / "darts-s1").exists()
    elsewhere = replace(search_job(tmp_path, data, "seed=1"), folder=str(tmp_path / "elsewhere"))
    assert work(elsewhere).state == "finished"


def test_the_first_of_several_says_which_images_are_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "images" / "a.txt"
    write_first(path, "first")
    write_first(path, "second")
    assert path.read_text() == "first\n"
    monkeypatch.setattr(os, "link", refuse)
    write_first(path.with_name("b.txt"), "third")
    assert path.with_name("b.txt").read_text() == "third\n"
    assert sorted(own.name for own in path.parent.iterdir()) == ["a.txt", "b.txt"]


def refuse(*_: object) -> None:
    raise PermissionError("no links here")
