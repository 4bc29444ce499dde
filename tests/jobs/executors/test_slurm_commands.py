"""The Slurm executor and Slurm's own commands, which are played by processes of this machine."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from submitit import SlurmJob

from dartboard.errors import DartboardError
from dartboard.jobs.executors import slurm
from dartboard.jobs.executors.slurm import SlurmExecutor
from dartboard.runs import Run, is_run
from helpers.executor_checks import (
    ENDLESS,
    is_resumable,
    signal_writer,
    wait_for_results,
    wait_until,
    writer_pid,
)
from helpers.slurm_commands import install
from helpers.sweep_cases import search_job

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    SlurmJob.watcher.clear()  # numbers of jobs begin anew
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return install(tmp_path / "bin")


@pytest.fixture
def executor(cluster: Path) -> Iterator[SlurmExecutor]:  # noqa: ARG001
    own = SlurmExecutor(poll=0.1)
    yield own
    own.close()


def kill_machine(cluster: Path, number: int) -> None:
    """Ends all processes of a job at once."""
    os.killpg(int((cluster / f"{number}.group").read_text()), signal.SIGKILL)


def test_a_job_asks_for_what_the_options_say(data: str, tmp_path: Path, cluster: Path) -> None:
    options = {"partition": "gpu", "account": "us", "time": 90, "cpus": 3, "gpus": 2, "memory": 7, "jobs": 5}
    executor = SlurmExecutor(
        **options, setup=["echo ready > ready"], slurm_qos="high", slurm_signal_delay_s=77
    )
    assert executor.capacity == 5
    (cluster / "hold").touch()
    executor.submit(search_job(tmp_path, data))
    script = (cluster / "1.sh").read_text()
    for word in ("partition=gpu", "account=us", "time=90", "cpus-per-task=3", "gpus-per-node=2", "mem=7GB"):
        assert f"#SBATCH --{word}\n" in script
    assert "#SBATCH --qos=high\n" in script
    assert "#SBATCH --signal=USR2@77\n" in script
    assert "\necho ready > ready\n" in script
    executor.close()
    assert (cluster / "1.cancelled").exists()


def test_a_machine_that_fails_and_a_driver_that_is_gone(
    data: str, tmp_path: Path, cluster: Path, executor: SlurmExecutor
) -> None:
    job = search_job(tmp_path, data, "epochs=30", "checkpoint.steps=2")
    gone = SlurmExecutor(poll=0.1)
    gone.submit(job)  # and is killed now
    wait_until(lambda: is_resumable(job.path))
    executor.submit(job)
    kill_machine(cluster, 1)
    [outcome] = wait_for_results(executor, 1).values()
    assert outcome.state == "lost"
    assert outcome.error.startswith("job 1: NODE_FAIL; see ")
    executor.submit(job)
    [outcome] = wait_for_results(executor, 1).values()
    assert outcome.state == "finished"
    assert len(Run.read(job.path).environment()) == 2
    assert len(list(cluster.glob("*.sh"))) == 2


@pytest.mark.slow
def test_a_running_job_is_taken_over(
    data: str, tmp_path: Path, cluster: Path, executor: SlurmExecutor
) -> None:
    job = search_job(tmp_path, data, "epochs=20")
    gone = SlurmExecutor(poll=0.1)
    gone.submit(job)
    wait_until(lambda: is_resumable(job.path))
    first = writer_pid(job.path)
    executor.submit(job)
    [outcome] = wait_for_results(executor, 1).values()
    assert outcome.state == "finished"
    assert writer_pid(job.path) == first
    assert len(list(cluster.glob("*.sh"))) == 1


def test_a_stop_takes_back_what_waits(
    data: str, tmp_path: Path, cluster: Path, executor: SlurmExecutor
) -> None:
    (cluster / "hold").touch()
    job = search_job(tmp_path, data)
    executor.submit(job)
    executor.completed(0.3)
    executor.stop()
    [outcome] = wait_for_results(executor, 1).values()
    assert outcome.state == "stopped"
    assert (cluster / "1.cancelled").exists()
    assert not is_run(job.path)


def test_what_another_driver_left_that_nobody_asks_for_is_taken_back(
    data: str, tmp_path: Path, cluster: Path, executor: SlurmExecutor
) -> None:
    (cluster / "hold").touch()
    job = search_job(tmp_path, data)
    gone = SlurmExecutor(poll=0.1)
    gone.submit(job)
    gone.submit(replace(job, name="other"))
    executor.submit(replace(job, until=1))
    assert (cluster / "1.cancelled").exists()  # as that was to go on to the end
    assert not (cluster / "2.cancelled").exists()
    executor.close()
    assert {path.name for path in cluster.glob("*.cancelled")} == {
        "1.cancelled",
        "2.cancelled",
        "3.cancelled",
    }


def test_what_the_queue_refuses(
    data: str, tmp_path: Path, cluster: Path, executor: SlurmExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "PAUSE", 0.01)
    job = search_job(tmp_path, data)
    (cluster / "refuse").touch()
    with pytest.raises(
        DartboardError, match=r"the queue refuses a job: .*invalid partition specified: nowhere"
    ):
        executor.submit(job)
    (cluster / "refuse").unlink()
    (cluster / "hold").touch()
    executor.submit(job)
    (cluster / "refuse").touch()
    executor.submit(replace(job, name="other"))  # others are in the queue: it may be full
    [outcome] = wait_for_results(executor, 1).values()
    assert (outcome.job.name, outcome.state) == ("other", "lost")
    assert "invalid partition specified" in outcome.error


@pytest.mark.slow
def test_time_that_is_up(data: str, tmp_path: Path, executor: SlurmExecutor) -> None:
    job = search_job(tmp_path, data, *ENDLESS)
    executor.submit(job)
    signal_writer(job.path, signal.SIGUSR2)
    [outcome] = wait_for_results(executor, 1).values()
    assert outcome.state == "lost"
    assert "asked it to go, with SIGUSR2" in outcome.error
    assert Run.read(job.path).state == "stopped"
