from pathlib import Path

import pytest

from dartboard.errors import RunError
from dartboard.runs import Lock, is_locked
from dartboard.runs.directory import (
    SWEEP_PLAN,
    check_free,
    check_run,
    is_run,
    read_run_names,
    write_run_names,
)
from dartboard.runs.lock import lock_unless_failed


def make_run(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "config.yaml").touch()
    return path


def test_a_run_is_what_has_a_configuration(tmp_path):
    assert not is_run(tmp_path)
    assert not is_run(tmp_path / "nowhere")
    assert is_run(make_run(tmp_path / "run"))
    check_run(tmp_path / "run")


def test_a_missing_directory_is_no_run(tmp_path):
    with pytest.raises(RunError, match="nowhere is not a run: there is no such directory"):
        check_run(tmp_path / "nowhere")


def test_runs_inside_are_offered(tmp_path):
    for number in range(8):
        make_run(tmp_path / f"run{number}")
    with pytest.raises(RunError) as caught:
        check_run(tmp_path)
    offered = ", ".join(str(tmp_path / f"run{number}") for number in range(6))
    assert str(caught.value).endswith(
        f"is not a run: it has no config.yaml; did you mean {offered} and 2 more?"
    )


def test_the_run_around_is_offered(tmp_path):
    (make_run(tmp_path / "run") / "checkpoints").mkdir()
    with pytest.raises(RunError, match=f"did you mean {tmp_path / 'run'}\\?$"):
        check_run(tmp_path / "run" / "checkpoints")


def test_with_nothing_near_nothing_is_offered(tmp_path):
    with pytest.raises(RunError, match=r"has no config\.yaml$"):
        check_run(tmp_path)


def test_a_run_is_not_free(tmp_path):
    path = make_run(tmp_path / "run")
    message = f"{path} already holds a run; continue it with --resume {path} or choose another directory"
    with pytest.raises(RunError, match=message):
        check_free(path)


@pytest.mark.parametrize("name", ["thesis.tex", "space.json", "environment.json", ".git"])
def test_a_directory_with_something_in_it_is_not_free(tmp_path, name):
    (tmp_path / name).touch()
    with pytest.raises(RunError, match=f"is not empty: it holds {name}; choose another directory"):
        check_free(tmp_path)


def test_a_file_is_not_free(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="file is a file"):
        check_free(tmp_path / "file")


def test_what_a_killed_maker_left_is_free(tmp_path):
    check_free(tmp_path / "nowhere")
    check_free(tmp_path)
    for name in (".space.json.0123456789abcdef.tmp", "lock", "space.json", "environment.json"):
        (tmp_path / name).touch()
        check_free(tmp_path)
    (tmp_path / "more").touch()
    with pytest.raises(RunError, match="is not empty"):
        check_free(tmp_path)


def test_taking_releases_only_on_failure(tmp_path):
    with lock_unless_failed(tmp_path) as lock:
        pass
    assert is_locked(tmp_path)
    lock.release()
    with pytest.raises(KeyError), lock_unless_failed(tmp_path):
        raise KeyError
    Lock(tmp_path).take()


def test_names_come_back(tmp_path: Path) -> None:
    assert read_run_names(tmp_path) is None
    write_run_names(tmp_path, ["search/a", "search/b"])
    assert read_run_names(tmp_path) == ["search/a", "search/b"]


def test_what_is_there_already_is_not_written_again(tmp_path: Path) -> None:
    write_run_names(tmp_path, ["a"])
    before = (tmp_path / SWEEP_PLAN).stat().st_ino
    write_run_names(tmp_path, ["a"])
    assert (tmp_path / SWEEP_PLAN).stat().st_ino == before
    write_run_names(tmp_path, ["a", "b"])
    assert read_run_names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("text", ["{}", "[]", "x", '{"runs": 3}', '{"runs": [3]}'])
def test_damage_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / SWEEP_PLAN).write_text(text)
    with pytest.raises(RunError, match=r"plan\.json"):
        read_run_names(tmp_path)
