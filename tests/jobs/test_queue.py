"""Jobs that fail, are lost or are held by others, on an executor that does as it is told."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from dartboard.errors import Stopped
from dartboard.jobs import queue as queue_module
from dartboard.jobs.job import Job, Outcome, State
from dartboard.jobs.queue import Queue, Watch


class Told:
    """Ends jobs as it is told, by name; the last state goes on."""

    def __init__(self, states: dict[str, list[State]], room: int = 2) -> None:
        self.states, self.room = states, room
        self.begun: list[str] = []
        self.under_way: list[Job] = []
        self.most = 0
        self.on_begin = lambda _: None

    def begin(self, job: Job) -> None:
        self.begun.append(job.name)
        self.under_way.append(job)
        self.most = max(self.most, len(self.under_way))
        self.on_begin(job)

    def ended(self, seconds: float) -> Sequence[Outcome]:  # noqa: ARG002
        job = self.under_way.pop(0)
        states = self.states[job.name]
        state = states.pop(0) if len(states) > 1 else states[0]
        return [Outcome(job, state, "why" if state == "failed" else "")]

    def stop(self) -> None:
        self.states = {name: ["stopped"] for name in self.states}

    def close(self) -> None: ...


def do(told: Told, folder: Path, tries: int = 3) -> dict[str, tuple[str, str]]:
    jobs = [Job(name, str(folder), "search", {}) for name in told.states]
    return {own.job.name: (own.state, own.error) for own in Queue(told, tries, Watch()).do(jobs)}


def test_all_are_done_and_no_more_at_a_time_than_there_is_room_for(tmp_path: Path) -> None:
    told = Told({name: ["finished"] for name in "abcde"})
    assert do(told, tmp_path) == dict.fromkeys("abcde", ("finished", ""))
    assert told.most == 2
    assert told.begun == list("abcde")


@pytest.mark.parametrize(("tries", "begun", "end"), [(3, 3, "finished"), (2, 2, "failed"), (1, 1, "failed")])
def test_what_fails_is_begun_again(tmp_path: Path, tries: int, begun: int, end: str) -> None:
    told = Told({"a": ["failed", "failed", "finished"], "b": ["finished"]})
    found = do(told, tmp_path, tries)
    assert found["a"] == (end, "why" if end == "failed" else "")
    assert found["b"] == ("finished", "")
    assert told.begun.count("a") == begun


def test_what_is_lost_without_getting_further_is_given_up(tmp_path: Path) -> None:
    told = Told({"a": ["lost"]})
    words = "lost 3 times without getting further"
    assert do(told, tmp_path)["a"] == ("failed", words)
    assert told.begun == ["a"] * 3


def test_what_is_lost_and_got_further_does_not_count(tmp_path: Path) -> None:
    told, steps = Told({"a": [*["lost"] * 6, "finished"]}), iter(range(100))
    (tmp_path / "a").mkdir()
    lines = tmp_path / "a" / "metrics.jsonl"
    told.on_begin = lambda _: lines.write_text("x" * (next(steps) + 1))
    assert do(told, tmp_path, tries=2)["a"] == ("finished", "")
    assert len(told.begun) == 7


def test_what_others_hold_is_tried_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "PATIENCE", 0.01)
    monkeypatch.setattr(queue_module, "LOOK", 0.01)
    told = Told({"a": [*["busy"] * 5, "finished"], "b": ["finished"]})
    assert do(told, tmp_path, tries=1)["a"] == ("finished", "")
    assert told.begun[:2] == ["a", "b"]


def test_a_stop_waits_for_what_is_under_way(tmp_path: Path) -> None:
    told = Told({name: ["finished"] for name in "abcd"})
    queue = Queue(told, 3, Watch())
    told.on_begin = lambda job: queue.stop() if job.name == "b" else None
    jobs = [Job(name, str(tmp_path), "search", {}) for name in "abcd"]
    with pytest.raises(Stopped, match="stopped; runs not begun: 2"):
        list(queue.do(jobs))
    assert told.under_way == []


def test_what_is_lost_while_it_stops_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told({"a": ["lost"], "b": ["finished"]})
    queue, found = Queue(told, 1, Watch()), []
    monkeypatch.setattr(told, "stop", lambda: None)
    told.on_begin = lambda job: queue.stop() if job.name == "b" else None
    with suppress(Stopped):
        for own in queue.do([Job(name, str(tmp_path), "search", {}) for name in "ab"]):
            found.append(own.job.name)  # noqa: PERF401  # until it raises
        pytest.fail("it was to stop")
    assert found == ["b"]


def test_a_watch_is_told_everything(tmp_path: Path) -> None:
    seen = []

    class Seeing(Watch):
        def on_begin(self, job: Job) -> None:
            seen.append(("begin", job.name))

        def on_end(self, outcome: Outcome, again: bool) -> None:
            seen.append((outcome.state, again))

    told = Told({"a": ["failed", "finished"]})
    list(Queue(told, 3, Seeing()).do([Job("a", str(tmp_path), "search", {})]))
    assert seen == [("begin", "a"), ("failed", True), ("begin", "a"), ("finished", False)]
