"""What is written to terminals, dumb ones, pipes, files and notebooks."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dartboard.cli.display import EpochLines, LiveDisplay, SearchScreen, choose_display
from dartboard.cli.render import Terminal, shorten, table_texts
from helpers.report_runs import make_search
from helpers.terminal import environment, run_in_terminal

SPACE = ("info", "--space", "nano")
SEARCH = ("search", "batch=256", "net.channels=4", "health.examples=64", "epochs=2", "--no-report")
BACKEND = "module://matplotlib_inline.backend_inline"
STYLE = re.compile(r"\x1b\[[\d;]*m")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def piped(program: Path, folder: Path, *words: str, **variables: str) -> tuple[str, str]:
    """What a command writes to pipes."""
    done = subprocess.run(
        [program, *words],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        check=True,
        timeout=120,
    )
    return done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    ("variables", "styled"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"JPY_PARENT_PID": "1", "FORCE_COLOR": "1"}, True),
    ],
)
def test_color_in_a_terminal(variables: dict[str, str], styled: bool, program: Path, tmp_path: Path) -> None:
    seen, _ = run_in_terminal(program, tmp_path, *SPACE, variables=variables, raw=True)
    assert bool(STYLE.search(seen)) == styled
    assert "space nano" in STYLE.sub("", seen)
    assert not CONTROL.search(STYLE.sub("", seen).replace("\r\n", "\n"))


@pytest.mark.parametrize(("variables", "styled"), [({}, False), ({"FORCE_COLOR": "1"}, True)])
def test_color_in_a_pipe(variables: dict[str, str], styled: bool, program: Path, tmp_path: Path) -> None:
    seen, _ = piped(program, tmp_path, *SPACE, **variables)
    assert bool(STYLE.search(seen)) == styled
    assert not CONTROL.search(STYLE.sub("", seen))


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "variables", "live"),
    [
        (Screen, {}, True),
        (Screen, {"NO_COLOR": "1"}, True),
        (Screen, {"TERM": "dumb"}, False),
        (Screen, {"JPY_PARENT_PID": "17"}, False),
        (io.StringIO, {}, False),
        (io.StringIO, {"FORCE_COLOR": "1"}, False),
        (io.StringIO, {"FORCE_COLOR": "1", "JPY_PARENT_PID": "17"}, False),
    ],
)
def test_what_is_redrawn(
    stream: type[io.StringIO], variables: dict[str, str], live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream())
    assert Terminal().is_live == live
    shown = choose_display(quiet=False, json=False, live=SearchScreen)
    assert isinstance(shown, LiveDisplay if live else EpochLines)


@pytest.mark.parametrize(
    "variables", [{"TERM": "dumb"}, {"JPY_PARENT_PID": "17", "FORCE_COLOR": "1", "MPLBACKEND": BACKEND}]
)
def test_where_nothing_can_be_redrawn_there_is_a_line_per_epoch(
    variables: dict[str, str], program: Path, tmp_path: Path
) -> None:
    seen, rest = run_in_terminal(program, tmp_path, *SEARCH, variables=variables)
    lines = seen.replace("\r\n", "\n")
    assert not CONTROL.search(lines)
    assert [line[:12] for line in lines.splitlines() if line.startswith("epoch ")] == [
        "epoch 1 of 2",
        "epoch 2 of 2",
    ]
    assert rest == b""


def test_forced_color_in_a_file_moves_no_cursor(program: Path, tmp_path: Path) -> None:
    out, err = piped(program, tmp_path, *SEARCH, FORCE_COLOR="1")
    assert not CONTROL.search(STYLE.sub("", out + err))
    assert out.count("epoch 2 of 2") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("info", "darts-v2", "--out", "cell.png"),
        ("analyse", "topology", "darts-v2", "--out", "out"),
        ("report", "runs/a"),
    ],
)
def test_pictures_need_no_backend_of_a_notebook(
    words: tuple[str, ...], program: Path, tmp_path: Path
) -> None:
    """A notebook names a backend that the program's own environment may not have."""
    make_search(tmp_path / "runs" / "a")
    backend = BACKEND.replace("matplotlib_inline", "not_installed_anywhere")
    out, err = piped(program, tmp_path, *words, MPLBACKEND=backend)
    assert "written to" in out
    assert err == ""


LONG = "a-search-with-a-very-long-name-that-somebody-has-typed-without-thinking-of-terminals"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make_search(tmp_path / "runs" / "short", method="gaea-darts")
    make_search(tmp_path / "runs" / LONG, method="darts", seed=12)
    return tmp_path


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_tables_fit_the_terminal(width: int, runs: Path, program: Path) -> None:
    commands = [
        ("runs",),
        ("runs", "compare", "runs/short", f"runs/{LONG}"),
        ("list", "settings"),
        ("list", "recipes"),
    ]
    for words in commands:
        seen, _ = run_in_terminal(program, runs, *words, size=(width, 40))
        assert max(map(len, seen.splitlines())) <= width, words
        if words == ("runs",):
            shown = seen.splitlines()[0].split()
            assert shown[:2] == ["run", "state"]
            assert shown[-3:] == ["epoch", "accuracy", "age"]
            assert ("method" in shown, "kind" in shown) == (width >= 80, width == 200)
            assert (LONG in seen) == (width == 200)
            assert width == 200 or re.search(
                r"^a-search-[\w-]+\.\.\.[\w-]+terminals  finished", seen, re.MULTILINE
            )


def test_in_a_pipe_tables_are_whole(runs: Path, program: Path) -> None:
    out, _ = piped(program, runs, "runs", COLUMNS="40")
    assert LONG in out
    assert out.split("\n")[0].split()[2:7] == ["kind", "method", "space", "data", "seed"]


ROWS = [("name", "one", "three"), ("a", "1", "333"), ("bcd", "22", "4")]


def test_columns_go_on_below() -> None:
    assert [line.plain for line in table_texts(ROWS, 40)] == [
        "name  one  three",
        "a       1    333",
        "bcd    22      4",
    ]
    below = ["name  one", "a       1", "bcd    22", "", "name  three", "a       333", "bcd       4"]
    assert [line.plain for line in table_texts(ROWS, 12)] == below
    assert [line.plain for line in table_texts(ROWS, 1)] == below
    left = [line.plain for line in table_texts(ROWS, 40, names=2, left=3)]
    assert left == ["name  one  three", "a     1    333", "bcd   22   4"]


@pytest.mark.parametrize(
    ("length", "expected"), [(10, "abcdefghij"), (9, "abc...hij"), (8, "abc...ij"), (4, "a..."), (1, "...")]
)
def test_a_long_text_is_cut_in_the_middle(length: int, expected: str) -> None:
    assert shorten("abcdefghij", length) == expected
