import json
import shutil
import signal
import subprocess
import time
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from dartboard.cli import sweep
from dartboard.cli.main import main
from dartboard.cli.render import Terminal
from dartboard.cli.sweep import SweepBars, SweepLines, choose_monitor, print_plan, print_rows
from dartboard.jobs.job import Job, JobResult
from dartboard.runs import Run, find_runs, is_locked
from dartboard.sweep.grid import PlannedRun
from helpers import console
from helpers.sweep_cases import digests, tiny
from sweep import chaos

Capture = pytest.CaptureFixture[str]
HERE = ("--executor", "here", "--threads", "1")
pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def file(data: str, tmp_path: Path) -> str:
    return write(tmp_path, tiny(data, settings={"epochs": 1}))


def write(folder: Path, values: dict[str, Any]) -> str:
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return str(path)


def complaint(capsys: Capture, *args: str) -> str:
    return console.error_line(capsys, "sweep", *args)


def test_a_sweep_goes_on_with_its_file_or_its_directory(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE]) == 0
    first = capsys.readouterr().out
    assert "search: 2 runs, in runs/small/search" in first
    assert "search  darts     2 " in first
    assert "2 finished" in first
    names = ["search/darts-s0", "search/darts-s1"]
    assert list(digests(Path("runs/small"))) == names
    for again in (file, "runs/small"):
        assert main(["sweep", again, *HERE, "--quiet"]) == 0
        assert capsys.readouterr().out in first
    assert main(["runs", "runs/small", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert sorted(own["path"] for own in listed) == [f"runs/small/{name}" for name in names]


def test_json_is_one_object(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE, "--json", "--out", "other"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = json.loads(out)
    assert set(found) == {"out", "runs", "summary", "failed", "unended"}
    assert found["unended"] == []
    assert found["out"] == "other"
    assert [own["name"] for own in found["runs"]] == ["search/darts-s0", "search/darts-s1"]
    [point] = found["summary"]
    assert (point["settings"], point["runs"]) == ({"method.name": "darts"}, 2)
    assert main(["sweep", "other", "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found


@pytest.mark.usefixtures("without_checksums")
def test_runs_that_have_not_ended_are_counted(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE, "--quiet", "--out", "two words"]) == 0
    assert "next           dartboard report 'two words'" in capsys.readouterr().out
    folder = Path("two words")
    first = (folder / "results.jsonl").read_text().splitlines()[0]
    (folder / "results.jsonl").write_text(first)  # as a driver leaves it that was killed
    assert main(["sweep", "two words", "--show"]) == 0
    out = capsys.readouterr().out
    assert "1 finished, 1 not ended" in out
    assert "next           dartboard sweep 'two words'" in out
    assert main(["sweep", "two words", "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unended"] == ["search/darts-s1"]
    assert main(["report", "two words"]) == 0
    page = (folder / "report.html").read_text()
    assert "darts-s0" in page
    assert "darts-s1" in page


@pytest.mark.usefixtures("without_checksums")
def test_where_nothing_ended_there_is_no_table(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE, "--quiet"]) == 0
    Path("runs/small/results.jsonl").write_text("")
    capsys.readouterr()
    assert main(["sweep", "runs/small", "--show"]) == 0
    out = capsys.readouterr().out
    assert "accuracy" not in out
    assert "2 not ended" in out


@pytest.mark.usefixtures("without_checksums")
def test_where_no_run_came_about_nothing_can_be_reported(data: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["sweep", write(tmp_path, tiny(data, settings={"epochs": 1})), *HERE, "--quiet"]) == 0
    assert "dartboard report" in capsys.readouterr().out
    rows = Path("runs/small/results.jsonl").read_text()
    shutil.rmtree("runs/small/search")
    Path("runs/small/results.jsonl").write_text(rows.replace('"finished"', '"failed"'))
    assert main(["sweep", "runs/small", "--show"]) == 1
    assert "dartboard report" not in capsys.readouterr().out


def test_what_plugins_print_is_no_part_of_the_answer(file: str, capsys: Capture) -> None:
    Path("loud.py").write_text("print('here I am')")
    assert main(["sweep", file, "--dry-run", "--json", "--plugin", "loud.py"]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["runs"]) == 2
    assert err == "dartboard: running loud.py, a Python program: use only those you trust\nhere I am\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--executor", "pol"], "no executor called 'pol'; did you mean 'pool'?"),
        (["executor.jbos=3"], "no setting called 'jbos'; did you mean 'jobs'?"),
        (["--executor", "slurm", "executor.time=0"], "time=0"),
        (["--device", "nowhere"], "the device nowhere cannot be used"),
    ],
)
def test_a_dry_run_looks_at_the_executor(words: list[str], said: str, file: str, capsys: Capture) -> None:
    assert said in complaint(capsys, file, "--dry-run", *words)


