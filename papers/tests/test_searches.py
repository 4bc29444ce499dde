import os
import signal
from pathlib import Path
from typing import Any

import pytest

from dartboard.errors import DartboardError, UnknownNameError
from dartboard_papers._searches import RUNS, configure, searches
from dartboard_papers.base import RunOptions
from helpers.executor_checks import PROCESS_EXECUTORS, when_saved, writer_pid
from helpers.protocol_cases import few_digits
from helpers.search_cases import SHORT

pytestmark = pytest.mark.usefixtures("one_thread")


def small(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {**SHORT, "space": "nano", "data": few_digits(tmp_path / "few.npz")} | more


def test_searches_are_ordinary_runs_and_are_done_once(tmp_path: Path) -> None:
    base, told = small(tmp_path, epochs=1), list[tuple[str, int, int]]()
    configs = {name: configure(base, {"method": name}) for name in ("gaea-darts", "darts")}
    options = RunOptions(tmp_path / "work", tell=lambda *words: told.append(words))
    found = searches(configs, options, "small ones")
    assert list(found) == ["gaea-darts", "darts"]
    assert told == [("small ones", done, 2) for done in range(3)]
    assert all(run.state == "finished" and len(run.metrics()) == 1 for run in found.values())
    assert found["darts"].config["method"]["name"] == "darts"
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*")}
    searches(configs, options)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "work").rglob("*")} == times


def test_other_settings_are_another_run(tmp_path: Path) -> None:
    base, options = small(tmp_path, epochs=1, method="darts"), RunOptions(tmp_path / "work")
    paths = [searches({"one": configure(base, {"seed": own})}, options)["one"].path for own in (0, 1, 0)]
    assert paths[0] == paths[2] != paths[1]
    assert all(path.name.startswith("one-") for path in paths)


def test_several_at_a_time_find_the_same(tmp_path: Path) -> None:
    base = small(tmp_path, epochs=1, method="darts")
    configs = {f"s{seed}": configure(base, {"seed": seed}) for seed in (0, 1)}
    together = searches(configs, RunOptions(tmp_path / "two", jobs=2))
    alone = searches(configs, RunOptions(tmp_path / "one"))
    for label, run in together.items():
        one, other = run.result(), alone[label].result()
        assert one is not None
        assert other is not None
        assert one["digest"] == other["digest"]


@pytest.mark.parametrize(("name", "words"), PROCESS_EXECUTORS)
def test_a_killed_worker_of_any_executor_loses_nothing(
    tmp_path: Path, name: str, words: dict[str, Any]
) -> None:
    base = small(tmp_path, epochs=3, method="darts", checkpoint={"steps": 1})
    configs = {f"s{seed}": configure(base, {"seed": seed}) for seed in (0, 1)}
    alone = searches(configs, RunOptions(tmp_path / "alone"))
    victim = tmp_path / "killed" / RUNS / alone["s0"].path.name
    killer = when_saved(victim, lambda: os.kill(writer_pid(victim), signal.SIGKILL))
    killed = searches(configs, RunOptions(tmp_path / "killed", executor=name, executor_options=words))
    killer.join()
    assert len(killed["s0"].environment()) == 2  # it was resumed in another process
    for label, run in killed.items():
        digests = [result["digest"] for result in (run.result(), alone[label].result()) if result is not None]
        assert len(digests) == 2
        assert digests[0] == digests[1]


def test_mistakes_are_known_at_once() -> None:
    with pytest.raises(UnknownNameError, match="no method called 'dart'; did you mean 'darts'"):
        configure({"method": "dart"})
    with pytest.raises(DartboardError, match="nan0"):
        configure({"space": "nan0"})
