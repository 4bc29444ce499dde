"""The verb `reproduce`, through the program's own front door."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dartboard.cli.main import main
from dartboard.errors import OptionError
from dartboard_papers import REPRODUCTIONS, Reproduction, ReproductionResult, Row, RunOptions, read_record
from dartboard_papers import base as papers
from dartboard_papers._searches import configure, searches
from dartboard_papers.cli.render import table
from helpers import console
from helpers.executor_checks import method_plugin
from helpers.json_page import check_keys
from helpers.protocol_cases import few_digits
from helpers.search_cases import SHORT
from reproducing import NAME, Small, registered, result

Capture = pytest.CaptureFixture[str]
PATIENCE = 90
pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def told() -> Iterator[Reproduction[Small]]:
    with registered(takes=("data",)) as found:
        yield found


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no reproductions but those that a test registers."""
    monkeypatch.setattr(REPRODUCTIONS, "_values", {})


def printed(capsys: Capture, *words: str) -> str:
    assert main(["reproduce", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def found(capsys: Capture, *words: str) -> dict[str, Any]:
    out = printed(capsys, *words, "--json")
    assert out.count("\n") == 1
    return dict(json.loads(out))


def complaint(capsys: Capture, *words: str) -> str:
    return console.error_line(capsys, "reproduce", *words)


@pytest.mark.usefixtures("told")
def test_what_people_see(capsys: Capture) -> None:
    out = re.sub(r"\d\.\d s\n", "some time\n", printed(capsys, NAME, "words=so"))
    assert out.splitlines() == [
        f"{NAME}: a line that goes up",
        "takes about 12 s on two cores with its own numbers and images",
        "",
        "paper          more epochs are more",
        "",
        "          paper         here",
        "  epochs    600            2",
        "  a | b       -  94.1 +- 0.2",
        "",
        "here           held",
        "               more is more: held, more were more (rule: there are more; passes",
        "               by chance 5 % of the time)",
        "               it said so",
        "               mind the gap",
        "size           nothing at all; 3 seeds; some time",
        f"written        runs/papers/{NAME}",
        "",
    ]


@pytest.mark.usefixtures("told")
def test_the_papers_own_numbers(capsys: Capture) -> None:
    out = printed(capsys, NAME, "--full", "words=so", "--out", "out")
    assert out.splitlines()[1] == "the paper's own numbers; takes long and needs a GPU"
    assert read_record(Path("out") / NAME).scale == {"epochs": 600, "words": "so"}


@pytest.mark.usefixtures("told")
def test_minutes_are_those_of_its_own_numbers_and_images(capsys: Capture) -> None:
    assert printed(capsys, NAME).splitlines()[1] == "takes about 12 s on two cores"
    for words in (["epochs=5"], ["--data", "digits"]):
        assert printed(capsys, NAME, *words).splitlines()[1].endswith("with its own numbers and images")


@pytest.mark.usefixtures("told")
def test_json_is_one_object(capsys: Capture) -> None:
    facts = found(capsys, NAME, "--data", "digits", "--quiet")
    check_keys("reproduce", facts)
    out = Path("runs") / "papers" / NAME
    assert facts.pop("out") == str(out)
    written = json.loads((out / "record.json").read_text())
    assert len(written.pop("sha256")) == 64
    assert facts == written
    assert facts["given"] == {"data": "digits"}
    assert [row["here"] for row in facts["rows"]] == [2.0, "94.1 +- 0.2"]


@pytest.mark.usefixtures("told")
def test_words_may_stand_anywhere(capsys: Capture) -> None:
    facts = found(capsys, "--out", "out", NAME, "epochs=5", "--quiet", "words=so")
    assert facts["scale"] == {"epochs": 5, "words": "so"}


@pytest.mark.usefixtures("told")
def test_what_is_finished_is_kept(capsys: Capture) -> None:
    for _ in range(2):
        printed(capsys, NAME, "--quiet")
    printed(capsys, NAME, "--quiet", "epochs=5")
    counts = Path("runs/papers").glob(f"{NAME}/work/*/count")
    assert sorted(path.read_text() for path in counts) == ["1", "2"]


def test_what_it_is_given(capsys: Capture) -> None:
    seen: list[RunOptions] = []

    def look(options: RunOptions, scale: Small) -> ReproductionResult:
        seen.append(options)
        return result(scale)

    with registered(look, takes=("data", "table")):
        printed(capsys, NAME, "--data", "digits", "--table", "t.npz", "--jobs", "3", "--device", "cpu")
        printed(capsys, NAME)
    assert (seen[0].data, seen[0].table, seen[0].jobs) == ("digits", Path("t.npz"), 3)
    assert (seen[1].data, seen[1].table, seen[1].jobs) == (None, None, 1)
    assert seen[0].device.type == "cpu"


def test_searches_run_on_the_executor_that_is_named(capsys: Capture, tmp_path: Path) -> None:
    pids, seen = tmp_path / "pids", list[RunOptions]()
    record_pid = f"with open({str(pids)!r}, 'a') as file: file.write(f'{{os.getpid()}}\\n')"
    plugin, method = method_plugin(tmp_path, record_pid)
    base = {**SHORT, "space": "nano", "data": few_digits(tmp_path / "few.npz"), "epochs": 1, "method": method}

    def search(options: RunOptions, scale: Small) -> ReproductionResult:
        seen.append(options)
        runs = searches({"only": configure(base, {"plugins": [plugin]})}, options)
        return result(scale, size=str(runs["only"].state))

    with registered(search):
        assert found(capsys, NAME, "--quiet")["size"] == "finished"
        words = ["--executor", "pool", "executor.jobs=2", "--out", str(tmp_path / "pool")]
        assert found(capsys, NAME, *words, "--quiet")["size"] == "finished"
    assert (seen[0].executor, seen[1].executor) == (None, "pool")
    assert seen[1].executor_options == {"threads": 1, "jobs": 2}
    here, there = map(int, pids.read_text().split())
    assert here == os.getpid() != there


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([NAME, "--executor", "pol"], "no executor called 'pol'; did you mean 'pool'?"),
        ([NAME, "--executor", "pool", "executor.job=2"], "no setting called 'job'; did you mean 'jobs'?"),
        ([NAME, "executor.jobs=2"], "executor.jobs=2 is for jobs in other processes; name them with"),
        ([], "reproduce needs the NAME of a figure or table, or --list to see them"),
        (["xnas-figure-98"], "no reproduction called 'xnas-figure-98'; did you mean "),
        ([NAME, "epoch=3"], "no setting called 'epoch'; did you mean 'epochs'?"),
        ([NAME, "epochs=0"], "epochs=0: input should be greater than or equal to 1"),
        ([NAME, "more"], "expected a setting such as epochs=2, got 'more'"),
        (["gaea-figure-2"], "oneshot1 is looked up in nb101.npz, which does not ship with dartboard"),
        (["gaea-table-2", "--full"], "the paper's own numbers are of NAS-Bench-201; name --table nb201"),
        ([NAME, "--table", "t.npz"], f"{NAME} takes no --table; leave it out"),
        ([NAME, "--device", "moon"], "--device moon cannot be used: "),
        ([NAME, "--jobs", "0"], "argument --jobs: expected a whole number from 1 to 100,000, got '0'"),
        (["all", "epochs=3"], "all of them have no 'epochs=3' in common; name one"),
        (["--list", NAME, "epochs=3"], "--list does nothing but say what there is; leave out epochs=3"),
        (["--list", "--full"], "--list does nothing but say what there is; leave out --full"),
        (["--list", "--out", "o"], "--list does nothing but say what there is; leave out --out"),
        (["--list", "xnas-figure-98"], "no reproduction called 'xnas-figure-98'; did you mean "),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    words: list[str], message: str, tmp_path: Path, capsys: Capture
) -> None:
    assert complaint(capsys, *words).startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("told")
def test_a_place_that_cannot_be_written(capsys: Capture) -> None:
    Path("file").touch()
    assert main(["reproduce", NAME, "--out", "file"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.usefixtures("alone")
def test_all_of_them(capsys: Capture) -> None:
    def broken(options: RunOptions, scale: Small) -> ReproductionResult:
        raise OptionError(f"it takes {scale.epochs} tables,\nnot {options.table}")

    with registered(takes=("data",)), registered(name="gaea-table-99"), registered(broken, name="gaea-a1"):
        code = main(["reproduce", "all", "--data", "digits", "--json"])
    out, err = capsys.readouterr()
    assert code == 1
    facts = json.loads(out)
    check_keys("reproduce all", facts)
    done = facts["reproductions"]
    assert [(own["name"], own["given"]) for own in done] == [
        (NAME, {"data": "digits"}),
        ("gaea-table-99", {}),
    ]
    assert (facts["failed"], facts["left_out"]) == ({"gaea-a1": "it takes 2 tables, not None"}, {})
    assert err == "dartboard: gaea-a1 failed: it takes 2 tables, not None\n"


@pytest.mark.usefixtures("alone")
def test_all_of_them_but_what_needs_a_table(capsys: Capture) -> None:
    with registered(), registered(name="gaea-table-99", takes=("table",), needs=("table",)):
        assert main(["reproduce", "all", "--json"]) == 0
        out, err = capsys.readouterr()
        facts = json.loads(out)
        assert [record["name"] for record in facts["reproductions"]] == [NAME]
        assert facts["left_out"] == {"gaea-table-99": "it needs --table"}
        assert err == "dartboard: gaea-table-99 is left out: it needs --table\n"
        assert main(["reproduce", "all", "--json", "--table", "t.npz"]) == 0
        assert len(json.loads(capsys.readouterr().out)["reproductions"]) == 2


@pytest.mark.usefixtures("alone")
def test_what_one_needs_is_listed(capsys: Capture) -> None:
    with registered(takes=("table",), needs=("table",)):
        assert printed(capsys, "--list").splitlines()[1].endswith("a line that goes up; needs --table")
        assert "needs          --table" in printed(capsys, "--list", NAME).splitlines()
        assert found(capsys, "--list", NAME)[NAME]["needs"] == ["table"]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("words", [[], ["all"]])
def test_the_list(words: list[str], capsys: Capture) -> None:
    with registered(), registered(name="gaea-table-1"):
        assert printed(capsys, "--list", *words).splitlines() == [
            papers.PAPERS["xnas"],
            f"  {NAME}   12 s  a line that goes up",
            papers.PAPERS["gaea"],
            "  gaea-table-1     12 s  a line that goes up",
        ]
        assert list(found(capsys, "--list")) == [NAME, "gaea-table-1"]


@pytest.mark.usefixtures("alone")
def test_the_list_on_a_narrow_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    with registered():
        object.__setattr__(REPRODUCTIONS[NAME], "about", "a line that goes up for ever and ever")
        lines = printed(capsys, "--list").splitlines()
    assert lines[1:] == [f"  {NAME}   12 s  a line that goes up", f"{' ' * 25}for ever and ever"]


@pytest.mark.usefixtures("told")
def test_the_numbers_of_one(capsys: Capture) -> None:
    assert printed(capsys, "--list", NAME).splitlines() == [
        NAME,
        papers.PAPERS["xnas"],
        "what           a line that goes up",
        "paper          more epochs are more",
        "takes          --data",
        "differs        nothing is computed",
        "time           12 s",
        "rule           more is more: there are more",
        "",
        "epochs=2 (paper: 600)  passes over nothing",
        "words=plain (paper: as in the paper)  what is said",
    ]
    facts = found(capsys, "--list", NAME)[NAME]
    assert (facts["laptop"]["epochs"], facts["full"]["epochs"], facts["takes"]) == (2, 600, ["data"])


def test_a_narrow_table() -> None:
    rows = [Row("the accuracy of many things on many images", 93.5, "94.1 +- 0.2"), Row("b", None, 3)]
    assert table(rows, 40) == [
        "                        paper         here",
        "  the accuracy of many   93.5  94.1 +- 0.2",
        "    things on many",
        "    images",
        "  b                         -            3",
    ]
    assert max(map(len, table(rows, 80))) <= 80


PLUGIN = """
import sys, time
from pathlib import Path
from reproducing import registered, result
from dartboard.cli.main import main

def patient(setting, scale):
    (setting.folder / "first").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return result(scale)

with registered(patient):
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_the_same_command_goes_on(number: signal.Signals, capsys: Capture) -> None:
    tests = str(Path(__file__).parents[1])
    paths = [tests, *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-c", PLUGIN, "reproduce", NAME, "--out", "out"]
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + PATIENCE
    while not list(Path("out").glob("*/work/*/first")):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert err == "interrupted; run the same command to resume\n"
    assert not (Path("out") / NAME / "record.json").exists()
    [seconds] = Path("out").glob("*/work/*/seconds.json")
    seconds.write_text("7200.0")
    with registered():
        assert re.search(r"size .*; 2\.0 h\n", printed(capsys, NAME, "--out", "out"))
