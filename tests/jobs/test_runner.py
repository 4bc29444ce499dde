"""Jobs that run in this process."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml

from dartboard.cli.main import main
from dartboard.errors import RunError
from dartboard.jobs.job import Job
from dartboard.jobs.runner import JobRunner, kind_of
from dartboard.runs import Run
from dartboard.search import Hook, Searcher
from helpers.executor_checks import method_plugin
from helpers.sweep_cases import SEARCH, TRAINING, digest, run_job, search_job, train_job

pytestmark = pytest.mark.usefixtures("one_thread")


def test_a_search_is_what_dartboard_search_does(data: str, tmp_path: Path) -> None:
    job = search_job(tmp_path, data, threads=1)
    assert run_job(job).state == "finished"
    words = [*SEARCH, "epochs=2", "--data", data, "--threads", "1", "--quiet", "--no-report"]
    assert main(["search", *words, "--out", str(tmp_path / "other")]) == 0
    assert digest(job.path) == digest(tmp_path / "other")
    assert Run.read(job.path).config == Run.read(tmp_path / "other").config
    names = {path.name for path in job.path.iterdir()}
    assert names == {path.name for path in (tmp_path / "other").iterdir()}


def test_a_training_is_what_dartboard_train_does(data: str, tmp_path: Path) -> None:
    job = train_job(tmp_path, data, threads=1)
    assert run_job(job).state == "finished"
    words = [*TRAINING, "epochs=2", "--data", data, "--threads", "1", "--quiet", "--no-report"]
    cell = job.config["cell"]
    assert main(["train", cell, "--space", "nano", *words, "--out", str(tmp_path / "other")]) == 0
    assert digest(job.path) == digest(tmp_path / "other")
    assert Run.read(job.path).config == Run.read(tmp_path / "other").config


def test_a_finished_run_is_kept_untouched(data: str, tmp_path: Path) -> None:
    job = search_job(tmp_path, data)
    assert run_job(job).state == "finished"
    before = {path: path.stat().st_mtime_ns for path in job.path.rglob("*")}
    assert run_job(job).state == "finished"
    assert {path: path.stat().st_mtime_ns for path in job.path.rglob("*")} == before


@pytest.mark.parametrize("make", [search_job, train_job])
def test_a_pause_changes_nothing_in_the_end(make: type[Job], data: str, tmp_path: Path) -> None:
    job = make(tmp_path, data, "epochs=3")  # type: ignore[arg-type]
    assert run_job(replace(job, until=1)).state == "paused"
    assert len(Run.read(job.path).metrics()) == 1
    assert run_job(replace(job, until=1)).state == "paused"
    assert len(Run.read(job.path).environment()) == 1  # it was not begun again
    assert run_job(job).state == "finished"
    whole = replace(job, name="whole")
    assert run_job(whole).state == "finished"
    assert digest(job.path) == digest(whole.path)


def test_a_stop_saves_after_the_step(data: str, tmp_path: Path) -> None:
    job, runner, steps = search_job(tmp_path, data), JobRunner(), iter(range(100))

    class StopAtThird(Hook):
        def on_step_end(self, _: Searcher) -> None:
            if next(steps) == 2:
                runner.stop()

    runner.hooks += (StopAtThird(),)
    assert runner.run(job).state == "stopped"
    run = Run.read(job.path)
    state = run.load()
    assert state is not None
    assert state[0] == 3
    assert run_job(job).state == "finished"


def test_a_stopped_runner_starts_nothing(data: str, tmp_path: Path) -> None:
    runner = JobRunner()
    runner.stop()
    job = search_job(tmp_path, data)
    assert runner.run(job).state == "stopped"
    assert not job.path.exists()


def test_a_run_in_use_is_left_to_its_owner(data: str, tmp_path: Path) -> None:
    job = search_job(tmp_path, data)
    with Run.create(job.path, job.config):
        result = run_job(job)
    assert result.state == "busy"
    assert "is in use by process" in result.error


def test_a_run_with_other_settings_is_refused(data: str, tmp_path: Path) -> None:
    job = search_job(tmp_path, data)
    assert run_job(job).state == "finished"
    other = search_job(tmp_path, data, "weights.lr=0.2")
    result = run_job(other)
    assert result.state == "failed"
    assert "weights.lr was 0.1, is 0.2; move it away" in result.error
    with pytest.raises(RunError, match=r"weights\.lr was 0\.1"):
        kind_of(other).status(other)


@pytest.mark.usefixtures("without_checksums")
def test_settings_that_an_older_run_does_not_have_are_their_defaults(data: str, tmp_path: Path) -> None:
    job = search_job(tmp_path, data)
    assert run_job(job).state == "finished"
    config = yaml.safe_load((job.path / "config.yaml").read_text())
    del config["deterministic"]
    (job.path / "config.yaml").write_text(yaml.safe_dump(config))
    assert kind_of(job).status(job) == "finished"


def test_threads_are_the_jobs_and_then_the_runs(data: str, tmp_path: Path) -> None:
    job = search_job(tmp_path, data, threads=2)
    assert run_job(replace(job, until=1)).state == "paused"
    assert torch.get_num_threads() == 1
    assert run_job(replace(job, threads=1)).state == "finished"
    assert [start["threads"] for start in Run.read(job.path).environment()] == [2, 2]


def test_a_device_that_is_not_there(data: str, tmp_path: Path) -> None:
    result = run_job(search_job(tmp_path, data, device="nowhere"))
    assert result.state == "failed"
    assert "the device nowhere cannot be used" in result.error
    assert "cpu always can" in result.error


def test_an_error_is_one_line_and_its_traceback_is_in_the_log(data: str, tmp_path: Path) -> None:
    own, name = method_plugin(tmp_path)
    job = search_job(tmp_path, data, f"method={name}", plugins=(own,))
    result = run_job(job)
    assert result.error_type == "ZeroDivisionError"
    words = f"ZeroDivisionError: one line; see {job.path}/log.txt"
    assert (result.state, result.error) == ("failed", words)
    assert "Traceback" in (job.path / "log.txt").read_text()
    assert Run.read(job.path).state == "stopped"


def test_a_run_that_stops_by_itself_has_failed(data: str, tmp_path: Path) -> None:
    own, name = method_plugin(tmp_path, "searcher.stop()")
    job = search_job(tmp_path, data, f"method={name}", "epochs=3", plugins=(own,))
    result = run_job(replace(job, until=2))
    assert result.state == "failed"
    assert "stopped by itself after 1 epochs" in result.error
    assert run_job(replace(job, until=2)).state == "paused"


def test_an_older_checkpoint_will_do_if_that_is_asked(data: str, tmp_path: Path) -> None:
    job, whole = (search_job(tmp_path, data, "epochs=3", name=name) for name in ("a", "b"))
    for until in (1, 2):
        assert run_job(replace(job, until=until)).state == "paused"
    newest = max((job.path / "checkpoints").iterdir())
    for file in newest.iterdir():
        file.write_bytes(b"?")
    result = run_job(job)
    assert result.state == "failed"
    assert newest.name in result.error
    assert run_job(replace(job, fall_back=True)).state == "finished"
    assert run_job(whole).state == "finished"
    assert digest(job.path) == digest(whole.path)


def test_trainings_that_choose_do_not_look_at_test_images(data: str, tmp_path: Path) -> None:
    job = train_job(tmp_path, data, "data.valid=0.25")
    assert run_job(replace(job, test=False)).state == "finished"
    other = replace(job, name="other")
    assert run_job(other).state == "finished"
    first, second = (Run.read(path).result() or {} for path in (job.path, other.path))
    assert set(first["last"]) == {"valid"}
    assert set(second["last"]) == {"valid", "test"}
    assert first["digest"] == second["digest"]
