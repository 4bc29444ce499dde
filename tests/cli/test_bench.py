"""The verb `bench`, through the program's own front door."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from rich.text import Text

from dartboard.cli.bench import SearchLines, describe, print_table, scoreboard_lines
from dartboard.cli.main import main
from dartboard.jobs.job import Job, JobResult
from dartboard.runs import Run, is_run, list_checkpoints
from dartboard.scoreboard.bench import CONFIG, plan_jobs, read_config, write_config
from dartboard.scoreboard.scoreboard import Table, make_scoreboard
from helpers.bench_records import SmallOracle, random_at, record
from helpers.bench_runs import PLUGIN, TINY, read_comparable, settings
from helpers.console import error_line, json_output, without_notices
from helpers.protocol_cases import without_times

Capture = pytest.CaptureFixture[str]
PATIENCE = 90
pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture(scope="module")
def tiny(data: str) -> list[str]:
    return ["bench", *TINY, "--data", data, "--oracle", "toy", "--plugin", PLUGIN]


@pytest.fixture(scope="module")
def usual(tiny: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a bench of two methods and two seeds."""
    out = tmp_path_factory.mktemp("usual") / "out"
    words = ["--methods", "darts,gaea-darts", "--seeds", "0-1", "queries=5"]
    assert main([*tiny, *words, "--out", str(out), "--quiet", "--json"]) == 0
    return out