def test_a_dry_run_does_nothing(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, "--dry-run", "grid.method=[darts, gdas]", "method.lr=0.1"]) == 0
    out = capsys.readouterr().out
    lines = ["search: 4 runs", *(f"  search/{own}" for own in ("darts-s0", "gdas-s0", "darts-s1", "gdas-s1"))]
    assert out.splitlines() == lines
    assert not Path("runs").exists()
    assert main(["sweep", file, "--dry-run", "--json", "epochs=5"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["config"]["epochs"] == 5


def test_a_dry_run_of_stages(data: str, tmp_path: Path, capsys: Capture) -> None:
    file = write(tmp_path, chaos.stages(data))
    assert main(["sweep", file, "--dry-run", "--plugin", chaos.SLOWLY]) == 0
    out = capsys.readouterr().out
    assert "screen: 1 run for each cell that is found" in out
    assert "  screen/any-0-s2" in out


def test_words_and_flags_matter(file: str) -> None:
    assert main(["sweep", file, *HERE, "--quiet", "--out", "a", "weights.lr=0.3", "grid.seed=4"]) == 0
    assert list(digests(Path("a"))) == ["search/darts-s4"]
    run = Run.read("a/search/darts-s4")
    assert run.config["weights"]["lr"] == 0.3
    assert (run.environment()[0]["threads"], run.environment()[0]["device"]) == (1, "cpu")
    kept = yaml.safe_load(Path("a/sweep.yaml").read_text())
    assert kept["executor"] == {"name": "here", "threads": 1}
    assert kept["words"] == {"weights.lr": 0.3}


def test_the_name_of_the_directory(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE, "--quiet", "name=other"]) == 0
    assert "runs/other" in capsys.readouterr().out
    assert Path("runs/other/sweep.yaml").is_file()


def test_pages_of_runs_are_written_if_that_is_asked_for(file: str) -> None:
    assert main(["sweep", file, *HERE, "--quiet"]) == 0
    assert list(Path("runs").rglob("report.html")) == []
    assert main(["sweep", file, *HERE, "--quiet", "reports=true"]) == 0
    assert len(list(Path("runs").rglob("report.html"))) == 2


def test_a_report_of_a_sweep(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE, "--quiet"]) == 0
    assert main(["report", "runs/small"]) == 0
    assert "written to runs/small/report.html" in capsys.readouterr().out
    page = Path("runs/small/report.html").read_text()
    assert "darts-s0" in page
    assert "darts-s1" in page


def test_failures_are_told_and_the_others_are_done(data: str, tmp_path: Path, capsys: Capture) -> None:
    rows = [{"method": {"name": "failing-darts", "times": 9}}, {"method": "darts"}]
    values = tiny(data, settings={"epochs": 1}, runs=rows, grid={"seed": 0}, tries=2)
    assert main(["sweep", write(tmp_path, values), *HERE, "--plugin", chaos.SLOWLY]) == 1
    out, err = capsys.readouterr()
    name = "search/failing-darts-method.times9-s0"
    log = Path("runs/small", name, "log.txt").resolve()
    words = f"RuntimeError: attempt 1 of failing-darts-method.times9-s0 fails; see {log}"
    assert console.without_notices(err) == f"dartboard: {name} failed: {words}\n"
    assert f"{name}  failed, retried: RuntimeError: attempt 0" in out
    assert f"{name}  failed: {words}" in out
    assert "1 failed, 1 finished" in out
    assert list(digests(Path("runs/small"))) == ["search/darts-s0"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--executor", "pol"], "no executor called 'pol'; did you mean 'pool'?"),
        ([*HERE, "--jobs", "2"], "no setting called 'jobs'; there are device, threads"),
        (["--device", "nowhere"], "the device nowhere cannot be used"),
        (["epoch=1"], "no setting called 'epoch'; did you mean 'epochs'?"),
        (["method=dart"], "no method called 'dart'; did you mean 'darts'?"),
        (["data=nothing.npz"], "there is no file or folder 'nothing.npz'"),
        (["data=digit"], "no data set, file or folder called 'digit'; did you mean 'digits'?"),
        (["space=nan"], "no space called 'nan'; did you mean 'nano'?"),
        (["tries=0"], "tries=0: input should be greater than or equal to 1"),
        (["plugins=[/own.py]"], "the search needs code of its own; if you trust it, add --plugin /own.py"),
        (["--show", "--jobs", "2"], "--show does no runs; leave out --jobs"),
        (["--show"], "runs/small has no results.jsonl; none of its runs has ended yet"),
    ],
)
def test_mistakes_are_one_line(words: list[str], told: str, file: str, capsys: Capture) -> None:
    assert told in complaint(capsys, file, *words)
    assert not Path("runs/small").exists()


