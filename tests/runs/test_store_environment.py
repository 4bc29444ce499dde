import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

import dartboard
from dartboard.runs import describe_environment, store
from dartboard.runs.store import describe_source

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]


def git(folder, *arguments):
    command = [*GIT, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    (root / "file").write_text("a")
    git(root, "add", "file")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def fake_git(tmp_path, monkeypatch):
    """Replaces git by a shell script."""

    def install(script):
        path = tmp_path / "bin" / "git"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")

    return install


def test_it_says_what_a_run_was_started_with():
    found = describe_environment()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["torch"] == torch.__version__
    assert found["dartboard"] == dartboard.__version__
    assert found["threads"] == torch.get_num_threads()
    assert found["command"] == sys.argv
    assert found["cpus"] >= 1
    assert {"numpy", "platform", "host", "cuda", "git"} <= found.keys()
    time = datetime.fromisoformat(found["time"])
    assert time.utcoffset().total_seconds() == 0
    assert 0 <= (datetime.now(UTC) - time).total_seconds() < 60


def test_the_source_is_the_tree_that_dartboard_is_in():
    root = Path(dartboard.__file__).parents[2]
    assert describe_environment()["git"] == describe_source(root)


def test_revision_and_changes(repository):
    revision = git(repository, "rev-parse", "HEAD")
    assert describe_source(repository) == {"revision": revision, "dirty": False}
    (repository / "file").write_text("b")
    assert describe_source(repository) == {"revision": revision, "dirty": True}


def test_looking_does_not_touch_the_repository(repository):
    index = repository / ".git" / "index"
    os.utime(repository / "file", (1, 1))  # git would note that it is unchanged
    before = index.read_bytes()
    describe_source(repository)
    assert index.read_bytes() == before


def test_a_folder_inside_someone_elses_repository_is_none(repository):
    inner = repository / "site-packages"
    inner.mkdir()
    assert describe_source(inner) is None


def test_without_git_there_is_no_revision(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe_source(repository) is None
    assert describe_environment()["git"] is None


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$", "printf '\\377'"])
def test_a_git_that_fails_is_as_none(repository, fake_git, script):
    fake_git(script)
    assert describe_source(repository) is None


def test_a_git_that_hangs_is_given_up(repository, fake_git, monkeypatch):
    monkeypatch.setattr(store, "_SECONDS", 0.1)
    fake_git("exec sleep 30")
    assert describe_source(repository) is None


def test_a_repository_without_commits_has_no_revision(tmp_path):
    git(tmp_path, "init", "-q")
    assert describe_source(tmp_path) is None


def test_a_graphics_card_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Card 9000")
    assert describe_environment()["cuda"] == "Card 9000"
