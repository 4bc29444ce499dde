import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dartboard.cli.main import MISTAKE, main
from helpers.report_runs import make_search

pytestmark = pytest.mark.usefixtures("own_folder")
Said = pytest.CaptureFixture[str]

NO_TORCH = """
import sys
from dartboard.cli.main import main
for words in (["runs"], ["runs", "show", "runs/a"], ["runs", "compare", "runs/a", "runs/b"],
              ["runs", "tail", "runs/a"], ["runs", "rm", "runs/a", "--yes"]):
    assert main(words) == 0, words
assert "torch" not in sys.modules
"""


@pytest.fixture(autouse=True)
def runs(tmp_path: Path) -> Path:
    """Two runs, the later one first by name."""
    make_search(tmp_path / "runs" / "a", method="darts", seed=1)
    make_search(tmp_path / "runs" / "b", finish=False, epochs=2)
    for name, time in (("a", 2_000_000), ("b", 1_000_000)):
        for path in (tmp_path / "runs" / name).iterdir():
            os.utime(path, (time, time))
    return tmp_path / "runs"


def names(said: Said) -> list[str]:
    return [line.split()[0] for line in said.readouterr().out.splitlines()]


@pytest.mark.parametrize("words", [[], ["list"], ["runs"], ["list", "runs"], ["./runs"]])
def test_the_last_changed_is_the_first(capsys: Said, words: list[str]) -> None:
    assert main(["runs", *words]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "run",
        "state",
        "kind",
        "method",
        "space",
        "data",
        "seed",
        "epoch",
        "accuracy",
        "age",
    ]
    assert re.fullmatch(r"a +finished +search +darts +nano +digits +1 +4 of 4 +69\.00% +\d+ d", first)
    assert re.fullmatch(r"b +stopped +search +gaea-darts +nano +digits +0 +2 of 2 +70\.00% +\d+ d", second)


def test_the_newest_is_first_whatever_its_name(runs: Path, capsys: Said) -> None:
    (runs / "b" / "log.txt").write_text("news")
    assert main(["runs"]) == 0
    assert names(capsys) == ["run", "b", "a"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--state", "finished"], ["run", "a"]),
        (["--state", "stopped"], ["run", "b"]),
        (["--method", "darts"], ["run", "a"]),
        (["--method", "gaea-darts", "--state", "finished"], ["no"]),
    ],
)
def test_filters(capsys: Said, words: list[str], found: list[str]) -> None:
    assert main(["runs", *words]) == 0
    assert names(capsys) == found


def test_what_is_not_there_is_said_in_words(capsys: Said) -> None:
    assert main(["runs", "--state", "running", "--method", "x"]) == 0
    assert capsys.readouterr().out == "no running runs of x in runs\n"


def test_json(capsys: Said) -> None:
    assert main(["runs", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["runs"]
    assert (first["path"], first["state"], first["accuracy"]) == ("runs/a", "finished", 0.69)
    assert (second["epoch"], second["changed"]) == (2, "1970-01-12T13:46:40+00:00")


@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_run_is_a_row_and_what_is_wrong_is_below(runs: Path, capsys: Said) -> None:
    (runs / "a" / "result.json").write_text("{\x1b[31m")
    assert main(["runs"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^a +damaged +search +darts", out, re.MULTILINE)
    assert "a: runs/a/result.json is not JSON" in out
    assert "\x1b" not in out


def test_runs_inside_of_runs(runs: Path, capsys: Said) -> None:
    make_search(runs / "a" / "search" / "s0")
    assert main(["runs"]) == 0
    assert "search/s0" not in capsys.readouterr().out
    assert main(["runs", "--all"]) == 0
    assert "a/search/s0" in names(capsys)
    assert main(["runs", "runs/a"]) == 0
    assert set(names(capsys)) == {"run", "runs/a", "search/s0"}


def test_mistakes_are_one_line(capsys: Said) -> None:
    for words, said in (
        (["shwo"], "there is no folder shwo to list runs of; the actions are"),
        (["--state", "x"], "invalid choice"),
        (["show", "nowhere"], "nowhere is not a run"),
        (["compare", "runs/a"], "needs two runs or more"),
        (["tail", "runs"], "did you mean runs/a, runs/b?"),
    ):
        assert main(["runs", *words]) == MISTAKE
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1


def test_help_names_the_actions(capsys: Said) -> None:
    assert main(["runs", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"    {name} " in out for name in ("list", "show", "compare", "tail", "rm"))


def test_no_action_needs_torch(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", NO_TORCH], check=True, cwd=tmp_path, capture_output=True)