def test_places_that_are_no_sweep(file: str, tmp_path: Path, capsys: Capture) -> None:
    assert "is not a sweep: it has no sweep.yaml" in complaint(capsys, str(tmp_path))
    assert "cannot read the configuration 'nothing.yaml'" in complaint(capsys, "nothing.yaml")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").touch()
    assert "full holds letter.txt and no sweep" in complaint(capsys, file, "--out", "full")
    assert "full/letter.txt is a file" in complaint(capsys, file, "--out", "full/letter.txt")
    assert "leave out --out x" in complaint(capsys, str(tmp_path), "--out", "x")


def test_files_of_the_same_name_have_directories_of_their_own(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE, "--quiet", "grid.seed=0"]) == 0
    capsys.readouterr()
    words = (
        "runs/small is another sweep, with runs such as search/darts-s0; name another directory with --out"
    )
    for more in ([], ["--dry-run"]):
        assert words in complaint(capsys, file, *HERE, "grid.seed=0", "method=gdas", *more)
    assert yaml.safe_load(Path("runs/small/sweep.yaml").read_text())["grid"] == {"seed": [0]}
    assert list(digests(Path("runs/small"))) == ["search/darts-s0"]


def test_runs_that_a_sweep_has_no_longer_are_told(file: str, capsys: Capture) -> None:
    assert main(["sweep", file, *HERE, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["sweep", file, "--dry-run", "grid.seed=0..2"]) == 0
    assert capsys.readouterr().err == ""
    words = "runs/small has 1 more run that this sweep has not, such as search/darts-s1; nothing is done with"
    assert main(["sweep", file, "--dry-run", "grid.seed=[0, 5]"]) == 0
    assert words in capsys.readouterr().err
    assert main(["sweep", "runs/small", "--dry-run", "grid.seed=5"]) == 0
    assert "runs/small has 2 more runs that this sweep has not" in capsys.readouterr().err


def test_what_a_killed_driver_leaves_is_removed(file: str) -> None:
    left = Path("killed") / ".sweep.yaml.0123456789abcdef.tmp"
    left.parent.mkdir()
    left.touch()
    (left.parent / "lock").touch()
    assert main(["sweep", file, *HERE, "--quiet", "--out", "killed", "grid.seed=0"]) == 0
    assert not left.exists()
    assert list(digests(Path("killed"))) == ["search/darts-s0"]


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["here", "pool"])
def test_a_signal_saves_and_stops(executor: str, data: str, tmp_path: Path) -> None:
    file, folder = chaos.write(tmp_path / "s.yaml", chaos.searches(data, epochs=5)), tmp_path / "killed"
    command = [word for word in chaos.command(file, folder, executor) if word != "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        while driver.poll() is None and not any(map(is_locked, find_runs(folder))):
            time.sleep(0.02)
        driver.send_signal(signal.SIGINT)
        _, err = driver.communicate(timeout=60)
    assert driver.returncode == 128 + signal.SIGINT, err
    assert "stopped; runs not begun: " in err
    assert err.endswith("; run the same command to resume\n")
    stopped = [path for path in find_runs(folder) if Run.read(path).state == "stopped"]
    assert stopped
    assert all(Run.read(path).load() is not None for path in stopped)
    assert chaos.disturb(chaos.command(file, folder, executor), folder, chaos.Random(0), []) == []
    assert chaos.story(folder) == chaos.undisturbed(file, tmp_path / "calm")


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
        "search/a  lost, retried: its process ended",
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


@pytest.mark.usefixtures("without_checksums")
def test_bars_show_how_far_runs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "REFRESH", 0.0)
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
        (True, False, sweep.SilentSweep),
        (False, True, sweep.SilentSweep),
        (False, False, SweepLines),
    ],
)
def test_the_watch_for_where_the_program_writes(quiet: bool, json: bool, kind: type, tmp_path: Path) -> None:
    with choose_monitor(planner(tmp_path), quiet=quiet, json=json) as watch:
        assert type(watch) is kind


def test_a_terminal_has_bars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Terminal, "is_live", True)
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


@pytest.mark.usefixtures("without_checksums")
def test_bars_of_a_run_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "REFRESH", 0.0)
    with Progress(disable=True) as progress:
        bars = SweepBars(planner(tmp_path), Terminal(), progress)
        bars.on_start(job(tmp_path))
        path = tmp_path / "search" / "a"
        path.mkdir(parents=True)
        (path / "metrics.jsonl").write_text("?")
        bars.on_poll([job(tmp_path)])
        assert progress.tasks[0].completed == 0
