"""What people see of a sweep."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from dartboard.cli import sweep_display
from dartboard.cli.render import Terminal
from dartboard.cli.sweep import print_plan, print_rows
from dartboard.cli.sweep_display import SweepBars, SweepLines, choose_monitor
from dartboard.jobs.job import Job, JobResult
from dartboard.sweep.plan import PlannedRun

Capture = pytest.CaptureFixture[str]


def planner(folder: Path) -> Any:
    return SimpleNamespace(folder=folder, config=SimpleNamespace(reports=False))


def job(folder: Path, name: str = "search/a") -> Job:
    return Job(name, str(folder), "search", {"epochs": 4}, until=2)


def row(name: str, state: str = "finished", **more: Any) -> dict[str, Any]:
    found = {"name": name, "stage": "search", "do": "search", "state": state, "reason": "too bad"}
    return found | {"settings": {}, "valid_accuracy": 0.5, "seconds": 3.0, "path": name} | more


def test_lines_say_what_happens(tmp_path: Path, capsys: Capture) -> None:
    lines = SweepLines(planner(tmp_path), Terminal())
    lines.on_stage("search", ["search/a", "search/b"])
    lines.on_end(JobResult(job(tmp_path), "lost", "its process ended"), again=True)
    for _ in range(2):
        lines.on_end(JobResult(job(tmp_path), "busy", "in use by process 7"), again=True)
    lines.on_end(JobResult(job(tmp_path), "paused"), again=False)
    lines.on_row(row("search/a", "dropped"))
    lines.on_row(row("search/b", test_accuracy=0.25))
    assert capsys.readouterr().out.splitlines() == [
        f"search: 2 runs, in {tmp_path}/search",
        "search/a  lost, begun again: its process ended",
        "search/a  waits: in use by process 7",
        "search/a  paused after epoch 2",
        "search/a  dropped: too bad  1 left, 0 s",
        "search/b  test 25.00%  3 s  none left",
    ]


def test_runs_that_were_finished_before_are_not_told(tmp_path: Path, capsys: Capture) -> None:
    lines = SweepLines(planner(tmp_path), Terminal())
    lines.on_stage("search", ["search/a"])
    lines.on_row(row("search/a"))
    assert capsys.readouterr().out.count("\n") == 1


def test_bars_show_how_far_runs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_display, "REFRESH", 0.0)
    terminal = Terminal()
    terminal.file = StringIO()
    with Progress(TextColumn("{task.description}"), MofNCompleteColumn(), console=terminal) as bars:
        monitor, running = SweepBars(planner(tmp_path), terminal, bars), job(tmp_path)
        monitor.on_start(running)
        monitor.on_poll([running])
        assert (bars.tasks[0].completed, bars.tasks[0].total) == (0, 4)
        running.path.mkdir(parents=True)
        (running.path / "metrics.jsonl").write_text('{"epoch": 0}\n{"epoch": 1}\n')
        monitor.on_poll([running])
        assert bars.tasks[0].completed == 2
        monitor.on_end(JobResult(running, "finished"), again=False)
        assert bars.tasks == []


@pytest.mark.parametrize(
    ("quiet", "json", "kind"),
    [
        (True, False, sweep_display.SilentSweep),
        (False, True, sweep_display.SilentSweep),
        (False, False, SweepLines),
    ],
)
def test_the_watch_for_where_the_program_writes(quiet: bool, json: bool, kind: type, tmp_path: Path) -> None:
    with choose_monitor(planner(tmp_path), quiet=quiet, json=json) as watch:
        assert type(watch) is kind


def test_a_terminal_has_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "is_terminal", True)
    monkeypatch.setenv("TERM", "dumb")
    with choose_monitor(planner(tmp_path), quiet=False, json=False) as watch:
        assert type(watch) is SweepBars


def test_long_plans_are_counted(capsys: Capture) -> None:
    runs = [PlannedRun("search", f"search/a-s{seed}", "search", {"seed": seed}, {}) for seed in range(25)]
    print_plan({"search": runs})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "search: 25 runs"
    assert (lines[-2], lines[-1]) == ("  search/a-s19", "  and 5 more")


def test_a_table_of_points(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        row("search/a-s0", settings={"method.name": "a", "weights.lr": 0.1}, valid_accuracy=0.5),
        row("search/a-s1", settings={"method.name": "a", "weights.lr": 0.1}, valid_accuracy=0.7),
        row("search/b-s0", "failed", settings={"method.name": "b"}),
    ]
    print_rows(rows, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split("  ")[0] == "search"
    assert "a, weights.lr=0.1  2       60.00 +- 14.14  50.00 to 70.00  held-out images  3 s" in lines[2]
    assert "b                  0 of 1  -" in lines[3]
    assert "2 finished, 1 failed" in lines[5]


def test_bars_of_a_run_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_display, "REFRESH", 0.0)
    with Progress(disable=True) as progress:
        bars = SweepBars(planner(tmp_path), Terminal(), progress)
        bars.on_start(job(tmp_path))
        path = tmp_path / "search" / "a"
        path.mkdir(parents=True)
        (path / "metrics.jsonl").write_text("?")
        bars.on_poll([job(tmp_path)])
        assert progress.tasks[0].completed == 0