def test_what_people_see(tiny: list[str], capsys: Capture) -> None:
    assert main([*tiny, "--methods", "darts,gdas", "--seeds", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"2 searches of nano on .*few\.npz, on cpu", lines[0])
    assert lines[1] == "writing to runs/bench-nano-few"
    assert re.fullmatch(r"darts  seed 3  2 epochs  one \d+\.\d\d%  \d+ s  1 left, \d+ s", lines[2])
    assert re.fullmatch(r"gdas  seed 3  2 epochs  one \d+\.\d\d%  \d+ s  none left", lines[3])
    assert lines[4].startswith("toy, 216 architectures; ")
    rows = ["darts", "gdas", "random", "evolution", "mean", "best", "best", "best"]
    assert [line.split()[0] for line in lines[6:14]] == rows


def test_everything_is_in_the_directory(usual: Path) -> None:
    names = {path.name for path in usual.iterdir()}
    assert names >= {"bench.yaml", "runs", "records", "table.md", "table.csv", "table.json"}
    assert {"regret-epochs.svg", "regret-epochs.png", "final-cells.svg"} <= names
    runs = ["darts-s0", "darts-s1", "gaea-darts-s0", "gaea-darts-s1"]
    assert sorted(path.name for path in (usual / "runs").iterdir()) == runs
    assert sorted(path.stem for path in (usual / "records").iterdir()) == runs
    assert (usual / "table.md").read_text().startswith("| method | seeds |")
    assert len((usual / "table.csv").read_text().splitlines()) == 9
    assert json.loads((usual / "table.json").read_text())["oracle"] == "toy"


def test_json_is_one_object(usual: Path, tiny: list[str], capsys: Capture) -> None:
    facts = json_output(
        capsys, *tiny, "queries=5", "--methods", "darts,gaea-darts", "--seeds", "0-1", "--out", str(usual)
    )
    assert facts["out"] == str(usual)
    assert facts["failed"] == {}
    assert str(usual / "table.md") in facts["written"]
    assert facts["table"] == json.loads((usual / "table.json").read_text())
    assert [row["done"] for row in facts["table"]["rows"]] == [2, 2, 3, 3, 1, 3, 3, 1]


def test_the_same_command_again_searches_nothing(usual: Path, tiny: list[str], capsys: Capture) -> None:
    words = ["queries=5", "--methods", "darts,gaea-darts", "--seeds", "0-1", "--out", str(usual)]
    before = (usual / "table.md").read_bytes()
    assert main([*tiny, *words]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(": 4 done, 0 to do")
    assert (usual / "table.md").read_bytes() == before
    assert len(Run.read(usual / "runs" / "darts-s0").environment()) == 1


def test_a_directory_says_the_settings_that_are_not_given(usual: Path, capsys: Capture) -> None:
    facts = json_output(capsys, "bench", "--out", str(usual), "--plugin", PLUGIN)
    assert [row["label"] for row in facts["table"]["rows"]][:2] == ["darts", "gaea-darts"]


def test_the_table_grows(usual: Path, data: str, tmp_path: Path, capsys: Capture) -> None:
    words = ["bench", "--config", str(usual / CONFIG), "--plugin", PLUGIN, "--out", "grown", "--quiet"]
    first = json_output(capsys, *words, "--methods", "darts", "--seeds", "0")
    assert [row["missing"] for row in first["table"]["rows"]][:1] == [[]]
    more = ["--methods", "mine", "--seeds", "1", "methods.mine.method=darts", "methods.mine.epochs=1"]
    rows = json_output(capsys, *words, *more, "--threads", "2")["table"]["rows"]
    assert [(row["label"], row["done"], row["missing"]) for row in rows][:2] == [
        ("darts", 1, [1]),
        ("mine", 1, [0]),
    ]
    run = Run.read(tmp_path / "grown" / "runs" / "mine-s1")
    assert len(run.metrics()) == 1
    assert run.environment()[-1]["threads"] == 2
    config = read_config(Path("grown"))
    assert config is not None
    assert config.seeds == (0, 1)
    assert data in (tmp_path / "grown" / CONFIG).read_text()


def test_show_searches_nothing(usual: Path, tiny: list[str], capsys: Capture) -> None:
    words = [*tiny, "queries=5", "--methods", "darts,gdas", "--seeds", "0-2", "--show"]
    rows = json_output(capsys, *words, "--results", str(usual / "records"), "--out", "shown")["table"]["rows"]
    assert [(row["label"], row["done"], row["missing"]) for row in rows][:2] == [
        ("darts", 2, [2]),
        ("gdas", 0, [0, 1, 2]),
    ]
    assert not (Path("shown") / "runs").exists()
    assert not (Path("shown") / CONFIG).exists()


@pytest.mark.parametrize(
    ("words", "place"),
    [(["--methods", "darts"], "runs/bench-nano-few"), (["--out", "none"], "none")],
)
def test_show_where_nothing_is(
    tiny: list[str], words: list[str], place: str, tmp_path: Path, capsys: Capture
) -> None:
    assert error_line(capsys, *tiny, *words, "--show").startswith(f"no bench in {place}; ")
    assert list(tmp_path.iterdir()) == []


def test_show_without_any_record(data: str, capsys: Capture) -> None:
    write_config(Path("out"), settings(data, f"plugins=[{PLUGIN}]"))
    rows = json_output(capsys, "bench", "--plugin", PLUGIN, "--out", "out", "--show")["table"]["rows"]
    assert [row["label"] for row in rows] == ["darts", "best cell"]


def test_the_usual_directory_says_the_settings_that_are_not_given(
    usual: Path, data: str, capsys: Capture
) -> None:
    out = Path("runs") / "bench-nano-few"
    out.mkdir(parents=True)
    (out / CONFIG).write_bytes((usual / CONFIG).read_bytes())
    words = ["bench", "--data", data, "--plugin", PLUGIN, "--show", "--results", str(usual / "records")]
    facts = json_output(capsys, *words)
    assert facts["out"] == str(out)
    assert [row["done"] for row in facts["table"]["rows"]] == [2, 2, 3, 3, 1, 3, 3, 1]


def test_the_table_is_shown_though_it_cannot_be_written(
    usual: Path, tiny: list[str], capsys: Capture
) -> None:
    Path("file").write_text("")
    words = [*tiny, "queries=5", "--methods", "darts", "--seeds", "0", "--out", "file/out", "--show"]
    assert main([*words, "--results", str(usual / "records")]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("toy, 216 architectures; ")
    assert without_notices(err).count("\n") == 1


@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_bench_is_named(capsys: Capture) -> None:
    Path("out").mkdir()
    (Path("out") / CONFIG).write_text("draws: 0")
    assert error_line(capsys, "bench", "--out", "out").startswith("out/bench.yaml: draws=0: ")


def test_a_search_that_another_process_holds_is_waited_for(
    tiny: list[str], data: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dartboard.jobs.queue.BUSY_DELAY", 0.1)
    words = [*tiny, "queries=5", "--methods", "darts", "--seeds", "0", "--out", "out"]
    [job] = plan_jobs(settings(data, f"plugins=[{PLUGIN}]"))
    other = Run.create(Path("out") / "runs" / "darts-s0", job.settings())
    monkeypatch.setattr("dartboard.jobs.queue.sleep", lambda _: other.close())  # while it waits
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1 search of nano on ")
    assert out.count("darts  seed 0  waits: ") == 1
    assert "none left" in out
    assert without_notices(err) == ""


def test_records_can_be_elsewhere(usual: Path, tiny: list[str], capsys: Capture) -> None:
    words = [*tiny, "queries=5", "--methods", "darts", "--seeds", "0", "--out", "out", "--results", "kept"]
    assert main([*words, "--quiet"]) == 0
    capsys.readouterr()
    assert [path.name for path in Path("kept").iterdir()] == ["darts-s0.json"]
    assert read_comparable(Path("kept")) == read_comparable(usual / "records")[:1]
    assert not (Path("out") / "records").exists()


def of_records(usual: Path) -> list[str]:
    """A bench of the usual one's settings and records."""
    return ["bench", "--plugin", PLUGIN, "--config", str(usual / CONFIG), "--results", str(usual / "records")]


def test_queries_and_draws_matter(usual: Path, capsys: Capture) -> None:
    words = of_records(usual)
    rows = {}
    for queries, draws in ((5, 3), (200, 3), (5, 9)):
        more = [f"queries={queries}", f"draws={draws}", "--show", "--out", f"{queries}-{draws}"]
        rows[queries, draws] = json_output(capsys, *words, *more)["table"]["rows"][2]
    assert [row["done"] for row in rows.values()] == [3, 3, 9]
    assert rows[200, 3]["regret"]["mean"] < rows[5, 3]["regret"]["mean"]
    only = json_output(capsys, *words, "baselines=[evolution]", "--show", "--out", "one")["table"]["rows"]
    assert [row["label"] for row in only] == ["darts", "gaea-darts", "evolution", "best cell"]


def test_queries_that_the_searches_pay_for(usual: Path, capsys: Capture) -> None:
    words = of_records(usual)
    facts = json_output(capsys, *words, "queries=null", "--show", "--out", "paid")
    [random] = [row for row in facts["table"]["rows"] if row["label"] == "random"]
    searched = [row["seconds"] for row in facts["table"]["rows"][:2]]
    assert random["seconds"] == pytest.approx(sum(searched) / 2, abs=0.02)


def test_a_search_that_fails_is_told_of(tiny: list[str], capsys: Capture) -> None:
    bad = ["methods.bad.method=darts", "methods.bad.weights.lr=1e30", "methods.bad.weights.clip=0"]
    words = [*tiny, *bad, "--methods", "bad,darts", "--seeds", "0", "--out", "out"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert re.search(r"^bad  seed 0  failed: .*  1 left, \d+ s$", out, re.MULTILINE)
    assert "Missing seeds: bad 0." in out
    assert without_notices(err).startswith("dartboard: bad-s0 failed: ")
    assert without_notices(err).count("\n") == 1
    assert main([*words, "--json", "--quiet"]) == 1
    assert list(json.loads(capsys.readouterr().out)["failed"]) == ["bad-s0"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "gaea-dart"], "no method called 'gaea-dart'; did you mean 'gaea-darts'?"),
        ([], "a bench needs methods, such as --methods darts,gdas; there are darts, "),
        (["--methods", "darts,,gdas"], "methods: a label has letters, digits, - and _ alone, unlike ''"),
        (
            ["--methods", "darts", "--seeds", "3-1"],
            "seeds: expected seeds such as 0-9, 0,3,5 or 7, got '3-1'",
        ),
        (["--methods", "darts", "--oracle", "tooy"], "no oracle called 'tooy'; did you mean 'toy'?"),
        (
            ["--methods", "darts", "--oracle", "nb201"],
            "nb201 does not ship with dartboard; name its file with --table",
        ),
        (["--methods", "darts", "--space", "nb201"], "the oracle toy knows no cells of the space nb201: "),
        (
            ["--methods", "darts", "--data", "none.npz"],
            "methods.darts: there is no file or folder 'none.npz' to read",
        ),
        (
            ["--methods", "pc-darts", "methods.pc-darts.method.warmup=15"],
            "methods.pc-darts: the architecture is frozen for the first 15 epochs and the search has 2",
        ),
        (["--methods", "darts", "--show", "--jobs", "2"], "--show searches nothing; leave out --jobs"),
        (["--show", "--device", "cpu"], "--show searches nothing; leave out --device"),
        (["--show", "--threads", "1"], "--show searches nothing; leave out --threads"),
        (
            ["--show", "--fall-back", "--jobs", "1"],
            "--show searches nothing; leave out --jobs and --fall-back",
        ),
        (["--methods", "darts", "--config", "none.yaml"], "cannot read the configuration 'none.yaml'"),
        (
            ["--methods", "darts", "seed=3"],
            "seed cannot be the same for all searches; set seeds in its place",
        ),
        (["--methods", "darts", "--device", "moon"], "--device moon cannot be used: "),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    tiny: list[str], words: list[str], message: str, tmp_path: Path, capsys: Capture
) -> None:
    assert error_line(capsys, *tiny, *words).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_other_settings_in_the_same_directory(usual: Path, tiny: list[str], capsys: Capture) -> None:
    said = error_line(capsys, *tiny, "queries=5", "epochs=3", "--methods", "darts", "--out", str(usual))
    assert said.startswith(f"{usual} is a bench with other settings: search.epochs was 2, is 3; ")
    shown = error_line(capsys, "bench", "--plugin", PLUGIN, "--out", str(usual), "draws=9", "--show")
    assert "draws was 3, is 9" in shown


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gdas-s0.json", "{}", "kept/gdas-s0.json is not a record of a search: "),
        ("gdas-s1.json", None, "kept/gdas-s1.json is the record of darts-s0; "),
    ],
)
def test_damaged_records_are_known_before_the_searches(
    usual: Path, tiny: list[str], name: str, content: str | None, message: str, capsys: Capture
) -> None:
    Path("kept").mkdir()
    (Path("kept") / name).write_text(content or (usual / "records" / "darts-s0.json").read_text())
    words = ["--methods", "darts", "--seeds", "0", "--out", "out", "--results", "kept"]
    assert error_line(capsys, *tiny, *words).startswith(message)
    assert not Path("out").exists()


def test_records_of_another_table_are_known_before_the_searches(
    usual: Path, tiny: list[str], capsys: Capture
) -> None:
    Path("kept").mkdir()
    whole = json.loads((usual / "records" / "darts-s0.json").read_text())
    del whole["sha256"]
    other = whole | {"best": dict.fromkeys(whole["best"], 1.0)}
    (Path("kept") / "darts-s0.json").write_text(json.dumps(other))
    words = ["--methods", "darts", "--seeds", "1", "--out", "out", "--results", "kept"]
    said = error_line(capsys, *tiny, *words)
    assert said.startswith("darts with seed 0 was made with another table of toy")
    assert not Path("out").exists()


def test_records_that_cannot_be_written(tiny: list[str], capsys: Capture) -> None:
    Path("file").write_text("")
    words = ["--methods", "darts", "--seeds", "0", "--out", "out", "--results", "file/kept"]
    assert error_line(capsys, *tiny, *words) == "records cannot be written to file/kept: Not a directory"
    assert not Path("out").exists()


def test_an_older_checkpoint_will_do_if_it_may(tiny: list[str], capsys: Capture) -> None:
    words = [*tiny, "queries=5", "--methods", "darts", "--seeds", "0", "--out", "out", "--quiet"]
    assert main(words) == 0
    run = Path("out") / "runs" / "darts-s0"
    (list_checkpoints(run / "checkpoints")[-1] / "state.json").write_text("")
    (run / "result.json").unlink()
    (Path("out") / "records" / "darts-s0.json").unlink()
    capsys.readouterr()
    assert main(words) == 1
    assert "use it with --fall-back" in capsys.readouterr().err
    assert main([*words, "--fall-back"]) == 0
    assert Run.read(run).state == "finished"


def test_a_run_of_other_settings(tiny: list[str], data: str, capsys: Capture) -> None:
    path = Path("out") / "runs" / "darts-s0"
    assert main(["search", *TINY[:5], "epochs=1", "--data", data, "--out", str(path), "--quiet"]) == 0
    capsys.readouterr()
    said = error_line(capsys, *tiny, "--methods", "darts", "--seeds", "0", "--out", "out")
    assert said.startswith(f"{path.resolve()} is a run with other settings: epochs was 1, is 2")
    assert not (Path("out") / CONFIG).exists()


def is_ripe(path: Path) -> bool:
    """Whether a search has saved something and is not done."""
    return is_run(path) and Run.read(path).state == "running" and bool(list_checkpoints(path / "checkpoints"))


def holder(path: Path) -> int:
    """The process that writes to a run, or was the last to do so."""
    try:
        return int(json.loads((path / "lock").read_text())["pid"])
    except (OSError, ValueError):  # it is about to be written
        return 0


def wait_for(condition: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@contextmanager
def bench_process(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """The program, which does not outlive the block."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def undisturbed(words: list[str], capsys: Capture) -> list[Any]:
    assert main([*words, "--out", "whole", "--quiet", "--json"]) == 0
    capsys.readouterr()
    return read_comparable(Path("whole") / "records")


def row_of(out: str) -> Any:
    """The first row of a table, but for times."""
    return without_times(json.loads((Path(out) / "table.json").read_text())["rows"][0])


@pytest.mark.slow
def test_kills_and_signals_lose_nothing_in_several_processes(
    program: Path, tiny: list[str], capsys: Capture
) -> None:
    words = [*tiny, "epochs=15", "queries=5", "--methods", "darts", "--seeds", "0-1"]
    command = [str(program), *words, "--out", "out", "--jobs", "2"]
    paths = [Path("out") / "runs" / f"darts-s{seed}" for seed in (0, 1)]
    with bench_process(command) as process:
        wait_for(lambda: is_ripe(paths[0]))
        workers = children(process.pid)
        process.kill()
        process.wait()
    first = holder(paths[0])
    assert first in workers
    wait_for(lambda: all(map(is_gone, workers)))
    assert Run.read(paths[0]).state == "stopped"
    with bench_process(command) as process:
        wait_for(lambda: is_ripe(paths[0]) and holder(paths[0]) not in (0, first))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + signal.SIGINT
    assert re.fullmatch(
        "dartboard: stopping after this step; once more to stop at once\n"
        r"stopped; runs not begun: 0; saved: .*darts-s0.*; run the same command to resume\n",
        err,
    )
    assert Run.read(paths[0]).state == "stopped"
    assert main([*words, "--out", "out", "--quiet", "--json"]) == 0
    assert len(Run.read(paths[0]).environment()) == 3
    capsys.readouterr()
    assert read_comparable(Path("out") / "records") == undisturbed(words, capsys)
    assert row_of("out") == row_of("whole")


def test_a_kill_and_a_signal_lose_nothing(program: Path, tiny: list[str], capsys: Capture) -> None:
    words = [*tiny, "epochs=8", "queries=5", "--methods", "darts", "--seeds", "0"]
    path = Path("out") / "runs" / "darts-s0"
    with bench_process([str(program), *words, "--out", "out"]) as process:
        wait_for(lambda: is_ripe(path))
        process.kill()
        process.wait()
    assert Run.read(path).state == "stopped"

    def send() -> None:
        wait_for(lambda: is_ripe(path) and holder(path) == os.getpid())
        os.kill(os.getpid(), signal.SIGTERM)

    sender = Thread(target=send)
    sender.start()
    assert main([*words, "--out", "out", "--quiet"]) == 128 + signal.SIGTERM
    sender.join()
    stopped = "stopped; runs not begun: 0; saved: darts-s0; run the same command to resume\n"
    assert without_notices(capsys.readouterr().err) == stopped
    assert Run.read(path).state == "stopped"
    assert main([*words, "--out", "out", "--quiet"]) == 0
    assert len(Run.read(path).environment()) == 3
    assert read_comparable(Path("out") / "records") == undisturbed(words, capsys)
    assert row_of("out") == row_of("whole")


@pytest.mark.parametrize(
    ("count", "missing", "words"),
    [
        (1, 1, "1 search of nano on digits, on cpu"),
        (2, 2, "2 searches of nano on digits, on cpu"),
        (2, 1, "2 searches of nano on digits, on cpu: 1 done, 1 to do"),
        (1, 0, "1 search of nano on digits, on cpu: 1 done, 0 to do"),
    ],
)
def test_what_is_about_to_be_done(count: int, missing: int, words: str) -> None:
    assert describe(settings("digits"), count, missing, "cpu") == words


def test_one_line_a_search() -> None:
    (search,) = plan_jobs(settings("digits", seeds="3"))
    done = record("darts", 3, [0.5, 0.75])
    records = [done, replace(done, final=replace(done.final, epoch=1, seconds=None))]
    lines: list[str] = []
    scoring: Any = SimpleNamespace(record=lambda _: records.pop(0))
    display: Any = SimpleNamespace(say=lines.extend)
    monitor = SearchLines(scoring, {search.name: search}, 3, display)
    job = Job(search.name, "runs", "search", {})
    for _ in range(2):
        monitor.on_end(JobResult(job, "busy", "in use by process 7"), again=True)
    monitor.on_end(JobResult(job, "lost", "its process ended"), again=True)
    monitor.on_end(JobResult(job, "finished"), again=False)
    monitor.on_end(JobResult(job, "finished"), again=False)
    monitor.on_end(JobResult(job, "failed", "why"), again=False)
    assert lines[:2] == [
        "darts  seed 3  waits: in use by process 7",
        "darts  seed 3  lost, retried: its process ended",
    ]
    assert lines[2].startswith("darts  seed 3  2 epochs  one 75.00%  4 s  2 left, ")
    assert lines[3].startswith("darts  seed 3  1 epoch  one 75.00%  1 left, ")
    assert lines[4:] == ["darts  seed 3  failed: why  none left"]


@pytest.fixture
def table() -> Table:
    good = [record("good", seed, [0.80 + 0.01 * seed]) for seed in range(3)]
    bad = [record("bad", seed, [0.50 + 0.01 * seed]) for seed in range(2)]
    expected = {"good": range(3), "bad": range(3), "absent": range(2)}
    return make_scoreboard(expected, [*good, *bad], SmallOracle(), [random_at([0.70, 0.72, 0.74])])


def plain(table: Table, width: int) -> list[str]:
    return [own if isinstance(own, str) else own.plain for own in scoreboard_lines(table, width)]


def test_a_row_is_one_line_where_there_is_room(table: Table) -> None:
    lines = plain(table, 10_000)
    assert lines[0] == "small, 216 architectures; accuracies, regrets and differences in %"
    assert [line.split()[0] for line in lines[1:6]] == ["method", "good", "bad", "absent", "random"]
    assert lines[2].split()[1:5] == ["3/3", "81.00", "+-", "1.00"]
    assert len({len(line) for line in lines[1:7]}) == 1  # columns stand below each other
    assert lines[8:] == list(table.remarks)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_on_narrow_terminals_columns_go_on_below(table: Table, width: int) -> None:
    lines = plain(table, width)
    assert all(len(line) <= width for line in lines[1:])
    assert sum(line.startswith("method") for line in lines) > 1
    heads = " ".join(line for line in lines if line.startswith("method")).split()
    whole = plain(table, 10_000)[1].split()
    assert [name for name in heads if name != "method"] == whole[1:]


def test_even_where_no_column_fits_nothing_is_lost(table: Table) -> None:
    lines = plain(table, 20)
    assert sum(line.startswith("method") for line in lines) == len(table.cells()[0]) - 1
    assert any("better" in line for line in lines)


def test_names_are_colored_by_what_is_said_of_them(table: Table) -> None:
    texts = [line for line in scoreboard_lines(table, 10_000) if isinstance(line, Text)]
    colors = {line.plain.split()[0]: str(line.spans[0].style) for line in texts[2:]}
    assert colors == {"good": "green", "bad": "red", "absent": "cyan", "random": "cyan", "best": "cyan"}


def test_in_a_pipe_rows_stay_whole(table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table)
    assert capsys.readouterr().out.splitlines() == plain(table, 10_000)
