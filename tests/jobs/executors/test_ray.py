"""The Ray executor, on one cluster of this machine for all tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dartboard.errors import DartboardError, OptionError, UnknownNameError
from dartboard.jobs.executors.ray import REACHABLE, RayExecutor, RayOptions, _connect, find_ray
from dartboard.jobs.queue import JobQueue
from dartboard.runs import Run, is_run
from helpers.executor_checks import (
    ENDLESS,
    assert_equals_inline,
    is_resumable,
    method_plugin,
    signal_writer,
    submit_and_wait,
    submit_good_and_bad,
    wait_for_results,
    wait_until,
)
from helpers.sockets import listening
from helpers.sweep_cases import search_job

pytestmark = pytest.mark.usefixtures("one_thread", "cluster")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayExecutor]:
    executor = RayExecutor(jobs=2)
    yield executor
    executor.close()


@pytest.fixture
def ray() -> Iterator[RayExecutor]:
    """An executor of its own on the cluster that is there."""
    executor = RayExecutor(jobs=2)
    yield executor
    executor.close()


def test_runs_are_those_of_this_process_and_a_failure_is_said(
    data: str, tmp_path: Path, ray: RayExecutor
) -> None:
    good, found = submit_good_and_bad(ray, tmp_path, data)
    assert list((tmp_path / "ray").iterdir()) == []
    assert_equals_inline(good, found)


def test_nobody_else_can_reach_the_cluster(data: str, tmp_path: Path, ray: RayExecutor) -> None:
    ray.submit(job := search_job(tmp_path, data, *ENDLESS))
    wait_until(lambda: is_resumable(job.path))
    addresses = listening(os.getpid())
    ray.stop()
    wait_for_results(ray, 1)
    assert len(addresses) >= 5  # of the head: its store, a raylet (two), an agent; of the driver, of workers
    assert all(address.is_loopback for address in addresses), addresses
    assert REACHABLE not in os.environ


def test_a_killed_worker_is_lost_and_its_run_goes_on(data: str, tmp_path: Path, ray: RayExecutor) -> None:
    job = search_job(tmp_path, data, "epochs=20", "checkpoint.steps=2")
    ray.submit(job)
    signal_writer(job.path)
    [outcome] = wait_for_results(ray, 1).values()
    assert outcome.state == "lost"
    assert "\n" not in outcome.error
    [outcome] = submit_and_wait(ray, [job]).values()
    assert outcome.state == "finished"
    assert len(Run.read(job.path).environment()) == 2


def test_a_stop_saves_what_runs_and_takes_back_what_waits(
    data: str, tmp_path: Path, ray: RayExecutor
) -> None:
    jobs = [search_job(tmp_path, data, *ENDLESS, name=name) for name in "abc"]
    for job in jobs:
        ray.submit(job)
    wait_until(lambda: sum(is_resumable(job.path) for job in jobs) == 2)  # there is room for two
    ray.stop()
    found = wait_for_results(ray, 3)
    assert {own.state for own in found.values()} == {"stopped"}
    assert sorted(Run.read(job.path).state for job in jobs if is_run(job.path)) == ["stopped", "stopped"]


def test_a_run_that_fails_too_often_is_given_up(data: str, tmp_path: Path, ray: RayExecutor) -> None:
    own, name = method_plugin(tmp_path)
    bad = search_job(tmp_path, data, f"method={name}", name="bad", plugins=(own,))
    queue = JobQueue(ray, tries=2, retry_failed=True)
    found = {result.job.name: result for result in queue.run([bad, search_job(tmp_path, data)])}
    words = f"ZeroDivisionError: one line; see {bad.path}/log.txt"
    assert (found["bad"].state, found["bad"].error) == ("failed", words)
    assert len(Run.read(bad.path).environment()) == 2
    assert found["search/darts-s0"].state == "finished"


def test_flags_of_an_earlier_driver_are_taken_away(data: str, tmp_path: Path, ray: RayExecutor) -> None:
    old, new = (search_job(tmp_path, data, *words, name=words[0]) for words in (ENDLESS, ["epochs=1"]))
    ray.submit(old)
    wait_until(lambda: is_resumable(old.path))
    other = RayExecutor(jobs=1)
    found = submit_and_wait(other, [new])
    assert found[new.name].state == "finished"
    [outcome] = wait_for_results(ray, 1).values()
    assert (outcome.state, outcome.error) == ("lost", "its flag in the sweep's directory was taken away")
    assert Run.read(old.path).state == "stopped"
    other.close()


def test_options_are_read(data: str, tmp_path: Path) -> None:
    assert RayExecutor(jobs=5).capacity == 5
    assert RayExecutor().capacity == 2
    assert RayExecutor(cpus=2).capacity == 1
    assert RayExecutor(cpus=64).capacity == 1  # a machine that is large enough may come
    assert RayExecutor(gpus=0.5).capacity == 1
    executor = RayExecutor(cpus=2, device="meta")
    [outcome] = submit_and_wait(executor, [search_job(tmp_path, data)]).values()
    assert outcome.state == "failed"
    assert "the device meta cannot be used" in outcome.error
    [outcome] = submit_and_wait(RayExecutor(cpus=2), [job := search_job(tmp_path, data)]).values()
    assert Run.read(job.path).environment()[0]["threads"] == 2
    [outcome] = submit_and_wait(
        RayExecutor(cpus=2, threads=1), [job := search_job(tmp_path, data, name="b")]
    ).values()
    assert Run.read(job.path).environment()[0]["threads"] == 1


def test_a_machine_that_does_not_see_the_sweep(data: str, tmp_path: Path) -> None:
    from dartboard.jobs.executors._remote import run_flagged

    outcome = run_flagged(search_job(tmp_path, data), tmp_path / "ray" / "flag")
    assert outcome.state == "failed"
    assert (
        f"does not see {tmp_path}/ray; put the sweep in a directory that all machines share" in outcome.error
    )


def test_a_cluster_that_is_not_there() -> None:
    with pytest.raises(
        DartboardError, match=r"cannot join the Ray cluster '127\.0\.0\.1:1': .*refused; start one"
    ):
        _connect(find_ray(), RayOptions(address="127.0.0.1:1"))


def test_what_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="no setting called 'adress'; did you mean 'address'"):
        RayExecutor(adress="auto")
    with pytest.raises(OptionError, match="gpus=-1"):
        RayExecutor(gpus=-1)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(DartboardError, match=r"Ray is not installed; .* pip install 'dartboard\[ray\]'"):
        RayExecutor()
