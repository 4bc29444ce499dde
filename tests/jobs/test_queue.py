"""Jobs that fail, are lost or are held by other processes, on an executor with scripted results."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from dartboard.errors import Stopped
from dartboard.jobs import queue as queue_module
from dartboard.jobs.job import Job, JobResult, Monitor, State
from dartboard.jobs.queue import JobQueue


class Scripted:
    """Ends jobs with scripted states, by name; the last state repeats."""

    def __init__(self, states: dict[str, list[State]], capacity: int = 2) -> None:
        self.states, self.capacity = states, capacity
        self.submitted: list[str] = []
        self.running: list[Job] = []
        self.most = 0
        self.on_start = lambda _: None

    def submit(self, job: Job) -> None:
        self.submitted.append(job.name)
        self.running.append(job)
        self.most = max(self.most, len(self.running))
        self.on_start(job)

    def completed(self, seconds: float) -> Sequence[JobResult]:  # noqa: ARG002
        job = self.running.pop(0)
        states = self.states[job.name]
        state = states.pop(0) if len(states) > 1 else states[0]
        return [JobResult(job, state, "why" if state == "failed" else "")]

    def stop(self) -> None:
        self.states = {name: ["stopped"] for name in self.states}

    def close(self) -> None: ...


def run(
    executor: Scripted, folder: Path, tries: int = 3, *, retry_failed: bool = True
) -> dict[str, tuple[str, str]]:
    jobs = [Job(name, str(folder), "search", {}) for name in executor.states]
    queue = JobQueue(executor, tries=tries, retry_failed=retry_failed)
    return {result.job.name: (result.state, result.error) for result in queue.run(jobs)}


def test_all_are_done_and_no_more_at_a_time_than_the_capacity(tmp_path: Path) -> None:
    executor = Scripted({name: ["finished"] for name in "abcde"})
    assert run(executor, tmp_path) == dict.fromkeys("abcde", ("finished", ""))
    assert executor.most == 2
    assert executor.submitted == list("abcde")


@pytest.mark.parametrize(
    ("tries", "submitted", "end"), [(3, 3, "finished"), (2, 2, "failed"), (1, 1, "failed")]
)
def test_what_fails_is_submitted_again(tmp_path: Path, tries: int, submitted: int, end: str) -> None:
    executor = Scripted({"a": ["failed", "failed", "finished"], "b": ["finished"]})
    results = run(executor, tmp_path, tries)
    assert results["a"] == (end, "why" if end == "failed" else "")
    assert results["b"] == ("finished", "")
    assert executor.submitted.count("a") == submitted


def test_what_fails_is_given_up_where_only_losses_are_retried(tmp_path: Path) -> None:
    executor = Scripted({"a": ["failed", "finished"], "b": ["lost", "finished"]})
    results = run(executor, tmp_path, retry_failed=False)
    assert results == {"a": ("failed", "why"), "b": ("finished", "")}


def test_what_is_lost_without_getting_further_is_given_up(tmp_path: Path) -> None:
    executor = Scripted({"a": ["lost"]})
    words = "lost 3 times without getting further"
    assert run(executor, tmp_path)["a"] == ("failed", words)
    assert executor.submitted == ["a"] * 3


def test_what_is_lost_and_got_further_does_not_count(tmp_path: Path) -> None:
    executor, steps = Scripted({"a": [*["lost"] * 6, "finished"]}), iter(range(100))
    (tmp_path / "a").mkdir()
    lines = tmp_path / "a" / "metrics.jsonl"
    executor.on_start = lambda _: lines.write_text("x" * (next(steps) + 1))
    assert run(executor, tmp_path, tries=2)["a"] == ("finished", "")
    assert len(executor.submitted) == 7


def test_what_others_hold_is_tried_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "BUSY_DELAY", 0.01)
    monkeypatch.setattr(queue_module, "POLL", 0.01)
    executor = Scripted({"a": [*["busy"] * 5, "finished"], "b": ["finished"]})
    assert run(executor, tmp_path, tries=1)["a"] == ("finished", "")
    assert executor.submitted[:2] == ["a", "b"]


def test_a_stop_waits_for_what_is_running(tmp_path: Path) -> None:
    executor = Scripted({name: ["finished"] for name in "abcd"})
    queue = JobQueue(executor)
    executor.on_start = lambda job: queue.stop() if job.name == "b" else None
    jobs = [Job(name, str(tmp_path), "search", {}) for name in "abcd"]
    with pytest.raises(Stopped, match="stopped; runs not begun: 2"):
        list(queue.run(jobs))
    assert executor.running == []


def test_what_is_lost_while_it_stops_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Scripted({"a": ["lost"], "b": ["finished"]})
    queue, ended = JobQueue(executor, tries=1), []
    monkeypatch.setattr(executor, "stop", lambda: None)
    executor.on_start = lambda job: queue.stop() if job.name == "b" else None
    with suppress(Stopped):
        for result in queue.run([Job(name, str(tmp_path), "search", {}) for name in "ab"]):
            ended.append(result.job.name)  # noqa: PERF401  # until it raises
        pytest.fail("it was to stop")
    assert ended == ["b"]


def test_a_monitor_is_called_for_everything(tmp_path: Path) -> None:
    seen = []

    class Seeing(Monitor):
        def on_start(self, job: Job) -> None:
            seen.append(("start", job.name))

        def on_end(self, result: JobResult, again: bool) -> None:
            seen.append((result.state, again))

    executor = Scripted({"a": ["failed", "finished"]})
    list(JobQueue(executor, retry_failed=True, monitor=Seeing()).run([Job("a", str(tmp_path), "search", {})]))
    assert seen == [("start", "a"), ("failed", True), ("start", "a"), ("finished", False)]
