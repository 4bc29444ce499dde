"""The command `analyse`: its frame; each tool has tests of its own."""

from pathlib import Path

import pytest

from dartboard.cli import analyse
from dartboard.cli.commands import summary
from dartboard.cli.main import main

Capture = pytest.CaptureFixture[str]
ECHO = '''"""Say it twice. And no more."""

import sys


def configure(parser):
    parser.add_argument("word")


def run(args):
    sys.stdout.write(f"{args.word} {args.word}\\n")
    return 7
'''


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that prints its argument twice."""
    (tmp_path / "echo_tool.py").write_text(ECHO)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(analyse.TOOLS, "echo", "echo_tool")


@pytest.mark.usefixtures("tool")
def test_a_tool_is_run_with_its_own_arguments(capsys: Capture) -> None:
    assert main(["analyse", "echo", "hello"]) == 7
    assert capsys.readouterr().out == "hello hello\n"


@pytest.mark.usefixtures("tool")
def test_help_lists_tools(capsys: Capture) -> None:
    assert main(["analyse", "--help"]) == 0
    assert "Say it twice\n" in capsys.readouterr().out
    assert main(["analyse", "echo", "--help"]) == 0
    assert "And no more." in capsys.readouterr().out


@pytest.mark.usefixtures("tool")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: TOOL; see dartboard analyse --help"),
        (["ecko", "x"], "argument TOOL: invalid choice: 'ecko'"),
        (["echo"], "the following arguments are required: word; see dartboard analyse echo --help"),
        (["echo", "a", "b"], "unrecognized arguments: b"),
    ],
)
def test_mistakes_are_one_line(words: list[str], message: str, capsys: Capture) -> None:
    assert main(["analyse", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"dartboard: error: {message}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", list(analyse.TOOLS))
def test_every_tool_says_what_it_does(name: str, capsys: Capture) -> None:
    assert main(["analyse", name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: dartboard analyse {name}")
    assert len(summary(analyse.TOOLS[name])) > 10
