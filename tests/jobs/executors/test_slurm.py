"""The Slurm executor, on the queues of this machine that submitit has to try things with."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from dartboard.errors import DartboardError, OptionError, UnknownNameError
from dartboard.jobs.executors._remote import Submission
from dartboard.jobs.executors.slurm import SlurmExecutor, run_submission
from dartboard.runs import Run, is_run
from helpers.executor_checks import (
    ENDLESS,
    assert_equals_inline,
    is_resumable,
    signal_writer,
    submit_and_wait,
    submit_good_and_bad,
    wait_for_results,
    wait_until,
    writer_pid,
)
from helpers.sweep_cases import search_job

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def local() -> Iterator[SlurmExecutor]:
    executor = SlurmExecutor(cluster="local", jobs=2)
    yield executor
    executor.close()


def left(folder: Path) -> list[str]:
    """What is in the queue, as the sweep's directory says, and what was printed."""
    return sorted(path.name for own in ("queue", "logs") for path in (folder / "slurm" / own).iterdir())


def test_runs_are_those_of_this_process_and_a_failure_is_said(
    data: str, tmp_path: Path, local: SlurmExecutor
) -> None:
    good, found = submit_good_and_bad(local, tmp_path, data)
    assert [name[-4:] for name in left(tmp_path)] == [".err", ".out"]  # of what failed
    assert_equals_inline(good, found)


def test_jobs_see_no_ctrl_c_and_no_modules_where_the_program_is(
    data: str, tmp_path: Path, local: SlurmExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "grp.py").write_text("raise RuntimeError('not the module that is meant')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    job = search_job(tmp_path, data, "epochs=2", "checkpoint.steps=2")
    local.submit(job)
    wait_until(lambda: is_run(job.path) and Run.read(job.path).state != "stopped")
    with suppress(ProcessLookupError):
        os.kill(writer_pid(job.path), signal.SIGINT)
    assert [own.state for own in wait_for_results(local, 1).values()] == ["finished"]
    assert "PYTHONSAFEPATH" not in os.environ
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.slow
def test_a_killed_process_is_lost_and_its_run_goes_on(
    data: str, tmp_path: Path, local: SlurmExecutor
) -> None:
    job = search_job(tmp_path, data, "epochs=20", "checkpoint.steps=2")
    local.submit(job)
    signal_writer(job.path)
    [outcome] = wait_for_results(local, 1).values()
    assert outcome.state == "lost"
    assert f"see {tmp_path}/slurm/logs/" in outcome.error
    [outcome] = submit_and_wait(local, [job]).values()
    assert outcome.state == "finished"
    assert len(Run.read(job.path).environment()) == 2


@pytest.mark.parametrize("number", [signal.SIGUSR2, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_job_that_has_to_go_saves_its_state(
    number: signal.Signals, data: str, tmp_path: Path, local: SlurmExecutor
) -> None:
    job = search_job(tmp_path, data, *ENDLESS)
    local.submit(job)
    signal_writer(job.path, number)
    [outcome] = wait_for_results(local, 1).values()
    assert outcome.state == "lost"
    assert outcome.error == f"its machine asked it to go, with {number.name}; its state is saved"
    run = Run.read(job.path)
    assert run.state == "stopped"
    assert (run.load() or (0,))[0] >= 32 * len(run.metrics())


@pytest.mark.slow
def test_a_stop_saves_what_runs_and_takes_back_what_waits(data: str, tmp_path: Path) -> None:
    executor = SlurmExecutor(cluster="local", setup=["while [ -e wait ]; do sleep 0.05; done"])
    running, waiting = (search_job(tmp_path, data, *ENDLESS, name=name) for name in ("a", "b"))
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        executor.submit(running)
        wait_until(lambda: is_resumable(running.path))
        Path("wait").touch()
        executor.submit(waiting)
        executor.stop()
        found = wait_for_results(executor, 2)
    finally:
        os.chdir(before)
        executor.close()
    assert {own.state for own in found.values()} == {"stopped"}
    assert Run.read(running.path).state == "stopped"
    assert not is_run(waiting.path)
    assert left(tmp_path) == []


def test_another_driver_takes_over(data: str, tmp_path: Path, local: SlurmExecutor) -> None:
    job = search_job(tmp_path, data, "epochs=30", "checkpoint.steps=2")
    other = search_job(tmp_path, data, name="other")
    gone = SlurmExecutor(cluster="local")  # what happens after this is as if it had been killed
    gone.submit(job)
    gone.submit(other)
    wait_until(lambda: is_run(other.path) and Run.read(other.path).state == "finished")
    wait_until(lambda: is_resumable(job.path))
    first = writer_pid(job.path)
    found = submit_and_wait(local, [job, other])
    assert {own.state for own in found.values()} == {"finished"}
    assert writer_pid(job.path) == first  # the same process did all of it
    assert len(Run.read(job.path).environment()) == 1
    assert left(tmp_path) == []
    wait_for_results(gone, 2)


@pytest.mark.slow
def test_what_may_never_have_been_handed_over_is_handed_over_again(
    data: str, tmp_path: Path, local: SlurmExecutor
) -> None:
    job = search_job(tmp_path, data)
    half = Submission.create(tmp_path / "slurm" / "queue", replace(job, threads=1))
    [outcome] = submit_and_wait(local, [job]).values()
    assert outcome.state == "finished"
    assert not half.path.exists()
    run_submission(str(half.path))  # the queue had it after all
    assert len(Run.read(job.path).environment()) == 1


@pytest.mark.slow
def test_another_job_of_the_same_run_is_withdrawn(data: str, tmp_path: Path, local: SlurmExecutor) -> None:
    job = search_job(tmp_path, data, *ENDLESS)
    gone = SlurmExecutor(cluster="local")
    gone.submit(job)
    wait_until(lambda: is_resumable(job.path))
    local.submit(replace(job, until=1))
    [outcome] = wait_for_results(local, 1).values()
    assert outcome.state in ("busy", "paused")
    wait_until(lambda: Run.read(job.path).state == "stopped")
    wait_for_results(gone, 1)


@pytest.mark.slow
def test_closing_ends_all(data: str, tmp_path: Path) -> None:
    executor = SlurmExecutor(cluster="local")
    job = search_job(tmp_path, data, *ENDLESS)
    executor.submit(job)
    wait_until(lambda: is_resumable(job.path))
    executor.close()
    wait_until(lambda: Run.read(job.path).state == "stopped")
    assert left(tmp_path) == []


@pytest.mark.filterwarnings("ignore:Exception ignored in.*DEBUG_")  # submitit leaves two files open
def test_in_the_process_of_the_driver(data: str, tmp_path: Path) -> None:
    executor = SlurmExecutor(cluster="debug", threads=1)
    job = search_job(tmp_path, data)
    [outcome] = submit_and_wait(executor, [job]).values()
    assert outcome.state == "finished"
    assert writer_pid(job.path) == os.getpid()
    executor.close()


def test_what_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="no setting called 'partitoin'; did you mean 'partition'"):
        SlurmExecutor(partitoin="gpu")
    with pytest.raises(OptionError, match="time='long': input should be a valid integer"):
        SlurmExecutor(time="long")
    with pytest.raises(OptionError, match="Unknown argument 'quality' for executor 'slurm'"):
        SlurmExecutor(cluster="local", slurm_quality="high")
    with pytest.raises(DartboardError, match="no sbatch and sacct here; go to a login node"):
        SlurmExecutor()
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(
        DartboardError, match=r"submitit is not installed; .* pip install 'dartboard\[slurm\]'"
    ):
        SlurmExecutor(cluster="local")
